//! The schema `storage`, as users and their policies use it (storage contract §3.5, §3.6, §12).

use plinth_testkit::TestDatabase;
use tokio_postgres::Client;
use tokio_postgres::error::SqlState;

/// One bucket with the names that listing tends to get wrong.
const MIXED_BUCKET: &str = "
    insert into storage.buckets (id, name) values ('b', 'b');
    insert into storage.objects (bucket_id, name, created_at) values
        ('b', 'a', '2024-01-04'),
        ('b', 'a+b.txt', '2024-01-03'),
        ('b', 'a/x.txt', '2024-01-09'),
        ('b', 'a/deep/one.txt', '2024-01-01'),
        ('b', 'A/y.txt', '2024-01-02'),
        ('b', 'B.txt', '2024-01-05'),
        ('b', 'z_1.txt', '2024-01-06'),
        ('b', 'zz1.txt', '2024-01-07'),
        ('b', 'ünïcode/ä.txt', '2024-01-08');
";

async fn mixed_bucket() -> (TestDatabase, Client) {
    let db = TestDatabase::create().await;
    let admin = db.admin().await;
    admin.batch_execute(MIXED_BUCKET).await.expect("objects");
    (db, admin)
}

/// The first column of every row.
async fn column(client: &Client, query: &str) -> Vec<String> {
    let rows = client.query(query, &[]).await.expect(query);
    rows.iter().map(|row| row.get(0)).collect()
}

/// A listing with folders as `name/`, of either function.
async fn listing(client: &Client, call: &str) -> Vec<String> {
    let query = format!("select name || case when id is null then '/' else '' end from {call}");
    column(client, &query).await
}

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

/// SQLSTATE and message of a statement that must fail.
async fn statement_error(client: &Client, statement: &str) -> (SqlState, String) {
    let error = client.batch_execute(statement).await.expect_err(statement);
    let error = error.as_db_error().expect("a database error");
    (error.code().clone(), error.message().to_owned())
}

#[tokio::test]
async fn path_helpers_split_names() {
    let db = TestDatabase::create().await;
    let client = db.connect_as("anon").await;

    check(&client, "storage.foldername('a')", "{}").await;
    check(&client, "storage.foldername('a/b/c.txt')", "{a,b}").await;
    check(&client, "storage.foldername('a/')", "{a}").await;
    check(&client, "storage.foldername('')", "{}").await;
    check(&client, "storage.filename('a/b.txt')", "b.txt").await;
    check(&client, "storage.filename('a')", "a").await;
    check(&client, "storage.filename('a/')", "").await;
    check(&client, "storage.extension('x')", "x").await;
    check(&client, "storage.extension('a.b/x')", "x").await;
    check(&client, "storage.extension('a/b.tar.gz')", "gz").await;
}

#[tokio::test]
async fn operation_helpers_ignore_the_storage_prefix() {
    let db = TestDatabase::create().await;
    let client = db.connect_as("authenticated").await;

    check(&client, "storage.operation() is null", "true").await;
    check(
        &client,
        "storage.allow_only_operation('object.upload')",
        "false",
    )
    .await;

    client
        .batch_execute("set storage.operation = 'storage.object.upload'")
        .await
        .expect("set");
    check(&client, "storage.operation()", "storage.object.upload").await;
    check(
        &client,
        "storage.allow_only_operation('object.upload')",
        "true",
    )
    .await;
    check(
        &client,
        "storage.allow_only_operation('storage.object.upload')",
        "true",
    )
    .await;
    check(
        &client,
        "storage.allow_only_operation('object.uploads')",
        "false",
    )
    .await;
    check(
        &client,
        "storage.allow_any_operation('{object.list,object.upload}')",
        "true",
    )
    .await;
    check(&client, "storage.allow_any_operation('{}')", "false").await;
    check(&client, "storage.allow_any_operation(null)", "false").await;
}

#[tokio::test]
async fn an_empty_operation_allows_nothing() {
    let db = TestDatabase::create().await;
    let client = db.connect_as("authenticated").await;

    client
        .batch_execute("set storage.operation = ''")
        .await
        .expect("set");

    check(&client, "storage.allow_only_operation('')", "false").await;
    check(&client, "storage.allow_only_operation(null)", "false").await;
}

