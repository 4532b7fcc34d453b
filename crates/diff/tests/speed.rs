//! How long a large catalog takes: `cargo test -p plinth-diff --test speed -- --ignored --nocapture`.

mod support;

use std::time::Instant;

use plinth_diff::{Scope, compare};
use support::Side;

#[tokio::test]
#[ignore = "a benchmark"]
async fn a_thousand_tables() {
    let side = Side::new("postgres").await;
    let sql = "do $$ begin for n in 1..1000 loop
                   execute format('create table t%s (id bigint generated always as identity primary key, owner uuid not null,
                                   body text default ''x'' check (length(body) > 0), parent bigint)', n);
                   execute format('create index on t%s (owner)', n);
                   execute format('alter table t%s enable row level security', n);
                   execute format('create policy own on t%s using (owner is not null)', n);
               end loop; end $$";
    side.run(sql).await.expect("tables");
    let begun = Instant::now();
    let before = side.read().await;
    let read = begun.elapsed();
    side.run("alter table t500 add column more int")
        .await
        .expect("a column");
    let after = side.read().await;

    let begun = Instant::now();
    let changes = compare(&before, &after, &Scope::all());
    let compared = begun.elapsed();

    eprintln!("read: {read:?}, compared: {compared:?}");
    assert_eq!(changes.changes.len(), 1, "{}", changes.to_sql());
}
