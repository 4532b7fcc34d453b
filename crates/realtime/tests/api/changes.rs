//! Row changes, as subscribers receive them (§9).

use std::time::Duration;

use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::Message;

use super::support::{ANN, SECRET_KEY, Socket, Sql, TestRealtime, until, user_token};

const BOB: &str = "00000000-0000-0000-0000-00000000000b";

const NOTES: &str = "create table public.notes (id int primary key, body text, n numeric);
    grant select on public.notes to anon, authenticated, service_role";

/// Users see the rows that they own.
const OWNED: &str = "create table public.owned (id int primary key, owner uuid, body text);
    grant select on public.owned to anon, authenticated, service_role;
    alter table public.owned enable row level security;
    create policy own on public.owned for select to authenticated using (owner = auth.uid())";

async fn with_notes() -> (TestRealtime, Socket) {
    let realtime = TestRealtime::start().await;
    realtime.publish("public.notes", NOTES).await;
    let socket = realtime.socket().await;
    (realtime, socket)
}

fn all(table: &str) -> Value {
    json!([{"event": "*", "schema": "public", "table": table}])
}

#[tokio::test]
async fn every_kind_of_change_is_delivered_in_commit_order() {
    let (realtime, mut socket) = with_notes().await;
    let ids = socket.subscribe("1", "realtime:r", all("notes")).await;

    realtime
        .execute("insert into notes values (1, 'a', 1.50); update notes set body = 'b'; delete from notes")
        .await;

    let columns = json!([
        {"name": "id", "type": "int4"},
        {"name": "body", "type": "text"},
        {"name": "n", "type": "numeric"},
    ]);
    let mut inserted = socket.change().await;
    let committed = inserted["data"]["commit_timestamp"].take();
    let committed = committed.as_str().expect("a time");
    assert_eq!(
        (committed.len(), committed.ends_with('Z')),
        (24, true),
        "{committed}"
    );
    assert_eq!(
        inserted,
        json!({"ids": ids, "data": {
            "schema": "public", "table": "notes", "type": "INSERT", "commit_timestamp": null,
            "columns": columns, "errors": null, "record": {"id": 1, "body": "a", "n": 1.50},
        }})
    );
    let updated = socket.change().await;
    assert_eq!(updated["data"]["type"], "UPDATE");
    assert_eq!(
        updated["data"]["record"],
        json!({"id": 1, "body": "b", "n": 1.50})
    );
    assert_eq!(updated["data"]["old_record"], json!({"id": 1}));
    let deleted = socket.change().await;
    assert_eq!(deleted["data"]["type"], "DELETE");
    assert_eq!(deleted["data"]["old_record"], json!({"id": 1}));
    assert_eq!(deleted["data"].get("record"), None);
}

#[tokio::test]
async fn sockets_of_version_1_receive_changes_too() {
    let (realtime, _) = with_notes().await;
    let mut socket = realtime
        .open(&format!("apikey={}", super::support::PUBLISHABLE_KEY))
        .await;
    let entries = all("notes");
    socket
        .send(
            json!({"topic": "realtime:r", "event": "phx_join", "ref": "1",
            "payload": {"config": {"postgres_changes": entries}}}),
        )
        .await;
    assert_eq!(socket.next().await["event"], "phx_reply");
    assert_eq!(socket.next().await["payload"]["status"], "ok");

    realtime.execute("insert into notes values (1, 'a')").await;

    let change = socket.next().await;
    assert_eq!(change["event"], "postgres_changes");
    assert_eq!(change["payload"]["data"]["record"]["body"], "a");
}

#[tokio::test]
async fn events_and_filters_choose_and_one_message_lists_all_that_fit() {
    let (realtime, mut socket) = with_notes().await;
    let entries = json!([
        {"event": "INSERT", "schema": "public", "table": "notes"},
        {"event": "UPDATE", "schema": "public", "table": "notes"},
        {"event": "*", "schema": "public", "table": "notes", "filter": "id=eq.2"},
        {"event": "*", "schema": "public", "table": "notes", "filter": "id=in.(2,3),body=like.b%"},
    ]);
    let ids = socket.subscribe("1", "realtime:r", entries).await;

    realtime
        .execute("insert into notes values (1, 'b'), (2, 'b'), (3, 'c'); update notes set n = 1 where id = 3; delete from notes")
        .await;

    assert_eq!(socket.change().await["ids"], json!([ids[0]]));
    assert_eq!(
        socket.change().await["ids"],
        json!([ids[0], ids[2], ids[3]])
    );
    assert_eq!(socket.change().await["ids"], json!([ids[0]]));
    assert_eq!(socket.change().await["ids"], json!([ids[1]]));
    // Of a deleted row only the key is known.
    let deleted = socket.change().await;
    assert_eq!(deleted["ids"], json!([ids[2]]));
    assert_eq!(deleted["data"]["old_record"], json!({"id": 2}));
    socket.expect_nothing().await;
}

