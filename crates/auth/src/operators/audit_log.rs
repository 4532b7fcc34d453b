//! The project's audit log, as operators search it.

use data_encoding::BASE64URL_NOPAD;
use plinth_project::{AuditEntry, AuditPage, AuditSearch};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::{
    Outcome, invalid,
    search::{given, set_timeout, time, too_slow},
};
use crate::{
    model::audit_log::{self, Entry, Position, Query},
    request::RequestContext,
    wire_time,
};

const DEFAULT_LIMIT: i64 = 50;
const MAX_LIMIT: i64 = 200;
const TIMEOUT_MS: &str = "10000";

/// The JSON inside a cursor.
#[derive(Serialize, Deserialize)]
struct CursorJson {
    at: String,
    id: Uuid,
}

pub(super) async fn search(context: &RequestContext, search: &AuditSearch) -> Outcome<AuditPage> {
    let limit = search.limit.unwrap_or(DEFAULT_LIMIT);
    if !(1..=MAX_LIMIT).contains(&limit) {
        return Err(invalid(format!("limit: 1 to {MAX_LIMIT}")));
    }
    let user = given(&search.user).map(|text| {
        let id: Result<Uuid, _> = text.parse();
        id.map_err(|_| invalid(format!("user: {text:?} is not the id of a user")))
    });
    let cursor = given(&search.cursor)
        .map(|text| parse_cursor(text).ok_or_else(|| invalid("cursor: it is not one of ours")));
    let query = Query {
        user: user.transpose()?,
        actor: given(&search.actor).map(str::to_owned),
        action: given(&search.action).map(str::to_owned),
        ip: given(&search.ip).map(str::to_owned),
        since: time("since", &search.since)?,
        until: time("until", &search.until)?,
        after: cursor.transpose()?,
    };
    let mut db = context.begin().await?;
    set_timeout(&mut db, TIMEOUT_MS).await?;
    let entries = audit_log::search(&mut db, &query, limit + 1).await;
    let mut entries = entries.map_err(too_slow)?;
    db.commit().await?;
    let size = usize::try_from(limit).unwrap_or(usize::MAX);
    let has_more = entries.len() > size;
    entries.truncate(size);
    let next = entries.last().filter(|_| has_more).map(render_cursor);
    Ok(AuditPage {
        entries: entries.into_iter().map(body).collect(),
        next,
    })
}

fn render_cursor(entry: &Entry) -> String {
    let cursor = CursorJson {
        at: wire_time::render(entry.created_at),
        id: entry.id,
    };
    BASE64URL_NOPAD.encode(&serde_json::to_vec(&cursor).unwrap_or_default())
}

fn parse_cursor(text: &str) -> Option<Position> {
    let bytes = BASE64URL_NOPAD.decode(text.as_bytes()).ok()?;
    let cursor: CursorJson = serde_json::from_slice(&bytes).ok()?;
    Some(Position {
        created_at: plinth_db::parse_time(&cursor.at)?,
        id: cursor.id,
    })
}

fn body(entry: Entry) -> AuditEntry {
    AuditEntry {
        id: entry.id.to_string(),
        created_at: wire_time::render(entry.created_at),
        ip_address: entry.ip_address,
        payload: entry.payload,
    }
}
