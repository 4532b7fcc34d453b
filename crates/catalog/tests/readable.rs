//! What roles that own nothing see: the structure of what they may read.

use plinth_catalog::{
    objects::{Column, Function, Object, Policy, Schema, Table},
    read::{Scope, list},
};
use plinth_testkit::TestDatabase;
use tokio_postgres::Client;

async fn names<T: Object>(client: &Client, name: impl Fn(&T) -> String) -> Vec<String> {
    let scope = Scope {
        only_readable: true,
        ..Scope::default()
    };
    let all: Vec<T> = list(client, &scope).await.expect("a list");
    all.iter().map(name).collect()
}

#[tokio::test]
async fn a_reader_sees_the_structure_of_what_it_may_read() {
    let db = TestDatabase::create().await;
    let owner = db.connect_as("postgres").await;
    owner
        .batch_execute(
            "create table shown (id int, secret text);
             create policy p on shown using (true);
             create table hidden (id int);
             create policy q on hidden using (true);
             create schema closed;
             create table closed.t (id int);
             create function closed.f() returns int language sql as 'select 1';
             revoke all on hidden from plinth_reader;
             revoke all on shown from plinth_reader;
             grant select (id) on shown to plinth_reader;
             revoke all on schema closed from plinth_reader",
        )
        .await
        .expect("objects");

    let reader = db.connect_as("plinth_reader").await;

    let tables = names(&reader, |table: &Table| {
        format!("{}.{}", table.schema, table.name)
    })
    .await;
    assert_eq!(tables, ["public.shown"]);
    let columns = names(&reader, |column: &Column| {
        format!("{}.{}.{}", column.schema, column.table, column.name)
    })
    .await;
    assert_eq!(columns, ["public.shown.id"]);
    let policies = names(&reader, |policy: &Policy| policy.name.clone()).await;
    assert_eq!(policies, ["p"]);
    let schemas = names(&reader, |schema: &Schema| schema.name.clone()).await;
    assert!(schemas.contains(&"public".to_owned()), "{schemas:?}");
    for other in ["closed", "storage", "plinth", "plinth_roles"] {
        assert!(!schemas.contains(&other.to_owned()), "{schemas:?}");
    }
    let functions = names(&reader, |function: &Function| function.schema.clone()).await;
    assert!(functions.iter().all(|schema| schema != "closed"));
}

#[tokio::test]
async fn changes_are_announced_and_temporary_things_are_not() {
    let db = TestDatabase::create().await;
    let owner = db.connect_as("postgres").await;
    let seen = async |sql: &str| {
        let (sender, mut receiver) = tokio::sync::mpsc::unbounded_channel();
        let listener = db
            .target()
            .connect_listening(std::future::pending::<()>(), move || {
                _ = sender.send(());
            })
            .await
            .expect("a listener");
        let listen = format!("listen {}", plinth_catalog::schema::CHANNEL);
        listener.batch_execute(&listen).await.expect("it listens");
        owner.batch_execute(sql).await.expect(sql);
        // What was committed before is announced before the answer.
        listener.batch_execute("").await.expect("an answer");
        receiver.try_recv().is_ok()
    };
    for sql in [
        "create table t (id int)",
        "create index i on t (id)",
        "alter table t enable row level security",
        "create policy p on t using (true)",
        "alter policy p on t using (false)",
        "comment on table t is 'x'",
        "grant select on t to anon",
        "alter index i rename to j",
        "create type mood as enum ('a')",
        "alter type mood add value 'b'",
        "create publication one for table t",
        "alter publication one rename to other",
        "drop policy p on t",
        "drop table t cascade",
        "select 1 into table made",
    ] {
        assert!(seen(sql).await, "{sql}");
    }
    for sql in [
        "create temp table x (id int)",
        "drop table x",
        "insert into made values (2)",
        "begin; create table undone (); rollback",
    ] {
        assert!(!seen(sql).await, "{sql}");
    }
    let announced = owner
        .query_one(plinth_catalog::schema::IS_ANNOUNCED, &[])
        .await;
    assert!(announced.expect("an answer").get::<_, bool>(0));
}