#[tokio::test]
async fn filters_that_only_the_database_can_decide_are_evaluated_there() {
    let (realtime, mut socket) = with_notes().await;
    let filtered = |filter: &str| json!({"event": "*", "schema": "public", "table": "notes", "filter": filter});
    let entries = json!([
        filtered("body=match.^x+$"),
        filtered("body=imatch.^X"),
        filtered("body=gt.m"),
        filtered("body=not.match.x"),
    ]);
    let ids = socket.subscribe("1", "realtime:r", entries).await;

    realtime
        .execute("insert into notes values (1, 'xx'); insert into notes values (2, 'a'); insert into notes values (3, null)")
        .await;

    assert_eq!(
        socket.change().await["ids"],
        json!([ids[0], ids[1], ids[2]])
    );
    assert_eq!(socket.change().await["ids"], json!([ids[3]]));
    socket.expect_nothing().await;
}

#[tokio::test]
async fn invalid_entries_are_reported_and_the_channel_stays() {
    let (realtime, _) = with_notes().await;
    let bad = [
        (
            json!({"schema": "public", "table": "nothing", "event": "INSERT"}),
            "Unable to subscribe to changes with given parameters. Please check Realtime is enabled \
             for the given connect parameters: [event: INSERT, schema: public, table: nothing, \
             filters: [], select: nil]",
        ),
        (
            json!({"schema": "public", "table": "notes", "event": "*", "filter": "notacolumn=eq.123"}),
            "Unable to subscribe to changes with given parameters. An exception happened so please \
             check your connect parameters: [event: *, schema: public, table: notes, filters: \
             [{\"notacolumn\", \"eq\", \"123\", false}], select: nil]. Exception: ERROR P0001 \
             (raise_exception) invalid column for filter notacolumn",
        ),
        (
            json!({"schema": "public", "table": "notes", "filter": "id=foo.1"}),
            "Error parsing `filter` params: [\"foo\", \"1\"]",
        ),
        (
            json!({"schema": "public", "table": "notes", "filter": "id=eq.x"}),
            "Unable to subscribe to changes with given parameters. An exception happened so please \
             check your connect parameters: [event: *, schema: public, table: notes, filters: \
             [{\"id\", \"eq\", \"x\", false}], select: nil]. Exception: ERROR 22P02 \
             (invalid_text_representation) invalid input syntax for type integer: \"x\"",
        ),
    ];
    for (entry, expected) in bad {
        let mut socket = realtime.socket().await;
        socket
            .join_changes("1", "realtime:r", json!([entry]), None)
            .await;
        let frame = socket.next().await;
        assert_eq!(frame[4]["status"], "error", "{frame}");
        assert_eq!(frame[4]["message"], expected);
        realtime
            .execute("insert into notes values (1); delete from notes")
            .await;
        socket.expect_nothing().await;
    }
}

#[tokio::test]
async fn columns_are_chosen_by_the_client_and_by_grants() {
    let realtime = TestRealtime::start().await;
    realtime
        .publish(
            "public.people",
            "create table people (id int primary key, name text, salary int);
             revoke all on people from anon; grant select (id, name) on people to anon;
             grant select on people to service_role",
        )
        .await;
    let mut anon = realtime.socket().await;
    let mut service = realtime
        .open(&format!("apikey={SECRET_KEY}&vsn=2.0.0"))
        .await;
    anon.subscribe("1", "realtime:r", all("people")).await;
    let chosen = json!([{"schema": "public", "table": "people", "select": ["salary"]}]);
    service.subscribe("1", "realtime:r", chosen.clone()).await;

    realtime
        .execute("insert into people values (1, 'ann', 7)")
        .await;

    let change = anon.change().await;
    assert_eq!(change["data"]["record"], json!({"id": 1, "name": "ann"}));
    assert_eq!(change["data"]["columns"].as_array().map(Vec::len), Some(2));
    assert_eq!(service.record().await, json!({"id": 1, "salary": 7}));

    let mut other = realtime.socket().await;
    other.join_changes("1", "realtime:r", chosen, None).await;
    let message = other.next().await[4]["message"].clone();
    let message = message.as_str().expect("a text");
    assert!(
        message.ends_with("invalid column for select salary"),
        "{message}"
    );
}