#[tokio::test]
async fn search_by_name_interleaves_folders_and_merges_case() {
    let (_db, admin) = mixed_bucket().await;

    let ascending = listing(&admin, "storage.search('', 'b')").await;
    let descending = listing(&admin, "storage.search('', 'b', sortorder => 'desc')").await;

    let mut expected = vec![
        "a",
        "a+b.txt",
        "a/",
        "B.txt",
        "z_1.txt",
        "zz1.txt",
        "ünïcode/",
    ];
    assert_eq!(ascending, expected);
    expected.reverse();
    assert_eq!(descending, expected);
}

#[tokio::test]
async fn search_pages_count_folders_and_files_alike() {
    let (_db, admin) = mixed_bucket().await;

    let mut paged = Vec::new();
    for offset in [0, 3, 6] {
        paged.extend(listing(&admin, &format!("storage.search('', 'b', 3, 1, {offset})")).await);
    }

    assert_eq!(paged, listing(&admin, "storage.search('', 'b')").await);
    assert!(
        listing(&admin, "storage.search('', 'b', 3, 1, 9)")
            .await
            .is_empty()
    );
}

#[tokio::test]
async fn search_matches_the_beginning_of_names_without_case() {
    let (_db, admin) = mixed_bucket().await;

    let below = listing(&admin, "storage.search('A/', 'b')").await;
    assert_eq!(below, ["deep/", "x.txt", "y.txt"]);

    let found = listing(&admin, "storage.search('a/', 'b', search => 'DE')").await;
    assert_eq!(found, ["deep/"]);

    let deeper = listing(&admin, "storage.search('a/', 'b', search => 'deep/o')").await;
    assert_eq!(
        deeper,
        ["deep/one.txt"],
        "names are relative to the prefix, not to the search"
    );

    let unicode = listing(&admin, "storage.search('', 'b', search => 'ÜN')").await;
    assert_eq!(unicode, ["ünïcode/"]);
}

#[tokio::test]
async fn search_takes_wildcards_literally() {
    let (_db, admin) = mixed_bucket().await;

    assert_eq!(
        listing(&admin, "storage.search('', 'b', search => 'z_')").await,
        ["z_1.txt"]
    );
    assert!(
        listing(&admin, "storage.search('', 'b', search => '%')")
            .await
            .is_empty()
    );
    assert_eq!(
        listing(&admin, "storage.search_v2('z_', 'b')").await,
        ["z_1.txt"]
    );
}

#[tokio::test]
async fn search_by_time_puts_folders_first() {
    let (_db, admin) = mixed_bucket().await;

    let ascending = listing(
        &admin,
        "storage.search('', 'b', sortcolumn => 'created_at')",
    )
    .await;
    let page = listing(
        &admin,
        "storage.search('', 'b', 3, 1, 1, '', 'created_at', 'desc')",
    )
    .await;

    let expected = [
        "a/",
        "ünïcode/",
        "a+b.txt",
        "a",
        "B.txt",
        "z_1.txt",
        "zz1.txt",
    ];
    assert_eq!(ascending, expected);
    assert_eq!(page, ["a/", "zz1.txt", "z_1.txt"]);
}

#[tokio::test]
async fn search_of_an_unknown_bucket_is_empty() {
    let (_db, admin) = mixed_bucket().await;

    assert!(
        listing(&admin, "storage.search('', 'nobody')")
            .await
            .is_empty()
    );
    assert!(
        listing(&admin, "storage.search_v2('', 'nobody')")
            .await
            .is_empty()
    );
}

#[tokio::test]
async fn search_v2_keeps_case_and_byte_order() {
    let (_db, admin) = mixed_bucket().await;

    let ascending = listing(&admin, "storage.search_v2('', 'b')").await;
    let descending = listing(&admin, "storage.search_v2('', 'b', sort_order => 'desc')").await;
    let keys = column(
        &admin,
        "select key from storage.search_v2('a/', 'b', levels => 2)",
    )
    .await;

    let mut expected = vec![
        "A/",
        "B.txt",
        "a",
        "a+b.txt",
        "a/",
        "z_1.txt",
        "zz1.txt",
        "ünïcode/",
    ];
    assert_eq!(ascending, expected);
    expected.reverse();
    assert_eq!(descending, expected);
    assert_eq!(keys, ["deep", "x.txt"]);
}

