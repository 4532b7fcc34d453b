//! The order of the list of users.

use super::{cursor::Position, page::Pairs};
use crate::AuthError;

/// By age.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Order {
    NewestFirst,
    OldestFirst,
}

impl Order {
    /// `sort=created_at asc`, several times if need be: with one column, the first decides.
    pub(super) fn parse(asked: &Pairs) -> Result<Self, AuthError> {
        let sorts = asked.iter().filter(|(name, _)| name == "sort");
        let orders: Result<Vec<Self>, AuthError> = sorts.map(|(_, sort)| Self::one(sort)).collect();
        Ok(orders?.first().copied().unwrap_or(Self::NewestFirst))
    }

    fn one(sort: &str) -> Result<Self, AuthError> {
        let (field, direction) = sort.split_once(' ').unwrap_or((sort, "desc"));
        if field != "created_at" {
            return Err(AuthError::invalid(format!(
                "Bad Sort Parameters: bad field for sort '{field}'"
            )));
        }
        match direction.to_ascii_lowercase().as_str() {
            "asc" => Ok(Self::OldestFirst),
            "desc" => Ok(Self::NewestFirst),
            _ => Err(AuthError::invalid(format!(
                "Bad Sort Parameters: bad direction for sort '{direction}', only 'asc' and \
                 'desc' allowed"
            ))),
        }
    }

    /// How rows that come later compare with one.
    pub(super) fn beyond(self) -> &'static str {
        match self {
            Self::NewestFirst => "<",
            Self::OldestFirst => ">",
        }
    }

    /// How rows that come sooner compare with one.
    pub(super) fn before(self) -> &'static str {
        match self {
            Self::NewestFirst => ">",
            Self::OldestFirst => "<",
        }
    }

    /// Whether a row comes sooner than another.
    pub(super) fn is_before(self, row: Position, other: Position) -> bool {
        match self {
            Self::NewestFirst => row > other,
            Self::OldestFirst => row < other,
        }
    }

    pub(super) fn as_sql(self) -> &'static str {
        match self {
            Self::NewestFirst => "desc",
            Self::OldestFirst => "asc",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{super::page::pairs, *};

    #[test]
    fn only_the_age_sorts() {
        let check = |query, expected| {
            assert_eq!(Order::parse(&pairs(Some(query))).ok(), expected, "{query}");
        };
        check("", Some(Order::NewestFirst));
        check("sort=created_at", Some(Order::NewestFirst));
        check("sort=created_at%20asc", Some(Order::OldestFirst));
        check(
            "sort=created_at+DESC&sort=created_at+asc",
            Some(Order::NewestFirst),
        );
        check("sort=email", None);
        check("sort=created_at%20up", None);
        check("sort=", None);
        check("sort=created_at%20asc&sort=id", None);
    }
}
