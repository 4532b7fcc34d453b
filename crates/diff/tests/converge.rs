//! A difference, run, leaves no difference.

mod support;

use std::panic::AssertUnwindSafe;

use futures_util::FutureExt as _;
use plinth_diff::{Action, Scope, compare};
use support::cases::{CASES, Case};
use support::{Side, version};

/// What users' objects belong to.
const OWNER: &str = "postgres";

async fn side(sql: &[&str]) -> Side {
    let side = Side::new(OWNER).await;
    for sql in sql {
        if let Err(error) = side.run(sql).await {
            panic!("{error}\n{sql}");
        }
    }
    side
}

async fn check(case: &Case) {
    let changing = side(&[case.base]).await;
    if version(&changing).await < case.since {
        return;
    }
    let nothing = changing.read().await;
    let mut now = changing.read().await;
    let first = side(&[case.base, case.first]).await.read().await;
    let second = side(&[case.base, case.second]).await.read().await;

    for (step, goal) in [
        ("added", &first),
        ("changed", &second),
        ("changed back", &first),
        ("dropped", &nothing),
        ("added in the second form", &second),
        ("dropped in the second form", &nothing),
    ] {
        let what = format!("{}: {step}", case.name);
        now = changing.change(&now, goal, &what).await.1;
    }
}

/// All cases, so that one failure does not hide the others.
#[tokio::test]
async fn every_kind_of_object_is_added_changed_and_dropped() {
    let only = std::env::var("PLINTH_DIFF_CASE").ok();
    let mut failed = Vec::new();
    for case in CASES {
        if only.as_ref().is_some_and(|only| only != case.name) {
            continue;
        }
        if AssertUnwindSafe(check(case)).catch_unwind().await.is_err() {
            failed.push(case.name);
        }
    }

    assert!(failed.is_empty(), "{failed:?}");
}

/// Objects of many kinds at once, in combinations that no one thought of.
#[tokio::test]
async fn any_mixture_of_objects_becomes_any_other() {
    // A small generator: the mixtures are the same in every run.
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    let mut draw = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state % 3
    };
    for round in 0..4 {
        let (old, new) = (side(&[]).await, side(&[]).await);
        let version = version(&old).await;
        for case in CASES.iter().filter(|case| case.since <= version) {
            for side in [&old, &new] {
                let form = ["", case.first, case.second][usize::try_from(draw()).expect("small")];
                for sql in [case.base, form] {
                    if let Err(error) = side.run(sql).await {
                        panic!("{}: {error}", case.name);
                    }
                }
            }
        }

        old.become_like(&new.read().await, &format!("mixture {round}"))
            .await;
    }
}

#[tokio::test]
async fn equal_databases_have_no_difference() {
    let (left, right) = (side(&[]).await, side(&[]).await);
    for case in CASES {
        for side in [&left, &right] {
            if version(side).await >= case.since {
                side.run(&format!("{}\n{}", case.base, case.second))
                    .await
                    .expect(case.name);
            }
        }
    }

    let changes = compare(&left.read().await, &right.read().await, &Scope::all());

    assert_eq!(changes.to_sql(), "");
}

#[tokio::test]
async fn a_rich_database_is_made_of_an_empty_one_and_unmade() {
    let rich = Side::new("supabase_admin").await;
    let sql = include_str!("../../dump/tests/rich.sql");
    rich.run(sql).await.expect("a rich database");
    if version(&rich).await >= 180_000 {
        let newer = include_str!("../../dump/tests/rich_18.sql");
        rich.run(newer).await.expect("newer objects");
    }
    let empty = Side::new("supabase_admin").await;
    let nothing = empty.read().await;

    empty.become_like(&rich.read().await, "made").await;
    empty.become_like(&nothing, "unmade").await;
}

#[tokio::test]
async fn only_what_loses_rows_or_values_is_destructive() {
    let before =
        "create table kept (id int, gone text, narrow bigint); create table dropped (id int);
                  create view looks as select id from kept; create index i on kept (id);
                  create policy p on kept using (true); create sequence s;";
    let after = "create table kept (id bigint, narrow int, added text);";
    let old = side(&[before]).await;
    let new = side(&[after]).await;

    let changes = compare(&old.read().await, &new.read().await, &Scope::all());

    let destructive: Vec<&str> = changes
        .changes
        .iter()
        .filter(|change| change.is_destructive)
        .map(|change| change.sql.as_str())
        .collect();
    assert_eq!(
        destructive,
        [
            "alter table public.kept drop column gone;",
            "alter table public.kept alter column narrow type integer using narrow::integer;",
            "drop table public.dropped;",
            "drop sequence if exists public.s;",
        ]
    );
    assert!(changes.is_destructive());
    assert!(
        changes
            .to_sql()
            .contains("-- destructive\ndrop table public.dropped;")
    );
}

#[tokio::test]
async fn changes_are_grouped_by_object() {
    let old = side(&["create table notes (id int); create view gone as select 1 as one;"]).await;
    let new = side(&["create table notes (id int, t text default 'x'); create index on notes (t);
                      comment on table notes is 'n'; grant select on notes to anon;
                      create table fresh (id int primary key); create policy p on fresh using (true);"])
    .await;

    let changes = compare(&old.read().await, &new.read().await, &Scope::all());

    let groups: Vec<(String, Action)> = changes
        .by_object()
        .into_iter()
        .map(|group| (group.object.to_string(), group.action))
        .collect();
    assert_eq!(
        groups,
        [
            ("table public.fresh".to_owned(), Action::Create),
            ("table public.notes".to_owned(), Action::Alter),
            ("view public.gone".to_owned(), Action::Drop),
        ]
    );
}

#[tokio::test]
async fn a_new_column_has_its_default_in_existing_rows() {
    let old = side(&["create table notes (id int); insert into notes values (1);"]).await;
    let new = side(&["create table notes (id int, n int not null default 5);"]).await;

    old.become_like(&new.read().await, "added").await;

    let row = old
        .client
        .query_one("select n from notes", &[])
        .await
        .expect("a row");
    assert_eq!(row.get::<_, i32>(0), 5);
}

#[tokio::test]
async fn rows_keep_their_values_when_a_type_is_made_anew() {
    let before = "create type mood as enum ('sad', 'odd', 'ok');
                  create type pair as (a int, b text);
                  create table people (m mood, ms mood[], p pair);
                  insert into people values ('ok', '{sad,ok}', (1, 'x'));";
    let after = "create type mood as enum ('ok', 'sad');
                 create type pair as (b text, a int);
                 create table people (m mood, ms mood[], p pair);";
    let old = side(&[before]).await;
    let new = side(&[after]).await;

    let changes = old.become_like(&new.read().await, "types").await;

    let sql = "select m::text, ms::text, p::text from people";
    let row = old.client.query_one(sql, &[]).await.expect("a row");
    let values: Vec<&str> = (0..3).map(|at| row.get(at)).collect();
    assert_eq!(values, ["ok", "{sad,ok}", "(x,1)"]);
    assert!(changes.is_destructive());
}

#[tokio::test]
async fn a_scope_leaves_other_schemas_alone() {
    let before = "create schema other; create table t (id int); create table other.t (id int);";
    let after =
        "create schema other; create table t (id int, a int); create table other.u (id int);
                 create extension citext schema extensions;";
    let old = side(&[before]).await;
    let new = side(&[after]).await;

    let scope = Scope::only(["public".to_owned()]);
    let changes = compare(&old.read().await, &new.read().await, &scope);

    assert_eq!(
        changes.to_sql(),
        "\n-- table public.t\nalter table public.t add column a integer;\n"
    );
}