#[tokio::test]
async fn policies_decide_for_each_subscriber() {
    let realtime = TestRealtime::start().await;
    realtime.publish("public.owned", OWNED).await;
    let (ann, bob) = (user_token(ANN), user_token(BOB));
    let mut sockets = Vec::new();
    for token in [Some(&*ann), Some(&*bob), None] {
        let mut socket = realtime.socket().await;
        socket
            .subscribe_as("1", "realtime:r", all("owned"), token)
            .await;
        sockets.push(socket);
    }
    let mut service = realtime
        .open(&format!("apikey={SECRET_KEY}&vsn=2.0.0"))
        .await;
    service.subscribe("1", "realtime:r", all("owned")).await;

    realtime
        .execute(&format!(
            "insert into owned values (1, '{ANN}', 'a'), (2, '{BOB}', 'b'), (3, null, 'c');
             update owned set body = 'd' where id = 2; delete from owned where id = 1"
        ))
        .await;

    let id = |change: &Value| change["data"]["record"]["id"].clone();
    // A row that is deleted before the policy check is not delivered, so only Bob's two are certain.
    assert_eq!(id(&sockets[1].change().await), 2);
    assert_eq!(id(&sockets[1].change().await), 2);
    for expected in [1, 2, 3, 2] {
        assert_eq!(id(&service.change().await), expected);
    }
    // Policies cannot be checked for a deleted row: everyone receives its key.
    let gone = service.change().await;
    assert_eq!(gone["data"]["old_record"], json!({"id": 1}));
    for socket in [1, 2] {
        let gone = sockets[socket].change().await;
        assert_eq!(gone["data"]["type"], "DELETE");
        assert_eq!(gone["data"]["old_record"], json!({"id": 1}));
        sockets[socket].expect_nothing().await;
    }
}

#[tokio::test]
async fn a_policy_that_is_revoked_or_fails_shows_nothing_more() {
    let realtime = TestRealtime::start().await;
    realtime.publish("public.owned", OWNED).await;
    let token = user_token(ANN);
    let mut ann = realtime.socket().await;
    ann.subscribe_as("1", "realtime:r", all("owned"), Some(&token))
        .await;
    let insert = |id: i32| format!("insert into owned values ({id}, '{ANN}')");
    realtime.execute(&insert(1)).await;
    assert_eq!(ann.record().await["id"], 1);

    realtime.execute("drop policy own on owned").await;
    realtime.execute(&insert(2)).await;
    realtime
        .execute("create policy bad on owned for select using (1 / (id - 3) > 9)")
        .await;
    realtime.execute(&insert(3)).await;
    realtime
        .execute("drop policy bad on owned; create policy good on owned for select using (id = 4)")
        .await;
    realtime.execute(&insert(4)).await;

    // None of them is visible later either, so the time of each check does not matter.
    assert_eq!(ann.record().await["id"], 4);
    ann.expect_nothing().await;
}

#[tokio::test]
async fn a_new_token_changes_the_visible_rows() {
    let realtime = TestRealtime::start().await;
    realtime.publish("public.owned", OWNED).await;
    let mut socket = realtime.socket().await;
    socket
        .subscribe_as("1", "realtime:r", all("owned"), Some(&user_token(ANN)))
        .await;
    let both = format!("insert into owned values (1, '{ANN}'), (2, '{BOB}')");
    realtime.execute(&both).await;
    assert_eq!(socket.record().await["id"], 1);

    let other = json!({"access_token": user_token(BOB)});
    socket
        .send(json!(["1", "2", "realtime:r", "access_token", other]))
        .await;
    let frame = socket.next().await;
    assert_eq!(frame[4]["message"], "Subscribed to PostgreSQL", "{frame}");
    realtime
        .execute("delete from owned where false; update owned set body = 'x'")
        .await;

    assert_eq!(socket.record().await["id"], 2);
    socket.expect_nothing().await;
}

