//! `sort` of `GET /admin/users`.

use crate::{AuthError, model::user_list::Order, request::page::QueryPairs};

/// `sort=created_at asc`, several times if need be: with one column, the first decides.
pub(super) fn parse(query_pairs: &QueryPairs) -> Result<Order, AuthError> {
    let sorts = query_pairs.iter().filter(|(name, _)| name == "sort");
    let orders: Result<Vec<Order>, AuthError> = sorts.map(|(_, sort)| parse_one(sort)).collect();
    Ok(orders?.first().copied().unwrap_or(Order::NewestFirst))
}

fn parse_one(sort: &str) -> Result<Order, AuthError> {
    let (field, direction) = sort.split_once(' ').unwrap_or((sort, "desc"));
    if field != "created_at" {
        return Err(AuthError::validation_failed(format!(
            "Bad Sort Parameters: bad field for sort '{field}'"
        )));
    }
    match direction.to_ascii_lowercase().as_str() {
        "asc" => Ok(Order::OldestFirst),
        "desc" => Ok(Order::NewestFirst),
        _ => Err(AuthError::validation_failed(format!(
            "Bad Sort Parameters: bad direction for sort '{direction}', only 'asc' and 'desc' \
             allowed"
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::page::parse_pairs;

    #[test]
    fn only_the_age_sorts() {
        let check = |query, expected| {
            assert_eq!(parse(&parse_pairs(Some(query))).ok(), expected, "{query}");
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
