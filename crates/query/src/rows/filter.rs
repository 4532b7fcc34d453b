//! Filters as SQL (console contract N53).

use plinth_db::QuotedIdent;
use serde::{Deserialize, Serialize};

use crate::{Column, QueryError, Relation, sql::Sql};

/// Most conditions of a request.
const MAX_CONDITIONS: usize = 500;
/// Most values of an `in`.
const MAX_VALUES: usize = 10_000;

/// A condition, or a group of them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(
    untagged,
    expecting = "a filter is {\"column\", \"operator\", \"value\"}, {\"and\": […]} or {\"or\": […]}"
)]
pub enum Filter {
    /// All of them hold.
    And {
        /// The filters.
        and: Vec<Filter>,
    },
    /// One of them holds.
    Or {
        /// The filters.
        or: Vec<Filter>,
    },
    /// One condition.
    Condition(Condition),
}

/// A comparison of a column.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Condition {
    /// Its name.
    pub column: String,
    /// How it is compared.
    pub operator: Operator,
    /// With what, as PostgreSQL reads it; a list for `in` and `between`.
    #[serde(default)]
    pub value: Option<FilterValue>,
}

/// What a column is compared with.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged, expecting = "a value is a text or a list of texts")]
pub enum FilterValue {
    /// One value.
    Text(String),
    /// Several.
    List(Vec<String>),
}

/// How a column is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[allow(missing_docs, reason = "they are named as they are written")]
pub enum Operator {
    #[serde(rename = "=")]
    Equal,
    #[serde(rename = "<>")]
    NotEqual,
    #[serde(rename = "<")]
    Less,
    #[serde(rename = "<=")]
    LessOrEqual,
    #[serde(rename = ">")]
    Greater,
    #[serde(rename = ">=")]
    GreaterOrEqual,
    #[serde(rename = "is null")]
    IsNull,
    #[serde(rename = "is not null")]
    IsNotNull,
    #[serde(rename = "in")]
    In,
    #[serde(rename = "like")]
    Like,
    #[serde(rename = "ilike")]
    Ilike,
    #[serde(rename = "~")]
    Matches,
    #[serde(rename = "contains")]
    Contains,
    #[serde(rename = "contained")]
    Contained,
    #[serde(rename = "overlaps")]
    Overlaps,
    #[serde(rename = "between")]
    Between,
    #[serde(rename = "is distinct")]
    IsDistinct,
}

/// Writes `where …` for filters that all have to hold; nothing if there are none.
pub(crate) fn push_where(
    sql: &mut Sql,
    relation: &Relation,
    filters: &[Filter],
) -> Result<(), QueryError> {
    let count: usize = filters.iter().map(Filter::conditions).sum();
    if count > MAX_CONDITIONS {
        return Err(QueryError::Invalid(format!(
            "There are more than {MAX_CONDITIONS} conditions"
        )));
    }
    if filters.is_empty() {
        return Ok(());
    }
    sql.push(" where ");
    push_group(sql, relation, filters, " and ")
}

fn push_group(
    sql: &mut Sql,
    relation: &Relation,
    filters: &[Filter],
    separator: &str,
) -> Result<(), QueryError> {
    if filters.is_empty() {
        return Err(QueryError::Invalid(
            "A group of filters is empty".to_owned(),
        ));
    }
    sql.push("(");
    for (index, filter) in filters.iter().enumerate() {
        if index > 0 {
            sql.push(separator);
        }
        match filter {
            Filter::And { and } => push_group(sql, relation, and, " and ")?,
            Filter::Or { or } => push_group(sql, relation, or, " or ")?,
            Filter::Condition(condition) => condition.push_to(sql, relation)?,
        }
    }
    sql.push(")");
    Ok(())
}

impl Filter {
    fn conditions(&self) -> usize {
        match self {
            Filter::And { and: filters } | Filter::Or { or: filters } => {
                filters.iter().map(Filter::conditions).sum()
            }
            Filter::Condition(_) => 1,
        }
    }
}

impl Condition {
    fn push_to(&self, sql: &mut Sql, relation: &Relation) -> Result<(), QueryError> {
        let column = relation.column(&self.column)?;
        let name = format!("t.{}", QuotedIdent::new(&column.name));
        if let Some(operator) = self.operator.of_type() {
            sql.push(format_args!("{name} {operator} "));
            sql.value(column, self.text()?)?;
            return Ok(());
        }
        if let Some(operator) = self.operator.of_text() {
            let cast = if column.is_string_like() {
                ""
            } else {
                "::pg_catalog.text"
            };
            sql.push(format_args!("{name}{cast} {operator} "));
            sql.text(column, self.text()?)?;
            return Ok(());
        }
        match self.operator {
            Operator::IsNull => self.push_is_null(sql, &name, "is null"),
            Operator::IsNotNull => self.push_is_null(sql, &name, "is not null"),
            Operator::Between => self.push_between(sql, column, &name),
            _ => self.push_in(sql, column, &name),
        }
    }

    fn push_is_null(&self, sql: &mut Sql, name: &str, test: &str) -> Result<(), QueryError> {
        if self.value.is_some() {
            return Err(self.invalid("takes no value"));
        }
        sql.push(format_args!("{name} {test}"));
        Ok(())
    }

    fn push_between(&self, sql: &mut Sql, column: &Column, name: &str) -> Result<(), QueryError> {
        let [low, high] = self.list()? else {
            return Err(self.invalid("takes a list of two values"));
        };
        sql.push(format_args!("{name} between "));
        sql.value(column, low)?.push(" and ");
        sql.value(column, high)?;
        Ok(())
    }

    fn push_in(&self, sql: &mut Sql, column: &Column, name: &str) -> Result<(), QueryError> {
        let values = self.list()?;
        if values.len() > MAX_VALUES {
            return Err(self.invalid(&format!("takes at most {MAX_VALUES} values")));
        }
        if values.is_empty() {
            sql.push("false");
            return Ok(());
        }
        sql.push(format_args!("{name} in ("));
        for (index, value) in values.iter().enumerate() {
            if index > 0 {
                sql.push(", ");
            }
            sql.value(column, value)?;
        }
        sql.push(")");
        Ok(())
    }

    fn text(&self) -> Result<&str, QueryError> {
        match &self.value {
            Some(FilterValue::Text(text)) => Ok(text),
            _ => Err(self.invalid("takes one value")),
        }
    }

    fn list(&self) -> Result<&[String], QueryError> {
        match &self.value {
            Some(FilterValue::List(values)) => Ok(values),
            _ => Err(self.invalid("takes a list of values")),
        }
    }

    fn invalid(&self, reason: &str) -> QueryError {
        let name = serde_json::to_value(self.operator).unwrap_or_default();
        let name = name.as_str().unwrap_or_default();
        let column = self.column.escape_debug();
        QueryError::Invalid(format!("The filter on {column}: {name} {reason}"))
    }
}

impl Operator {
    /// With a value of the column's type.
    fn of_type(self) -> Option<&'static str> {
        Some(match self {
            Self::Equal => "=",
            Self::NotEqual => "<>",
            Self::Less => "<",
            Self::LessOrEqual => "<=",
            Self::Greater => ">",
            Self::GreaterOrEqual => ">=",
            Self::Contains => "@>",
            Self::Contained => "<@",
            Self::Overlaps => "&&",
            Self::IsDistinct => "is distinct from",
            _ => return None,
        })
    }

    /// With a text.
    fn of_text(self) -> Option<&'static str> {
        Some(match self {
            Self::Like => "like",
            Self::Ilike => "ilike",
            Self::Matches => "~",
            _ => return None,
        })
    }
}
