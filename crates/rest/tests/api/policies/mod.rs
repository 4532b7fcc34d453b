//! Row-level security applies to every kind of request, for anonymous callers and for two users.

mod reading;
mod writing;

use crate::support::{Call, Database, Reply, TestApi};

const A: &str = "aaaaaaaa-aaaa-4aaa-8aaa-aaaaaaaaaaaa";
const B: &str = "bbbbbbbb-bbbb-4bbb-8bbb-bbbbbbbbbbbb";

/// All callers, and the notes that they can see.
const CALLERS: [(Option<&str>, &[i64]); 3] = [
    (None, &[2, 4]),
    (Some(A), &[1, 2, 4]),
    (Some(B), &[2, 3, 4]),
];

fn sent_by(call: Call, caller: Option<&str>) -> Call {
    match caller {
        Some(id) => call.user(id),
        None => call,
    }
}

#[track_caller]
fn ids(reply: &Reply) -> Vec<i64> {
    let rows = reply.json();
    let rows = rows.as_array().unwrap_or_else(|| panic!("{reply:#?}"));
    rows.iter()
        .map(|row| row["id"].as_i64().expect("an id"))
        .collect()
}

async fn api(db: Database) -> TestApi {
    let settings = [
        ("db-schemas", "library"),
        ("db-plan-enabled", "true"),
        ("db-aggregates-enabled", "true"),
    ];
    TestApi::standalone(db, &settings).await
}

/// Whether the note belongs to the caller.
fn is_of(id: i64, caller: Option<&str>) -> bool {
    caller == Some(if id < 3 { A } else { B })
}
