//! The schema `realtime` as users and their policies meet it (realtime contract §9.3, §9.4, §13).

use plinth_testkit::TestDatabase;
use serde_json::{Value, json};
use tokio_postgres::Client;
use tokio_postgres::error::SqlState;

const ROOM_POLICY: &str = "
    create policy \"write to room 1\" on realtime.messages for insert to authenticated
    with check (realtime.topic() = 'room:1' and extension = 'broadcast');
";

/// What a project looks like whose template was made long ago.
const DROP_TODAY: &str = "
    do $$
    begin
        execute format('drop table realtime.%I',
                       to_char(timezone('utc', now()), '\"messages_\"YYYY_MM_DD'));
    end $$;
";

/// The single value of a query, as text.
async fn value(client: &Client, expression: &str) -> Option<String> {
    let query = format!("select ({expression})::text");
    client.query_one(&query, &[]).await.expect(&query).get(0)
}

async fn check(client: &Client, expression: &str, expected: &str) {
    assert_eq!(
        value(client, expression).await.as_deref(),
        Some(expected),
        "{expression}"
    );
}

async fn run(client: &Client, statements: &str) {
    client.batch_execute(statements).await.expect(statements);
}

/// SQLSTATE and message of a statement that must fail.
async fn database_error(client: &Client, statement: &str) -> (SqlState, String) {
    let error = client.batch_execute(statement).await.expect_err(statement);
    let error = error.as_db_error().expect("a database error");
    (error.code().clone(), error.message().to_owned())
}

/// Payloads of a topic in the order they were stored, without the id that `send` adds.
async fn payloads(client: &Client, topic: &str) -> Vec<Value> {
    let query =
        "select payload - 'id' from realtime.messages where topic = $1 order by inserted_at";
    let rows = client.query(query, &[&topic]).await.expect("messages");
    rows.iter().map(|row| row.get(0)).collect()
}

#[tokio::test]
async fn topic_is_null_unless_set() {
    let db = TestDatabase::create().await;
    let client = db.connect_as("anon").await;

    assert_eq!(value(&client, "realtime.topic()").await, None);
    run(&client, "set realtime.topic = 'room:1'").await;
    check(&client, "realtime.topic()", "room:1").await;
    run(&client, "set realtime.topic = ''").await;
    assert_eq!(value(&client, "realtime.topic()").await, None);
}

#[tokio::test]
async fn send_stores_a_private_broadcast_with_its_id() {
    let db = TestDatabase::create().await;
    let client = db.connect_as("postgres").await;

    run(
        &client,
        r#"select realtime.send('{"a": 1}', 'greeting', 'room:1')"#,
    )
    .await;

    let message =
        "select row(event, extension, private, payload ->> 'a', payload ->> 'id' = id::text)
                   from realtime.messages where topic = 'room:1'";
    check(&client, message, "(greeting,broadcast,t,1,t)").await;
}