#[tokio::test]
async fn search_v2_continues_after_the_last_name_of_a_page() {
    let (_db, admin) = mixed_bucket().await;

    let after_file = listing(&admin, "storage.search_v2('', 'b', 2, 1, 'B.txt')").await;
    let after_folder = listing(&admin, "storage.search_v2('', 'b', 2, 1, 'A')").await;
    let outside = listing(&admin, "storage.search_v2('a/', 'b', start_after => 'z')").await;

    assert_eq!(after_file, ["a", "a+b.txt"]);
    assert_eq!(after_folder, ["B.txt", "a"]);
    assert!(
        outside.is_empty(),
        "a start behind the prefix leaves nothing"
    );
}

#[tokio::test]
async fn a_token_distinguishes_a_folder_from_an_object_of_the_same_name() {
    let (_db, admin) = mixed_bucket().await;
    let page = |token: &str, order: &str| {
        format!("storage.list_objects_with_delimiter('b', '', '/', 2, '', '{token}', '{order}')")
    };

    assert_eq!(listing(&admin, &page("a", "asc")).await, ["a+b.txt", "a/"]);
    assert_eq!(
        listing(&admin, &page("a/", "asc")).await,
        ["z_1.txt", "zz1.txt"]
    );
    assert_eq!(listing(&admin, &page("a/", "desc")).await, ["a+b.txt", "a"]);
    assert_eq!(listing(&admin, &page("a", "desc")).await, ["B.txt", "A/"]);
}

#[tokio::test]
async fn listing_takes_any_delimiter_or_none() {
    let (_db, admin) = mixed_bucket().await;

    let by_word = column(
        &admin,
        "select name from storage.list_objects_with_delimiter('b', 'a/', 'ep')",
    )
    .await;
    let flat = column(
        &admin,
        "select name from storage.list_objects_with_delimiter('b', 'a', '')",
    )
    .await;

    assert_eq!(by_word, ["a/de", "a/x.txt"]);
    assert_eq!(flat, ["a", "a+b.txt", "a/deep/one.txt", "a/x.txt"]);
}

#[tokio::test]
async fn search_v2_by_time_dates_a_folder_by_its_oldest_object() {
    let (_db, admin) = mixed_bucket().await;
    let created = "storage.search_v2('', 'b', sort_column => 'created_at')";
    let page = "storage.search_v2('', 'b', 2, 1, 'a+b.txt', 'asc', 'created_at', \
                '2024-01-03T00:00:00.000Z')";

    let expected = [
        "a/",
        "A/",
        "a+b.txt",
        "a",
        "B.txt",
        "z_1.txt",
        "zz1.txt",
        "ünïcode/",
    ];
    assert_eq!(listing(&admin, created).await, expected);
    assert_eq!(listing(&admin, page).await, ["a", "B.txt"]);

    let folder = format!("select created_at::date::text from {created} limit 1");
    assert_eq!(column(&admin, &folder).await, ["2024-01-01"]);
}

#[tokio::test]
async fn cost_of_a_listing_does_not_grow_with_what_folders_hold() {
    let db = TestDatabase::create().await;
    let admin = db.admin().await;
    admin
        .batch_execute(
            "insert into storage.buckets (id, name) values ('big', 'big');
             insert into storage.objects (bucket_id, name, owner_id)
             select 'big', 'folder-' || n % 10 || '/file-' || n, 'somebody'
             from generate_series(1, 10000) n;
             create policy readable on storage.objects for select to authenticated
             using (bucket_id = 'big' and owner_id is not null);
             analyze storage.objects;",
        )
        .await
        .expect("objects");

    for role in ["service_role", "authenticated"] {
        let client = db.connect_as(role).await;
        for call in ["storage.search('', 'big')", "storage.search_v2('', 'big')"] {
            assert_eq!(listing(&client, call).await.len(), 10, "{call} as {role}");

            let explain = format!("explain (analyze, buffers, format json) select from {call}");
            let plan: serde_json::Value = client
                .query_one(&explain, &[])
                .await
                .expect("a plan")
                .get(0);
            let plan = &plan[0]["Plan"];
            let pages = ["Shared Hit Blocks", "Shared Read Blocks"]
                .map(|name| plan[name].as_u64().expect("a number of pages"));
            assert!(
                pages.iter().sum::<u64>() < 2_000,
                "{call} as {role} read {pages:?} pages"
            );
        }
    }
}