#[tokio::test]
async fn a_table_without_a_primary_key_sends_an_error() {
    let realtime = TestRealtime::start().await;
    let ddl = "create table loose (n int); alter table loose replica identity full;
               grant select on loose to anon";
    realtime.publish("public.loose", ddl).await;
    let mut socket = realtime.socket().await;
    socket.subscribe("1", "realtime:r", all("loose")).await;

    realtime
        .execute("insert into loose values (1); delete from loose")
        .await;

    let change = socket.change().await;
    assert_eq!(
        change["data"]["errors"],
        json!(["Error 400: Bad Request, no primary key"])
    );
    assert_eq!(change["data"]["record"], json!({}));
    let gone = socket.change().await;
    assert_eq!(gone["data"]["old_record"], json!({"n": 1}));
}

#[tokio::test]
async fn a_role_that_may_not_read_the_key_receives_an_error() {
    let realtime = TestRealtime::start().await;
    let ddl = "create table half (id int primary key, n int); revoke all on half from anon;
               grant select (n) on half to anon";
    realtime.publish("public.half", ddl).await;
    let mut socket = realtime.socket().await;
    socket.subscribe("1", "realtime:r", all("half")).await;

    realtime.execute("insert into half values (1, 2)").await;

    let change = socket.change().await;
    assert_eq!(change["data"]["errors"], json!(["Error 401: Unauthorized"]));
    assert_eq!(change["data"]["record"], json!({}));
}

/// The stream has a change as soon as its commit is written; policies and the catalog see it later. A
/// synchronous standby that never replies keeps the two apart.
#[tokio::test]
async fn a_change_is_delivered_once_its_transaction_is_visible() {
    let realtime = TestRealtime::start().await;
    realtime.publish("public.owned", OWNED).await;
    let mut socket = realtime.socket().await;
    let ann = user_token(ANN);
    socket
        .subscribe_as("1", "realtime:r", all("owned"), Some(&ann))
        .await;

    for (statements, expected) in [
        (
            format!("insert into owned values (1, '{ANN}', 'a')"),
            json!({"id": 1, "owner": ANN, "body": "a"}),
        ),
        (
            format!("alter table owned add n int; insert into owned values (2, '{ANN}', 'b', 7)"),
            json!({"id": 2, "owner": ANN, "body": "b", "n": 7}),
        ),
    ] {
        let write = format!("set synchronous_commit = on; {statements}");
        let read = async {
            until(async || realtime.count(WRITTEN_AND_UNSEEN).await != 0).await;
            let written = "select pg_current_wal_flush_lsn()::text";
            let written: String = realtime.query_one(written).await.get(0);
            let sent = format!("{STREAMS} and sent_lsn >= '{written}'");
            until(async || realtime.count(&sent).await != 0).await;
            // Silence is the proof: the stream has the change, and it would be delivered now.
            tokio::time::sleep(Duration::from_millis(100)).await;
            socket.expect_nothing().await;
            realtime.execute(SEE).await;
            socket.record().await
        };
        let ((), record) = tokio::join!(realtime.execute(&write), read);
        assert_eq!(record, expected);
    }
}

const WRITTEN_AND_UNSEEN: &str = "select count(*) from pg_stat_activity
    where datname = current_database() and wait_event = 'SyncRep'";

/// The streams of the database.
const STREAMS: &str = "select count(*) from pg_stat_replication
    join pg_replication_slots on active_pid = pid
    where database = current_database()";

const SEE: &str = "select pg_cancel_backend(pid) from pg_stat_activity
    where datname = current_database() and wait_event = 'SyncRep'";

#[tokio::test]
async fn a_table_may_change_while_it_is_subscribed_to() {
    let (realtime, mut socket) = with_notes().await;
    socket.subscribe("1", "realtime:r", all("notes")).await;
    realtime
        .execute("insert into notes values (1, 'a', 1)")
        .await;
    assert_eq!(socket.record().await, json!({"id": 1, "body": "a", "n": 1}));

    realtime
        .execute(
            "alter table notes add extra jsonb, drop n; alter table notes rename body to text;
                  insert into notes values (2, 'b', '{\"x\": [1]}')",
        )
        .await;
    assert_eq!(
        socket.record().await,
        json!({"id": 2, "text": "b", "extra": {"x": [1]}})
    );

    realtime.execute("drop table notes").await;
    socket.expect_nothing().await;
}