#[tokio::test]
async fn send_keeps_an_id_that_the_payload_brings() {
    let db = TestDatabase::create().await;
    let client = db.connect_as("postgres").await;

    run(
        &client,
        r#"select realtime.send('{"id": "mine"}', 'e', 'room:1', false)"#,
    )
    .await;

    let message = "select row(payload, private) from realtime.messages";
    check(&client, message, r#"("{""id"": ""mine""}",f)"#).await;
}

#[tokio::test]
async fn send_without_a_policy_neither_stores_nor_fails() {
    let db = TestDatabase::create().await;
    let admin = db.admin().await;
    let client = db.connect_as("authenticated").await;

    run(&client, "select realtime.send('{}', 'e', 'room:1')").await;

    check(&admin, "select count(*) from realtime.messages", "0").await;
}

#[tokio::test]
async fn send_applies_policies_that_users_write() {
    let db = TestDatabase::create().await;
    let admin = db.admin().await;
    run(&db.connect_as("postgres").await, ROOM_POLICY).await;
    let client = db.connect_as("authenticated").await;

    run(
        &client,
        r#"select realtime.send('{"n": 1}', 'e', 'room:1')"#,
    )
    .await;
    run(
        &client,
        r#"select realtime.send('{"n": 2}', 'e', 'room:2')"#,
    )
    .await;

    assert_eq!(payloads(&admin, "room:1").await, [json!({"n": 1})]);
    assert!(payloads(&admin, "room:2").await.is_empty());
}

#[tokio::test]
async fn a_failed_send_leaves_the_transaction_alive() {
    let db = TestDatabase::create().await;
    let client = db.connect_as("postgres").await;

    run(
        &client,
        r#"begin;
           select realtime.send('{}', 'e', null);
           select realtime.send('{"n": 1}', 'e', 'room:1');
           commit;"#,
    )
    .await;

    assert_eq!(payloads(&client, "room:1").await, [json!({"n": 1})]);
    check(&client, "select count(*) from realtime.messages", "1").await;
}

#[tokio::test]
async fn send_binary_stores_bytes_alone() {
    let db = TestDatabase::create().await;
    let client = db.connect_as("postgres").await;

    run(
        &client,
        r"select realtime.send_binary('\x0102', 'e', 'room:1')",
    )
    .await;

    let message = "select row(binary_payload, payload is null, private) from realtime.messages";
    check(&client, message, r#"("\\x0102",t,t)"#).await;
}

#[tokio::test]
async fn send_adds_the_day_that_an_old_template_lacks() {
    let db = TestDatabase::create().await;
    let admin = db.admin().await;
    run(&db.connect_as("postgres").await, ROOM_POLICY).await;
    run(&admin, DROP_TODAY).await;
    let client = db.connect_as("authenticated").await;

    run(&client, "set time zone 'Pacific/Kiritimati'").await;
    run(
        &client,
        r#"select realtime.send('{"n": 1}', 'e', 'room:1')"#,
    )
    .await;

    assert_eq!(payloads(&admin, "room:1").await, [json!({"n": 1})]);
    check(
        &admin,
        "select tableoid::regclass::text = to_char(timezone('utc', now()),
                                                   '\"realtime.messages_\"YYYY_MM_DD')
         from realtime.messages",
        "true",
    )
    .await;
}

#[tokio::test]
async fn two_senders_may_miss_the_same_day_at_once() {
    let db = TestDatabase::create().await;
    let admin = db.admin().await;
    let first = db.connect_as("postgres").await;
    let second = db.connect_as("postgres").await;
    run(&admin, DROP_TODAY).await;

    run(
        &first,
        r#"begin; select realtime.send('{"n": 1}', 'e', 'room:1')"#,
    )
    .await;
    let waiting =
        tokio::spawn(
            async move { run(&second, "select realtime.send('{}', 'e', 'room:2')").await },
        );
    let waits = "select exists (select from pg_locks
                                where relation = 'realtime.messages'::regclass and not granted)";
    while value(&admin, waits).await.as_deref() != Some("true") {
        tokio::task::yield_now().await;
    }
    run(&first, "commit").await;
    waiting.await.expect("the second sender");

    check(&admin, "select count(*) from realtime.messages", "2").await;
}

#[tokio::test]
async fn maintenance_drops_days_past_72_hours_and_prepares_the_next() {
    let db = TestDatabase::create().await;
    let admin = db.admin().await;
    run(
        &admin,
        "select realtime.add_messages_day(timezone('utc', now())::date - days_ago)
         from unnest(array[3, 4, 400]) days_ago;
         select realtime.maintain_messages_days();",
    )
    .await;

    let days = admin
        .query(
            "select to_date(relname, '\"messages_\"YYYY_MM_DD') - timezone('utc', now())::date
             from pg_class join pg_inherits on inhrelid = pg_class.oid
             where inhparent = 'realtime.messages'::regclass
             order by relname",
            &[],
        )
        .await
        .expect("days");

    let days: Vec<i32> = days.iter().map(|row| row.get(0)).collect();
    assert_eq!(days, [-3, -1, 0, 1, 2, 3]);
}

#[tokio::test]
async fn api_roles_cannot_look_after_days() {
    let db = TestDatabase::create().await;

    for role in ["anon", "authenticated", "service_role"] {
        let client = db.connect_as(role).await;
        for call in ["add_messages_day('2000-01-01')", "maintain_messages_days()"] {
            let (state, _) = database_error(&client, &format!("select realtime.{call}")).await;
            assert_eq!(state, SqlState::INSUFFICIENT_PRIVILEGE, "{call} as {role}");
        }
    }
}

