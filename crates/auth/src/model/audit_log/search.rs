//! Searches of operators in the audit log, newest first, with keyset paging.

use plinth_db::{DbError, Queries, Row};
use postgres_types::ToSql;
use serde_json::Value;
use time::OffsetDateTime;
use uuid::Uuid;

use crate::model::like;

/// Which entries; all conditions must hold.
#[derive(Debug, Default)]
pub(crate) struct Query {
    /// Entries by or about this user.
    pub(crate) user: Option<Uuid>,
    /// A part of the actor's contact or name.
    pub(crate) actor: Option<String>,
    pub(crate) action: Option<String>,
    pub(crate) ip: Option<String>,
    pub(crate) since: Option<OffsetDateTime>,
    pub(crate) until: Option<OffsetDateTime>,
    pub(crate) after: Option<Position>,
}

/// The position of an entry in the list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Position {
    pub(crate) created_at: OffsetDateTime,
    pub(crate) id: Uuid,
}

/// An entry.
pub(crate) struct Entry {
    pub(crate) id: Uuid,
    pub(crate) payload: Value,
    pub(crate) created_at: OffsetDateTime,
    pub(crate) ip_address: String,
}

/// Each of them has an index.
const BY_OR_ABOUT: [&str; 2] = [
    "a.payload ->> 'actor_id' = ",
    "a.payload -> 'traits' ->> 'user_id' = ",
];

/// A page of the entries.
pub(crate) async fn search(
    db: &mut impl Queries,
    query: &Query,
    limit: i64,
) -> Result<Vec<Entry>, DbError> {
    let mut params: Vec<Box<dyn ToSql + Sync + Send>> = Vec::new();
    let mut bind = |value: Box<dyn ToSql + Sync + Send>| {
        params.push(value);
        format!("${}", params.len())
    };
    let mut clauses = vec!["a.created_at is not null".to_owned()];
    if let Some(actor) = &query.actor {
        let pattern = bind(Box::new(like::containing(actor)));
        clauses.push(format!(
            "(a.payload ->> 'actor_username' ilike {pattern}
               or a.payload ->> 'actor_name' ilike {pattern})"
        ));
    }
    if let Some(action) = &query.action {
        clauses.push(format!(
            "a.payload ->> 'action' = {}",
            bind(Box::new(action.clone()))
        ));
    }
    if let Some(ip) = &query.ip {
        clauses.push(format!("a.ip_address = {}", bind(Box::new(ip.clone()))));
    }
    if let Some(since) = query.since {
        clauses.push(format!("a.created_at >= {}", bind(Box::new(since))));
    }
    if let Some(until) = query.until {
        clauses.push(format!("a.created_at < {}", bind(Box::new(until))));
    }
    if let Some(after) = query.after {
        let (at, id) = (bind(Box::new(after.created_at)), bind(Box::new(after.id)));
        clauses.push(format!("(a.created_at, a.id) < ({at}, {id})"));
    }
    let user = query.user.map(|user| bind(Box::new(user.to_string())));
    let limit = bind(Box::new(limit));
    let clauses = clauses.join(" and ");
    let page = |of_user: &str| {
        format!(
            "(select a.id, a.payload::text, a.created_at, a.ip_address
              from auth.audit_log_entries a
              where {clauses}{of_user}
              order by a.created_at desc, a.id desc limit {limit})"
        )
    };
    let source = match user {
        None => page(""),
        Some(user) => {
            let [by, about] = BY_OR_ABOUT.map(|clause| page(&format!(" and {clause}{user}")));
            // An entry may be both; JSON cannot be compared, its text can.
            format!("({by} union {about})")
        }
    };
    let sql = format!(
        "select e.id, e.payload::json, e.created_at, e.ip_address from {source} as e
         order by e.created_at desc, e.id desc limit {limit}"
    );
    let params: Vec<&(dyn ToSql + Sync)> = params
        .iter()
        .map(|param| &**param as &(dyn ToSql + Sync))
        .collect();
    let rows = db.query(&sql, &params).await?;
    rows.iter().map(Entry::from_row).collect()
}

impl Entry {
    fn from_row(row: &Row) -> Result<Self, DbError> {
        let payload: Option<Value> = row.try_get("payload")?;
        Ok(Self {
            id: row.try_get("id")?,
            payload: payload.unwrap_or_default(),
            created_at: row.try_get("created_at")?,
            ip_address: row.try_get("ip_address")?,
        })
    }
}