#[tokio::test]
async fn users_write_policies_on_objects_and_listing_applies_them() {
    let (db, _admin) = mixed_bucket().await;
    let postgres = db.connect_as("postgres").await;
    postgres
        .batch_execute(
            "create policy \"read own folder\" on storage.objects for select to authenticated
             using (bucket_id = 'b' and (storage.foldername(name))[1] = 'a');",
        )
        .await
        .expect("a policy of the user's own");

    let authenticated = db.connect_as("authenticated").await;
    let anon = db.connect_as("anon").await;

    assert_eq!(
        listing(&authenticated, "storage.search('', 'b')").await,
        ["a/"]
    );
    assert_eq!(
        listing(&authenticated, "storage.search_v2('', 'b')").await,
        ["a/"]
    );
    assert_eq!(
        listing(&authenticated, "storage.search('a/', 'b')").await,
        ["deep/", "x.txt"],
        "A/y.txt is not theirs"
    );
    assert!(listing(&anon, "storage.search('', 'b')").await.is_empty());
}

#[tokio::test]
async fn an_insert_policy_decides_by_name_and_operation() {
    let (db, _admin) = mixed_bucket().await;
    let postgres = db.connect_as("postgres").await;
    postgres
        .batch_execute(
            "create policy \"upload pictures\" on storage.objects for insert to authenticated
             with check (storage.extension(name) = 'png'
                         and storage.allow_only_operation('object.upload'));",
        )
        .await
        .expect("a policy of the user's own");
    let client = db.connect_as("authenticated").await;
    let insert = |name: &str| {
        format!("insert into storage.objects (bucket_id, name) values ('b', '{name}')")
    };

    let (state, _) = statement_error(&client, &insert("new.png")).await;
    assert_eq!(
        state,
        SqlState::INSUFFICIENT_PRIVILEGE,
        "no operation is under way"
    );

    client
        .batch_execute("set storage.operation = 'storage.object.upload'")
        .await
        .expect("set");
    client
        .batch_execute(&insert("new.png"))
        .await
        .expect("allowed by the policy");
    let (state, _) = statement_error(&client, &insert("new.jpg")).await;
    assert_eq!(state, SqlState::INSUFFICIENT_PRIVILEGE);
}

#[tokio::test]
async fn rows_cannot_be_deleted_unless_the_service_says_so() {
    let (db, _admin) = mixed_bucket().await;
    let client = db.connect_as("postgres").await;

    for statement in [
        "delete from storage.objects",
        "delete from storage.buckets where false",
    ] {
        let (state, message) = statement_error(&client, statement).await;
        assert_eq!(state, SqlState::INSUFFICIENT_PRIVILEGE);
        assert_eq!(
            message,
            "Direct deletion from storage tables is not allowed. Use the Storage API instead."
        );
    }

    client
        .batch_execute(
            "begin;
             set local storage.allow_delete_query = 'true';
             delete from storage.objects;
             commit;",
        )
        .await
        .expect("what the service does");
    check(&client, "select count(*) from storage.objects", "0").await;
}

#[tokio::test]
async fn buckets_reject_long_names_and_versioning() {
    let db = TestDatabase::create().await;
    let client = db.connect_as("postgres").await;

    let (state, _) = statement_error(
        &client,
        "insert into storage.buckets (id, name) values ('long', repeat('x', 101))",
    )
    .await;
    assert_eq!(state, SqlState::RAISE_EXCEPTION);

    let (state, _) = statement_error(
        &client,
        "insert into storage.buckets (id, name, versioning_status) values ('v', 'v', 'ENABLED')",
    )
    .await;
    assert_eq!(state, SqlState::CHECK_VIOLATION);
}