#[tokio::test]
async fn a_trigger_broadcasts_each_change_of_a_row() {
    let db = TestDatabase::create().await;
    let client = db.connect_as("postgres").await;
    run(
        &client,
        "create table public.notes (id int primary key, body text);
         create function public.tell_change() returns trigger language plpgsql as $$
         begin
             perform realtime.broadcast_changes(
                 'notes', tg_op, tg_op, tg_table_name, tg_table_schema, new, old);
             return null;
         end $$;
         create trigger tell_change after insert or update or delete on public.notes
             for each row execute function public.tell_change();",
    )
    .await;

    run(&client, "insert into public.notes values (1, 'a')").await;
    run(&client, "update public.notes set body = 'b'").await;
    run(&client, "delete from public.notes").await;

    let change = |operation: &str, old: Value, new: Value| {
        json!({
            "operation": operation, "schema": "public", "table": "notes",
            "old_record": old, "record": new,
        })
    };
    let (first, second) = (json!({"id": 1, "body": "a"}), json!({"id": 1, "body": "b"}));
    assert_eq!(
        payloads(&client, "notes").await,
        [
            change("INSERT", Value::Null, first.clone()),
            change("UPDATE", first, second.clone()),
            change("DELETE", second, Value::Null),
        ]
    );
}

#[tokio::test]
async fn broadcast_changes_rejects_a_wrong_call() {
    let db = TestDatabase::create().await;
    let client = db.connect_as("postgres").await;
    let call = |arguments: &str| {
        format!("select realtime.broadcast_changes('t', 'e', {arguments})")
            .replace("ROWS", "null::pg_class, null::pg_class")
    };

    let (_, message) = database_error(&client, &call("'TRUNCATE', 't', 'public', ROWS")).await;
    assert_eq!(
        message,
        "Failed to process the row: Unexpected operation type: TRUNCATE"
    );

    let (_, message) =
        database_error(&client, &call("'INSERT', 't', 'public', ROWS, 'STATEMENT'")).await;
    assert_eq!(
        message,
        "Failed to process the row: \
         function can only be triggered for each row, not for each statement"
    );
}

/// A table of which `authenticated` may read all but `secret`.
async fn subscribable() -> (TestDatabase, Client) {
    let db = TestDatabase::create().await;
    let admin = db.admin().await;
    run(
        &admin,
        "create table public.items
             (id int, done bool, body text, tag varchar(10), kind realtime.action, secret text);
         revoke all on public.items from authenticated;
         grant select (id, done, body, tag, kind) on public.items to authenticated;",
    )
    .await;
    (db, admin)
}

/// Inserts a subscription whose filters are SQL rows.
fn subscription(filters: &str) -> String {
    format!(
        "insert into realtime.subscription (subscription_id, entity, filters, claims)
         values (gen_random_uuid(), 'public.items',
                 array[{filters}]::realtime.user_defined_filter[],
                 '{{\"role\": \"authenticated\"}}')"
    )
}

#[tokio::test]
async fn a_subscription_is_stored_in_one_order() {
    let (_db, admin) = subscribable().await;

    run(
        &admin,
        &subscription(
            "row('tag', 'ilike', 'x%', null), row('id', 'in', '{1,2}', false),
             row('body', 'match', '^a', true), row('done', 'is', 'unknown', false),
             row('id', 'isdistinct', '5', false)",
        ),
    )
    .await;

    check(
        &admin,
        "select string_agg(f.column_name || ' ' || f.op || ' ' || f.negate, ', ')
         from realtime.subscription, unnest(filters) f",
        "body match true, done is false, id in false, id isdistinct false, tag ilike false",
    )
    .await;
    check(
        &admin,
        "select claims_role from realtime.subscription",
        "authenticated",
    )
    .await;
    check(
        &admin,
        "select action_filter from realtime.subscription",
        "*",
    )
    .await;
}

#[tokio::test]
async fn an_invalid_filter_is_rejected_when_it_is_created() {
    let (_db, admin) = subscribable().await;
    let too_many = (1..=101)
        .map(|n| n.to_string())
        .collect::<Vec<_>>()
        .join(",");

    for (filter, expected) in [
        ("'nothing', 'eq', '1'", "invalid column for filter nothing"),
        ("'secret', 'eq', '1'", "invalid column for filter secret"),
        (
            "'id', 'eq', 'x'",
            "invalid input syntax for type integer: \"x\"",
        ),
        (
            "'id', 'like', 'x'",
            "operator like requires a text-compatible column type, got integer",
        ),
        (
            "'kind', 'imatch', 'x'",
            "operator imatch requires a text-compatible column type, got realtime.action",
        ),
        (
            "'body', 'match', '('",
            "invalid regular expression for match filter: \
             invalid regular expression: parentheses () not balanced",
        ),
        (
            "'body', 'is', 'true'",
            "is true filter requires a boolean column, got text",
        ),
        (
            "'done', 'is', 'maybe'",
            "invalid value for is filter: must be null, true, false, or unknown",
        ),
        (
            &format!("'id', 'in', '{{{too_many}}}'"),
            "too many values for `in` filter. Maximum 100",
        ),
    ] {
        let (_, message) =
            database_error(&admin, &subscription(&format!("row({filter}, false)"))).await;
        assert_eq!(message, expected, "{filter}");
    }
}