#[tokio::test]
async fn large_values_that_did_not_change_are_left_out_unless_the_old_row_has_them() {
    let (realtime, mut socket) = with_notes().await;
    realtime
        .execute(
            "alter table notes alter body set storage external;
                  insert into notes values (1, repeat('x', 100000), 1)",
        )
        .await;
    socket.subscribe("1", "realtime:r", all("notes")).await;

    realtime.execute("update notes set n = 2").await;
    assert_eq!(socket.record().await, json!({"id": 1, "n": 2}));

    realtime
        .execute("alter table notes replica identity full; update notes set n = 3")
        .await;
    let change = socket.change().await;
    assert_eq!(
        change["data"]["record"]["body"].as_str().map(str::len),
        Some(100_000)
    );
    assert_eq!(change["data"]["old_record"]["n"], 2);
}

#[tokio::test]
async fn values_of_all_types_are_what_to_jsonb_makes_of_them() {
    let realtime = TestRealtime::start().await;
    realtime
        .publish(
            "public.odd",
            "create type mood as enum ('ok'); create type pair as (a int, b text);
             create table odd (id int8 primary key, m mood, p pair, r int4range, tz timestamptz,
                 ts timestamp, d date, b bytea, j jsonb, a text[], iv interval, f float8, u uuid);
             grant select on odd to anon; alter database current_database_name set timezone = 'Asia/Tokyo'"
                .replace("current_database_name", realtime.database())
                .as_str(),
        )
        .await;
    let mut socket = realtime.socket().await;
    socket.subscribe("1", "realtime:r", all("odd")).await;

    realtime
        .execute(
            "insert into odd values (9007199254740993, 'ok', (1, 'x,y'), '[1,4)',
             '2025-11-03 09:32:55+00', '2025-11-03 09:32:55', '2025-11-03', '\\x0102',
             '{\"a\": [1, null]}', '{a,NULL,\"b c\"}', '1 day 2 hours', 'NaN',
             '00000000-0000-0000-0000-00000000000a')",
        )
        .await;

    let record = socket.record().await;
    assert_eq!(record["id"].to_string(), "9007199254740993");
    let expected = json!({
        "m": "ok", "p": {"a": 1, "b": "x,y"}, "r": "[1,4)", "tz": "2025-11-03T09:32:55+00:00",
        "ts": "2025-11-03T09:32:55", "d": "2025-11-03", "b": "0102", "j": {"a": [1, null]},
        "a": ["a", null, "b c"], "iv": "1 day 02:00:00", "f": "NaN",
        "u": "00000000-0000-0000-0000-00000000000a",
    });
    for (name, value) in expected.as_object().expect("an object") {
        assert_eq!(record[name], *value, "{name}");
    }
}

#[tokio::test]
async fn a_large_transaction_arrives_whole_and_in_order() {
    let (realtime, mut socket) = with_notes().await;
    realtime.execute("alter table notes enable row level security; create policy all_of_it on notes using (true)").await;
    socket.subscribe("1", "realtime:r", all("notes")).await;

    realtime
        .execute("insert into notes select i, 'row ' || i from generate_series(1, 100000) i")
        .await;

    for expected in 1..=100_000 {
        if expected % 2_000 == 1 {
            socket.keep_alive().await;
        }
        assert_eq!(socket.record().await["id"], expected);
    }
}

#[tokio::test]
async fn nothing_is_lost_when_the_connection_is() {
    let (realtime, mut socket) = with_notes().await;
    socket.subscribe("1", "realtime:r", all("notes")).await;
    realtime.execute("insert into notes values (1)").await;
    assert_eq!(socket.record().await["id"], 1);

    let end_sender = "select pg_terminate_backend(active_pid) from pg_replication_slots
                      where database = current_database()";
    for id in 2..12 {
        if id % 3 == 0 {
            realtime.execute(end_sender).await;
        }
        realtime
            .execute(&format!("insert into notes values ({id})"))
            .await;
    }

    for expected in 2..12 {
        assert_eq!(socket.record().await["id"], expected);
    }
    socket.expect_nothing().await;
}