#[tokio::test]
async fn updating_an_object_moves_its_time() {
    let (_db, admin) = mixed_bucket().await;
    admin
        .batch_execute("update storage.objects set updated_at = '2000-01-01' where name = 'a'")
        .await
        .expect("update");

    let year = "select extract(year from updated_at) > 2000 from storage.objects where name = 'a'";
    check(&admin, year, "true").await;
}

#[tokio::test]
async fn trial_inserts_are_always_undone() {
    let (_db, admin) = mixed_bucket().await;

    let (state, _) = statement_error(
        &admin,
        "select storage.can_insert_object('b', 'new', null, '{}')",
    )
    .await;
    assert_eq!(state.code(), "PT200");
    let (state, _) = statement_error(
        &admin,
        "select storage.can_insert_object('b', 'a', null, '{}')",
    )
    .await;
    assert_eq!(state, SqlState::UNIQUE_VIOLATION);

    check(
        &admin,
        "select count(*) from storage.objects where name = 'new'",
        "0",
    )
    .await;
}

#[tokio::test]
async fn sizes_add_up_whatever_metadata_holds() {
    let (_db, admin) = mixed_bucket().await;
    admin
        .batch_execute(
            r#"update storage.objects set metadata = '{"size": 5}' where name = 'a';
               update storage.objects set metadata = '{"size": "7"}' where name = 'B.txt';
               update storage.objects set metadata = '{"size": "big"}' where name = 'zz1.txt';"#,
        )
        .await
        .expect("update");

    check(
        &admin,
        "select size from storage.get_size_by_bucket()",
        "12",
    )
    .await;
}

#[tokio::test]
async fn uploads_in_parts_are_for_the_service_to_write() {
    let (db, _admin) = mixed_bucket().await;
    let insert = "insert into storage.s3_multipart_uploads
                      (id, upload_signature, bucket_id, key, version)
                  values ('1', 's', 'b', 'd/k', 'v'), ('2', 's', 'b', 'k', 'v'),
                         ('3', 's', 'b', 'k', 'v'), ('4', 's', 'b', 'd/l', 'v')";
    let list = "select key || ' ' || coalesce(id, '-')
                from storage.list_multipart_uploads_with_delimiter";

    let authenticated = db.connect_as("authenticated").await;
    let (state, _) = statement_error(&authenticated, insert).await;
    assert_eq!(state, SqlState::INSUFFICIENT_PRIVILEGE);

    let service = db.connect_as("service_role").await;
    service
        .batch_execute(insert)
        .await
        .expect("the service may");
    let all = column(&service, &format!("{list}('b', '', '/')")).await;
    let rest = column(&service, &format!("{list}('b', '', '/', 10, 'k', '2')")).await;
    assert_eq!(all, ["d/ -", "k 2", "k 3"]);
    assert_eq!(rest, ["k 3"]);
    check(
        &authenticated,
        "select count(*) from storage.s3_multipart_uploads",
        "0",
    )
    .await;
}

#[tokio::test]
async fn every_table_is_guarded_and_belongs_to_the_storage_role() {
    let db = TestDatabase::create().await;
    let admin = db.admin().await;

    let tables = column(
        &admin,
        "select relname::text from pg_class
         where relnamespace = 'storage'::regnamespace and relkind = 'r'
           and relrowsecurity and relowner = 'supabase_storage_admin'::regrole
         order by relname collate \"C\"",
    )
    .await;

    let expected = [
        "buckets",
        "buckets_analytics",
        "buckets_vectors",
        "iceberg_namespaces",
        "iceberg_tables",
        "migrations",
        "objects",
        "s3_multipart_uploads",
        "s3_multipart_uploads_parts",
        "vector_indexes",
    ];
    assert_eq!(tables, expected);
}

#[tokio::test]
async fn the_schema_shows_its_state_only_to_its_owner() {
    let db = TestDatabase::create().await;
    let admin = db.admin().await;
    let anon = db.connect_as("anon").await;

    check(
        &admin,
        "select name from storage.migrations",
        "plinth-storage-schema",
    )
    .await;
    let (state, _) = statement_error(&anon, "select name from storage.migrations").await;
    assert_eq!(state, SqlState::INSUFFICIENT_PRIVILEGE);
}
