//! Queries about row changes: tables, rights, values and filters.

use plinth_db::{
    DbError, Pool, PoolConfig, PooledConnection,
    replication::{Lsn, pgoutput::Message},
};
use plinth_project::ProjectDb;
use plinth_realtime::changes::{
    ChangeRequest, Operator, Table,
    decide::{Condition, Decision},
    filter,
    json_value::Shape,
    message::{ChangedRow, Shown, data},
    queries,
    table::Rights,
};
use plinth_testkit::TestDatabase;
use serde_json::json;

const DDL: &str = "
    create type public.mood as enum ('happy', 'sad');
    create type public.place as (x int, y text);
    create domain public.positive as int check (value > 0);
    create domain public.small as public.positive check (value < 100);
    create collation public.loose (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
    create table public.t (
        a int, gone int, b uuid, primary key (b, a),
        m mood, p place, s small, ms mood[], ints int[], bx box[],
        loose text collate public.loose, \"Straße\" bytea, n numeric, ts timestamptz, j jsonb
    );
    alter table public.t drop gone;
    alter table public.t enable row level security;
    create table public.keyless (n int);
    revoke all on public.t from anon, authenticated;
    grant select (a, b) on public.t to anon;
    grant select on public.t to authenticated;";

async fn connection() -> (TestDatabase, PooledConnection) {
    let db = TestDatabase::create().await;
    db.admin().await.batch_execute(DDL).await.expect("tables");
    let pool = Pool::new(db.target().clone(), PoolConfig::default());
    let connection = pool.get().await.expect("a connection");
    (db, connection)
}

async fn oid_of(db: &TestDatabase, table: &str) -> u32 {
    let sql = format!("select 'public.{table}'::regclass::oid");
    let row = db.admin().await.query_one(&sql, &[]).await;
    row.expect("a table").get(0)
}

async fn find(db: &mut PooledConnection, oid: u32) -> Table {
    Table::find(db, oid)
        .await
        .expect("a result")
        .expect("a table")
}

#[tokio::test]
async fn a_table_has_its_columns_key_and_types() {
    let (db, mut connection) = connection().await;
    let table = find(&mut connection, oid_of(&db, "t").await).await;

    let names: Vec<_> = table
        .columns
        .iter()
        .map(|column| column.name.as_str())
        .collect();
    let expected = "a b m p s ms ints bx loose Straße n ts j";
    assert_eq!(names.join(" "), expected);
    let key: Vec<_> = table
        .primary_key()
        .map(|column| column.name.as_str())
        .collect();
    assert_eq!(key, ["a", "b"], "in the table's order");
    assert!(table.has_row_security);
    let column = |name: &str| table.column(name).expect("a column");
    assert_eq!(column("ms").type_name, "_mood");
    assert_eq!(column("s").type_name, "small");
    assert_eq!(
        (column("s").base_type_oid, &column("s").shape),
        (23, &Shape::Number)
    );
    assert_eq!(column("m").shape, Shape::Text);
    assert_eq!(column("p").shape, Shape::Unknown);
    let array = |element, delimiter| Shape::Array {
        element: Box::new(element),
        delimiter,
    };
    assert_eq!(column("ms").shape, array(Shape::Text, ','));
    assert_eq!(column("ints").shape, array(Shape::Number, ','));
    assert_eq!(column("bx").shape, array(Shape::Text, ';'));
    assert!(!column("loose").has_deterministic_collation);
    assert!(column("m").has_deterministic_collation);

    let keyless = find(&mut connection, oid_of(&db, "keyless").await).await;
    assert_eq!(keyless.primary_key().count(), 0);
    assert!(!keyless.has_row_security);
    let none = Table::find(&mut connection, 1).await.expect("a result");
    assert_eq!(none, None);
}

#[tokio::test]
async fn a_role_has_its_columns() {
    let (db, mut connection) = connection().await;
    let oid = oid_of(&db, "t").await;
    let table = find(&mut connection, oid).await;
    let mut rights = async |role: &str| Rights::find(&mut connection, oid, role).await;

    let anon = rights("anon").await.expect("a result").expect("a role");
    assert_eq!(anon.readable_columns.len(), 2);
    assert!(anon.can_read_key(&table) && !anon.bypasses_row_security);
    let service = rights("service_role")
        .await
        .expect("a result")
        .expect("a role");
    assert!(service.bypasses_row_security);
    let authenticated = rights("authenticated").await.expect("a result");
    assert_eq!(authenticated.expect("a role").readable_columns.len(), 13);
    assert_eq!(rights("nobody").await.expect("a result"), None);
}

#[tokio::test]
async fn what_is_written_here_is_what_postgres_writes() {
    let (db, mut connection) = connection().await;
    let admin = db.admin().await;
    let settings = "set timezone = 'UTC'; set datestyle = 'ISO'";
    admin.batch_execute(settings).await.expect("set");
    for (sql_type, values) in [
        ("int8", &["9223372036854775807", "-1"][..]),
        ("float8", &["1.5", "NaN", "Infinity", "-Infinity", "0.1"]),
        ("float4", &["0.1", "3.4e38"]),
        (
            "numeric",
            &[
                "1.10",
                "NaN",
                "Infinity",
                "123456789012345678901234567890.5",
            ],
        ),
        ("bool", &["t", "f"]),
        ("text", &["a\"b\\c\nd\te\u{1f}ü😀", ""]),
        ("char(3)", &["ab"]),
        ("uuid", &["a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"]),
        ("date", &["2025-11-03", "infinity", "0044-03-15 BC"]),
        (
            "timestamp",
            &[
                "2025-11-03 09:32:55.1",
                "infinity",
                "0044-03-15 01:02:03 BC",
            ],
        ),
        (
            "timestamptz",
            &[
                "2025-11-03 09:32:55+00",
                "-infinity",
                "0044-03-15 01:02:03+00 BC",
            ],
        ),
        ("time", &["09:32:55"]),
        ("timetz", &["09:32:55+02"]),
        ("interval", &["1 day 02:00:00"]),
        ("inet", &["10.0.0.1/8"]),
        ("money", &["$1,000.50"]),
        ("jsonb", &[r#"{"a": [1, null, "x"]}"#, "null", "\"s\""]),
        ("int4range", &["[1,5)", "empty"]),
        ("int4multirange", &["{[1,5),[7,9)}"]),
        ("mood", &["happy"]),
        ("small", &["42"]),
        (
            "int4[]",
            &["{1,NULL,3}", "{{1,2},{3,4}}", "[0:1]={5,6}", "{}"],
        ),
        ("text[]", &[r#"{a,"b,\"c\\",NULL,"NULL",""}"#]),
        ("jsonb[]", &[r#"{"{\"a\": 1}",NULL}"#]),
        ("mood[]", &["{happy,sad}"]),
        ("box[]", &["{(2,2),(1,1);(4,4),(3,3)}"]),
        ("bytea[]", &[r#"{"\\x0102"}"#]),
        ("bool[]", &["{t,f}"]),
        ("timestamptz[]", &[r#"{"2025-11-03 09:32:55+00"}"#]),
        ("point", &["(1,2)"]),
        ("bit(3)", &["101"]),
        ("xml", &["<a/>"]),
        ("tsvector", &["'a' 'b'"]),
        ("pg_lsn", &["0/16B3748"]),
    ] {
        let ddl = format!("drop table if exists public.v; create table public.v (v {sql_type})");
        admin.batch_execute(&ddl).await.expect("a table");
        let table = find(&mut connection, oid_of(&db, "v").await).await;
        for value in values {
            // Through the column, so that its text is what replication would send.
            let sql = format!(
                "select format('%s', v), to_jsonb(v)::text from (select ($1::text::{sql_type}) as v) as s"
            );
            let row = admin.query_one(&sql, &[value]).await.expect("a value");
            let (sent, expected): (String, String) = (row.get(0), row.get(1));
            let mut written = Vec::new();
            assert!(
                table.columns[0].shape.write(&sent, &mut written),
                "{sql_type} {value}"
            );
            let written: serde_json::Value = serde_json::from_slice(&written).expect("JSON");
            let expected: serde_json::Value = serde_json::from_str(&expected).expect("JSON");
            assert_eq!(written, expected, "{sql_type} {value}");
        }
    }
}

#[tokio::test]
async fn unusual_values_are_asked_for_together() {
    let (db, mut connection) = connection().await;
    let table = find(&mut connection, oid_of(&db, "t").await).await;
    let place = table.column("p").expect("a column").type_oid;
    let question = |type_oid, text: &str| queries::ValueCast {
        type_oid,
        text: text.to_owned(),
    };

    let questions = [
        question(place, "(1,two)"),
        question(25, "x"),
        question(place, "(,)"),
    ];
    let casts = queries::cast_to_json(&mut connection, &questions)
        .await
        .expect("values");

    let casts: Vec<serde_json::Value> = casts
        .iter()
        .map(|cast| serde_json::from_slice(cast).expect("JSON"))
        .collect();
    assert_eq!(
        casts,
        [
            json!({"x": 1, "y": "two"}),
            json!("x"),
            json!({"x": null, "y": null})
        ]
    );
    let none = queries::cast_to_json(&mut connection, &[])
        .await
        .expect("no values");
    assert_eq!(none, Vec::<Vec<u8>>::new());
}

/// Every operator on many values: what is decided here must be what Postgres decides.
#[tokio::test]
async fn decisions_are_those_of_postgres() {
    let (db, mut connection) = connection().await;
    let admin = db.admin().await;
    for (sql_type, values) in [
        ("int4", &["-5", "0", "7"][..]),
        ("float8", &["NaN", "-0", "0", "1e+20", "0.1", "Infinity"]),
        ("float4", &["0.1", "1", "NaN"]),
        ("numeric", &["-1.10", "-1.1", "0", "10", "9.99", "NaN"]),
        ("bool", &["t", "f"]),
        (
            "uuid",
            &[
                "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11",
                "00000000-0000-0000-0000-000000000000",
            ],
        ),
        (
            "timestamptz",
            &[
                "2025-11-03 09:32:55+00",
                "2025-11-03 09:32:55.5+00",
                "infinity",
            ],
        ),
        ("timestamp", &["2025-11-03 09:32:55", "2025-11-03 00:00:00"]),
        ("date", &["2025-11-03", "2024-02-29"]),
        ("text", &["", "a", "A", "b,c", "a%b", "ä", "null"]),
        ("varchar", &["abc", "ABC"]),
        ("mood", &["happy", "sad"]),
    ] {
        let ddl = format!("drop table if exists public.v; create table public.v (v {sql_type})");
        admin.batch_execute(&ddl).await.expect("a table");
        let table = find(&mut connection, oid_of(&db, "v").await).await;
        let column = &table.columns[0];
        let mut decided = 0;
        for operator in Operator::ALL {
            for operand in values {
                let operand = match operator {
                    Operator::In => format!("{{\"{operand}\",null}}"),
                    Operator::Is => "null".to_owned(),
                    Operator::Like | Operator::ILike => format!("%{operand}"),
                    _ => (*operand).to_owned(),
                };
                for is_negated in [false, true] {
                    let filter = filter::Filter {
                        column: "v".to_owned(),
                        operator,
                        value: operand.clone(),
                        is_negated,
                    };
                    let condition = Condition::new(filter.clone(), column);
                    for value in values.iter().map(|value| Some(*value)).chain([None]) {
                        let question = queries::FilterQuery {
                            filter: &filter,
                            type_oid: column.type_oid,
                            value,
                        };
                        let sent = match value {
                            Some(text) => sent(text),
                            None => plinth_db::replication::pgoutput::Value::Null,
                        };
                        let here = condition.decide(Some(&sent));
                        if here == Decision::NeedsDatabase {
                            continue;
                        }
                        decided += 1;
                        let there =
                            match queries::evaluate_filters(&mut connection, &[question]).await {
                                Ok(there) => there[0],
                                Err(error) => panic!("{filter:?} {value:?}: {error}"),
                            };
                        let here = here == Decision::Match;
                        assert_eq!(here, there, "{sql_type}: {value:?} {filter:?}");
                    }
                }
            }
        }
        assert!(decided > 0, "{sql_type}: at least whether it is null");
    }
}

fn sent(text: &str) -> plinth_db::replication::pgoutput::Value {
    plinth_db::replication::pgoutput::Value::Text(bytes::Bytes::copy_from_slice(text.as_bytes()))
}

async fn checked(entry: serde_json::Value, role: &str) -> Result<(), String> {
    let (db, mut connection) = connection().await;
    let oid = oid_of(&db, "t").await;
    let table = find(&mut connection, oid).await;
    let rights = Rights::find(&mut connection, oid, role).await;
    let rights = rights.expect("a result").expect("a role");
    let request = ChangeRequest::parse(&entry).expect("a request");
    let outcome: Result<_, DbError> =
        queries::validate_request(&mut connection, &request, &table, &rights).await;
    outcome
        .expect("a result")
        .map_err(|error| error.to_string())
}

#[tokio::test]
async fn requests_are_checked_by_the_database() {
    let entry = |filter: &str| json!({"schema": "public", "table": "t", "filter": filter});
    let good = "a=eq.1,m=in.(happy,sad),loose=like.x%,ts=gt.yesterday,n=not.is.null";
    assert_eq!(checked(entry(good), "authenticated").await, Ok(()));
    for (filter, role, expected) in [
        (
            "gone=eq.1",
            "authenticated",
            "ERROR P0001 (raise_exception) invalid column for filter gone",
        ),
        (
            "m=eq.happy",
            "anon",
            "ERROR P0001 (raise_exception) invalid column for filter m",
        ),
        (
            "a=eq.x",
            "anon",
            "ERROR 22P02 (invalid_text_representation) invalid input syntax for type integer: \"x\"",
        ),
        (
            "a=like.x",
            "anon",
            "ERROR P0001 (raise_exception) operator like requires a text-compatible column type, got integer",
        ),
        (
            "a=is.true",
            "anon",
            "ERROR P0001 (raise_exception) is true filter requires a boolean column, got integer",
        ),
        (
            "a=is.what",
            "anon",
            "ERROR P0001 (raise_exception) invalid value for is filter: must be null, true, false, or unknown",
        ),
        (
            "loose=match.(",
            "authenticated",
            "ERROR P0001 (raise_exception) invalid regular expression for match filter: \
          invalid regular expression: parentheses () not balanced",
        ),
    ] {
        let error = checked(entry(filter), role).await.expect_err("rejected");
        let exception = error.split("Exception: ").nth(1).expect("an exception");
        assert_eq!(exception, expected, "{filter}");
    }
    let many: Vec<_> = (0..101).map(|n| n.to_string()).collect();
    let error = checked(entry(&format!("a=in.({})", many.join(","))), "anon").await;
    let error = error.expect_err("rejected");
    assert!(
        error.ends_with("too many values for `in` filter. Maximum 100"),
        "{error}"
    );
    let select = json!({"schema": "public", "table": "t", "select": ["a", "m"]});
    let error = checked(select, "anon").await.expect_err("rejected");
    assert!(error.ends_with("invalid column for select m"), "{error}");
}

/// From the stream to a message, in a database with unusual output settings.
#[tokio::test]
async fn a_change_becomes_a_message_whatever_the_database_prefers() {
    let (db, mut connection) = connection().await;
    let admin = db.admin().await;
    let name = db.name();
    let ddl = format!(
        "alter database {name} set datestyle = 'SQL, DMY';
         alter database {name} set timezone = 'Asia/Kolkata';
         alter database {name} set bytea_output = 'escape';
         alter database {name} set intervalstyle = 'iso_8601';
         alter database {name} set extra_float_digits = -10;
         create table public.v (id int primary key, ts timestamptz, local timestamp, day date,
                                bytes bytea, long interval, number float8, place place);
         create publication news for table v"
    );
    admin.batch_execute(&ddl).await.expect("a table");
    let project = ProjectDb::standalone(db.target().clone(), PoolConfig::default());
    let mut replicator = project.as_replicator().await.expect("a session");
    replicator.create_slot(name).await.expect("a slot");
    let following = replicator.follow(name, &["news"], Lsn::ZERO);
    let mut following = following.await.expect("a stream");
    let insert = "insert into v values (1, '2025-11-03 09:32:55+00', '2025-11-03 09:32:55.5',
                  '2025-11-03', '\\x0102', '1 day 02:00', 0.1::float8 + 0.2, '(1,two)')";
    admin.batch_execute(insert).await.expect("inserted");

    let (mut committed_at, mut relation) = (None, None);
    let insert = loop {
        let data = following.next().await.expect("no end").expect("a stream");
        match Message::decode(data.data).expect("a message") {
            Message::Begin(begin) => committed_at = Some(begin.committed_at),
            Message::Relation(described) => relation = Some(described),
            Message::Insert(insert) => break insert,
            _ => {}
        }
    };
    let (committed_at, relation) = (committed_at.expect("a time"), relation.expect("a table"));
    let table = find(&mut connection, relation.oid).await;
    let rights = Rights::find(&mut connection, relation.oid, "service_role").await;
    let rights = rights.expect("a result").expect("a role");
    let (mut change, questions) = ChangedRow::insert(&table, &relation, committed_at, &insert.new);
    assert_eq!(
        questions.len(),
        1,
        "only the composite is unusual: {questions:?}"
    );
    let casts = queries::cast_to_json(&mut connection, &questions).await;
    change.set_cast_values(&casts.expect("values"));
    let shown = Shown {
        rights: &rights,
        select: None,
    };
    let message: serde_json::Value = serde_json::from_slice(&data(&change, shown)).expect("JSON");

    assert_eq!(
        message["record"],
        json!({
            "id": 1,
            "ts": "2025-11-03T09:32:55+00:00",
            "local": "2025-11-03T09:32:55.5",
            "day": "2025-11-03",
            "bytes": "0102",
            "long": "1 day 02:00:00",
            "number": 0.1 + 0.2,
            "place": {"x": 1, "y": "two"},
        })
    );
    following.end().await;
}