#[tokio::test]
async fn a_lost_slot_is_recreated_and_subscribers_resubscribe() {
    let (realtime, mut socket) = with_notes().await;
    socket.subscribe("1", "realtime:r", all("notes")).await;

    realtime
        .execute(
            "do $$ declare s record; begin
            select slot_name, active_pid into s from pg_replication_slots
                where database = current_database();
            perform pg_terminate_backend(s.active_pid, 5000);
            perform pg_drop_replication_slot(s.slot_name);
        end $$",
        )
        .await;

    let frame = socket.next().await;
    assert_eq!(frame[4]["message"], "Subscribed to PostgreSQL", "{frame}");
    realtime.execute("insert into notes values (1)").await;
    assert_eq!(socket.record().await["id"], 1);
}

#[tokio::test]
async fn tables_that_are_published_later_are_subscribed_to() {
    let realtime = TestRealtime::start().await;
    realtime.execute(NOTES).await;
    let (mut early, mut late) = (realtime.socket().await, realtime.socket().await);
    let of_schema = json!([{"event": "*", "schema": "public"}]);
    early
        .join_changes("1", "realtime:r", of_schema.clone(), None)
        .await;
    assert_eq!(early.next().await[4]["status"], "error");

    realtime
        .execute("alter publication supabase_realtime add table notes")
        .await;
    late.subscribe("1", "realtime:r", of_schema).await;

    assert_eq!(early.next().await[4]["message"], "Subscribed to PostgreSQL");
    realtime.execute("insert into notes values (1)").await;
    assert_eq!(early.record().await["id"], 1);
    assert_eq!(late.record().await["id"], 1);
}

#[tokio::test]
async fn a_publication_of_all_tables_delivers_all_but_truncate() {
    let realtime = TestRealtime::start().await;
    realtime
        .execute(
            "drop publication supabase_realtime;
             create publication supabase_realtime for all tables;
             create table public.notes (id int primary key);
             grant select on public.notes to anon",
        )
        .await;
    let mut socket = realtime.socket().await;
    let entries = json!([{"event": "*", "schema": "public", "table": "notes"}]);
    socket.subscribe("1", "realtime:r", entries).await;

    realtime
        .execute("insert into notes values (1); truncate notes; insert into notes values (2)")
        .await;

    assert_eq!(socket.record().await["id"], 1);
    assert_eq!(socket.record().await["id"], 2);
    // Database messages are sent once, though both publications have them.
    realtime
        .execute("select realtime.send('{}', 'e', 'r', false)")
        .await;
    assert!(matches!(socket.message().await, Message::Binary(_)));
    socket.expect_nothing().await;
}

#[tokio::test]
async fn no_wal_is_retained_without_channels() {
    let realtime = TestRealtime::with(&[("plinth.realtime.replication_idle", "100ms")]).await;
    realtime.publish("public.notes", NOTES).await;
    let slots = "select count(*) from pg_replication_slots where database = current_database()";
    let mut socket = realtime.socket().await;
    socket.subscribe("1", "realtime:r", all("notes")).await;
    assert_eq!(realtime.count(slots).await, 1);

    socket
        .send(json!(["1", "2", "realtime:r", "phx_leave", {}]))
        .await;
    until(async || realtime.count(slots).await == 0).await;

    let mut again = realtime.socket().await;
    again.subscribe("1", "realtime:r", all("notes")).await;
    realtime.execute("insert into notes values (1)").await;
    assert_eq!(again.record().await["id"], 1);

    realtime.service.shut_down().await;
    assert_eq!(realtime.count(slots).await, 0);
}

#[tokio::test]
async fn a_channel_that_left_receives_nothing_more() {
    let (realtime, mut socket) = with_notes().await;
    socket.subscribe("1", "realtime:r", all("notes")).await;
    socket.subscribe("2", "realtime:s", all("notes")).await;
    socket
        .send(json!(["1", "3", "realtime:r", "phx_leave", {}]))
        .await;
    assert_eq!(socket.next().await[3], "phx_reply");
    assert_eq!(socket.next().await[3], "phx_close");

    realtime.execute("insert into notes values (1)").await;

    let frame = socket.next().await;
    assert_eq!(frame[2], "realtime:s");
    socket.expect_nothing().await;
}