#[tokio::test]
async fn a_subscription_selects_only_readable_columns() {
    let (_db, admin) = subscribable().await;
    let select = |columns: &str| {
        format!(
            "insert into realtime.subscription (subscription_id, entity, claims, selected_columns)
             values (gen_random_uuid(), 'public.items', '{{\"role\": \"authenticated\"}}',
                     '{columns}')"
        )
    };

    let (state, message) = database_error(&admin, &select("{id,secret}")).await;
    assert_eq!(state, SqlState::RAISE_EXCEPTION);
    assert_eq!(message, "invalid column for select secret");

    run(&admin, &select("{tag,id}")).await;
    check(
        &admin,
        "select selected_columns from realtime.subscription",
        "{id,tag}",
    )
    .await;
}

#[tokio::test]
async fn values_are_compared_as_their_type() {
    let db = TestDatabase::create().await;
    let client = db.admin().await;
    let compare = |arguments: &str| format!("realtime.check_equality_op({arguments})");

    check(&client, &compare("'lt', 'int', '9', '10'"), "true").await;
    check(&client, &compare("'lt', 'text', '9', '10'"), "false").await;
    check(&client, &compare("'in', 'int', '2', '{1,2}'"), "true").await;
    check(
        &client,
        &compare("'like', 'varchar', 'abc', 'a%', true"),
        "false",
    )
    .await;
    check(
        &client,
        &compare("'is', 'int', null, 'null', false"),
        "true",
    )
    .await;
    check(
        &client,
        &compare("'is', 'int', null, 'null', true"),
        "false",
    )
    .await;
    check(
        &client,
        &compare("'isdistinct', 'int', null, '1', false"),
        "true",
    )
    .await;
    check(
        &client,
        &compare("'isdistinct', 'int', null, null, true"),
        "true",
    )
    .await;
    assert_eq!(
        value(&client, &compare("'gt', 'int', null, '1', true")).await,
        None
    );
}

#[tokio::test]
async fn a_filter_that_cannot_be_decided_hides_the_change() {
    let db = TestDatabase::create().await;
    let client = db.admin().await;
    let visible = |column_value: &str, filter: &str| {
        format!(
            "realtime.is_visible_through_filters(
                 array[row('n', 'int4', null, '{column_value}', true, true)]::realtime.wal_column[],
                 array[{filter}]::realtime.user_defined_filter[])"
        )
    };

    check(&client, &visible("5", "row('n', 'gte', '5', null)"), "true").await;
    check(
        &client,
        &visible("5", "row('n', 'gte', '5', true)"),
        "false",
    )
    .await;
    check(
        &client,
        &visible("null", "row('n', 'neq', '5', true)"),
        "false",
    )
    .await;
    check(
        &client,
        &visible("5", "row('absent', 'eq', '5', false)"),
        "false",
    )
    .await;
    check(&client, &visible("5", ""), "true").await;
}

#[tokio::test]
async fn users_add_tables_to_the_publication_of_changes() {
    let db = TestDatabase::create().await;
    let client = db.connect_as("postgres").await;

    run(
        &client,
        "create table public.heard (id int primary key);
         alter publication supabase_realtime add table public.heard;",
    )
    .await;

    check(
        &client,
        "select string_agg(tablename, ',') from pg_publication_tables
         where pubname = 'supabase_realtime'",
        "heard",
    )
    .await;
}

#[tokio::test]
async fn every_day_of_messages_is_published() {
    let db = TestDatabase::create().await;
    let admin = db.admin().await;
    run(&admin, "select realtime.add_messages_day('2000-01-01')").await;

    check(
        &admin,
        "select bool_or(tablename = 'messages_2000_01_01') from pg_publication_tables
         where pubname = 'supabase_realtime_messages_publication' and schemaname = 'realtime'",
        "true",
    )
    .await;
}

#[tokio::test]
async fn the_schema_state_is_hidden_from_api_roles() {
    let db = TestDatabase::create().await;

    for role in ["anon", "authenticated", "service_role"] {
        let client = db.connect_as(role).await;
        let (state, _) = database_error(&client, "select from realtime.schema_migrations").await;
        assert_eq!(state, SqlState::INSUFFICIENT_PRIVILEGE, "{role}");
    }
}
