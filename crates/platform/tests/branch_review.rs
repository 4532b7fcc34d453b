//! Reviewing branches, merging them and rebasing them: conflicts, failures, kills.

mod support;

use http::Method;
use plinth_platform::{Job, JobState, TokenLimits};
use plinth_project::ProjectName;
use plinth_testkit::{Reply, TestServer, until, until_some};
use serde_json::{Value, json};
use support::{
    TestPlatform,
    functions::{form, json_body},
};
use tokio_postgres::Client;

/// A project with a branch, after both were the same.
struct Branched {
    app: TestPlatform,
    parent: ProjectName,
    branch: ProjectName,
    parent_ref: String,
    branch_ref: String,
}

const FIRST: (&str, &str) = (
    "20260101000000_notes.sql",
    "create table public.notes (id int primary key); insert into notes values (1);",
);

impl Branched {
    async fn new() -> Self {
        let app = TestPlatform::start().await;
        let parent = app.project("Shop").await;
        migrate(&app, &parent, FIRST).await;
        let parent_ref = app.reference(&parent).await.to_string();
        let uri = format!("/v1/projects/{parent_ref}/branches");
        let body = json_body(json!({ "branch_name": "try" }));
        let made = app.request(Method::POST, &uri, body).await;
        let branch_ref = made.expect_status(201).json()["project_ref"]
            .as_str()
            .expect("a ref")
            .to_owned();
        let branch = ProjectName::Ref(branch_ref.parse().expect("a ref"));
        Self {
            app,
            parent,
            branch,
            parent_ref,
            branch_ref,
        }
    }

    async fn owner(&self, name: &ProjectName) -> Client {
        let project = self.app.open(name).await;
        project.db.as_owner().await.expect("the owner")
    }

    async fn run(&self, name: &ProjectName, sql: &str) {
        let owner = self.owner(name).await;
        if let Err(error) = owner.batch_execute(sql).await {
            panic!("{}: {sql}", plinth_db::describe(&error));
        }
    }

    async fn post(&self, what: &str, body: Value) -> Reply {
        let uri = format!("/platform/projects/{}/branches/try/{what}", self.parent_ref);
        self.app.request(Method::POST, &uri, json_body(body)).await
    }

    async fn review(&self) -> Value {
        let uri = format!("/platform/projects/{}/branches/try/review", self.parent_ref);
        self.app.request(Method::GET, &uri, None).await.ok()
    }

    /// Begins something and waits for its job.
    async fn done(&self, what: &str, body: Value) -> Job {
        let begun = self.post(what, body).await;
        let id = begun.expect_status(202).json()["job_id"].clone();
        self.ended(&id).await
    }

    async fn ended(&self, id: &Value) -> Job {
        let id = id.as_str().and_then(|id| id.parse().ok()).expect("an id");
        until_some(async || {
            let job = self.app.platform.load_job(id).await.expect("the job");
            (job.state != JobState::Running).then_some(job)
        })
        .await
    }

    async fn merge_reviewed(&self) -> Job {
        let token = self.review().await["review_token"].clone();
        self.done("merge", json!({ "review_token": token })).await
    }

    async fn tables(&self, name: &ProjectName) -> Vec<String> {
        let sql = "select c.relname || ' ' || string_agg(a.attname, ',' order by a.attname)
                   from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
                   where c.relnamespace = 'public'::regnamespace and c.relkind = 'r'
                   group by c.relname order by c.relname";
        let rows = self
            .owner(name)
            .await
            .query(sql, &[])
            .await
            .expect("tables");
        rows.iter().map(|row| row.get(0)).collect()
    }

    async fn versions(&self, name: &ProjectName) -> Vec<String> {
        let applied = self.app.platform.applied_migrations(name).await;
        let applied = applied.expect("a history").into_iter();
        applied.map(|migration| migration.version).collect()
    }
}

async fn migrate(app: &TestPlatform, name: &ProjectName, (file, sql): (&str, &str)) {
    let file = plinth_platform::MigrationFile::new(file, sql.to_owned()).expect("a name");
    let applied = app.platform.apply_migration(name, &file).await;
    applied.unwrap_or_else(|error| panic!("{error}"));
}

#[track_caller]
fn expect_succeeded(job: &Job) {
    assert_eq!(job.state, JobState::Succeeded, "{:?}", job.error);
}

#[tokio::test]
async fn a_new_branch_has_nothing_to_merge() {
    let of = Branched::new().await;

    let review = of.review().await;

    assert_eq!(review["is_empty"], json!(true), "{review:#}");
    assert_eq!(review["has_moved_on"], json!(false));
    assert_eq!(review["sql"], json!(""));
}

#[tokio::test]
async fn migrations_and_functions_are_reviewed_and_merged_and_rows_are_not() {
    let of = Branched::new().await;
    let second = (
        "20260102000000_second.sql",
        "alter table notes add t text; insert into notes values (2, 'x');
                   create policy p on notes using (true);",
    );
    migrate(&of.app, &of.branch, second).await;
    of.run(
        &of.branch,
        "insert into notes values (3);
                        insert into storage.buckets (id, name, public) values ('b', 'b', true);",
    )
    .await;
    let deploy = format!("/v1/projects/{}/functions/hello?slug=hello", of.branch_ref);
    let metadata = json!({ "entrypoint_path": "index.ts", "name": "hello", "verify_jwt": false });
    let deploy = deploy.replace("functions/hello?", "functions/deploy?");
    let sent = form(metadata, &[("index.ts", b"export default 1")]);
    of.app
        .request(Method::POST, &deploy, sent)
        .await
        .expect_status(201);

    let review = of.review().await;
    let job = of.done("merge", json!({})).await;

    assert_eq!(
        review["migrations"]["pending"][0]["version"],
        json!("20260102000000")
    );
    assert_eq!(review["migrations"]["missing"], json!([]));
    assert_eq!(review["objects"][0]["name"], json!("notes"));
    assert_eq!(review["objects"][0]["action"], json!("alter"));
    assert_eq!(review["is_destructive"], json!(false));
    assert_eq!(review["functions"][0]["slug"], json!("hello"));
    assert_eq!(review["functions"][0]["change"], json!("new"));
    assert_eq!(review["buckets"][0]["id"], json!("b"));
    assert_eq!(review["buckets"][0]["parent"], json!(null));
    expect_succeeded(&job);
    assert_eq!(of.tables(&of.parent).await, ["notes id,t"]);
    assert_eq!(of.versions(&of.parent).await, of.versions(&of.branch).await);
    let functions = of
        .app
        .platform
        .list_functions(&of.parent)
        .await
        .expect("functions");
    assert_eq!(functions.len(), 1);
    let sql = "select string_agg(id::text, ',' order by id) from notes";
    let rows = of
        .owner(&of.parent)
        .await
        .query_one(sql, &[])
        .await
        .expect("rows");
    // The migration's own row is there, the branch's is not.
    assert_eq!(rows.get::<_, &str>(0), "1,2");
    assert_eq!(of.review().await["is_empty"], json!(true));
}

#[tokio::test]
async fn what_no_migration_records_is_merged_only_as_it_was_reviewed() {
    let of = Branched::new().await;
    of.run(
        &of.branch,
        "create table extra (id int); alter table notes add t text",
    )
    .await;
    let token = of.review().await["review_token"].clone();

    of.post("merge", json!({})).await.expect_status(409);
    of.run(&of.branch, "create table unseen (id int)").await;
    let stale = of.post("merge", json!({ "review_token": token })).await;
    stale.expect_status(409);
    assert_eq!(of.tables(&of.parent).await, ["notes id"]);
    let job = of.merge_reviewed().await;

    expect_succeeded(&job);
    assert_eq!(of.tables(&of.parent).await, of.tables(&of.branch).await);
    let recorded = of.versions(&of.parent).await;
    assert_eq!(recorded.len(), 2);
    assert_eq!(recorded, of.versions(&of.branch).await);
    assert_eq!(of.review().await["is_empty"], json!(true));
}

#[tokio::test]
async fn a_recorded_and_an_unrecorded_change_are_merged_together() {
    let of = Branched::new().await;
    migrate(
        &of.app,
        &of.branch,
        ("20260102000000_a.sql", "create table a (id int);"),
    )
    .await;
    of.run(&of.branch, "create view over_a as select id from a")
        .await;

    // Its own migration can be merged without a review, the view beside it cannot.
    let unreviewed = of.done("merge", json!({})).await;
    let nothing = of.tables(&of.parent).await;
    let job = of.merge_reviewed().await;

    assert_eq!(unreviewed.state, JobState::Failed);
    assert!(
        unreviewed
            .error
            .is_some_and(|error| error.contains("review"))
    );
    assert_eq!(nothing, ["notes id"]);
    expect_succeeded(&job);
    assert_eq!(of.versions(&of.parent).await.len(), 3);
    assert_eq!(of.review().await["is_empty"], json!(true));
}

#[tokio::test]
async fn a_parent_that_moved_on_is_brought_to_the_branch_first() {
    let of = Branched::new().await;
    migrate(
        &of.app,
        &of.branch,
        ("20260102000000_mine.sql", "create table mine (id int);"),
    )
    .await;
    migrate(
        &of.app,
        &of.parent,
        ("20260103000000_theirs.sql", "create table theirs (id int);"),
    )
    .await;
    of.run(&of.parent, "create table unrecorded (id int)").await;

    let review = of.review().await;
    let refused = of.post("merge", json!({})).await;
    let rebased = of.done("rebase", json!({})).await;
    let after = of.review().await;
    let merged = of.done("merge", json!({})).await;

    assert_eq!(review["has_moved_on"], json!(true));
    assert_eq!(
        review["migrations"]["missing"][0]["version"],
        json!("20260103000000")
    );
    let conflicts: Vec<&str> = review["conflicts"]
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(|conflict| conflict["object"].as_str())
        .collect();
    assert_eq!(
        conflicts,
        ["table public.theirs", "table public.unrecorded"]
    );
    // What the parent added is not the branch's to drop.
    assert!(
        !review["sql"].as_str().expect("a text").contains("drop"),
        "{review:#}"
    );
    refused.expect_status(409);
    expect_succeeded(&rebased);
    assert_eq!(after["has_moved_on"], json!(false), "{after:#}");
    expect_succeeded(&merged);
    assert_eq!(
        of.tables(&of.parent).await,
        ["mine id", "notes id", "theirs id", "unrecorded id"]
    );
    assert_eq!(of.tables(&of.branch).await, of.tables(&of.parent).await);
}

#[tokio::test]
async fn what_both_changed_needs_a_decision() {
    for (resolve, expected) in [("parent", "notes id,theirs"), ("branch", "notes id,mine")] {
        let of = Branched::new().await;
        of.run(&of.branch, "alter table notes add mine int").await;
        of.run(&of.parent, "alter table notes add theirs int").await;

        of.post("rebase", json!({})).await.expect_status(409);
        of.post("rebase", json!({ "resolve": "nobody" }))
            .await
            .expect_status(400);
        let rebased = of.done("rebase", json!({ "resolve": resolve })).await;

        expect_succeeded(&rebased);
        assert_eq!(of.tables(&of.branch).await, [expected], "{resolve}");
        assert_eq!(of.tables(&of.parent).await, ["notes id,theirs"]);
        let review = of.review().await;
        assert_eq!(review["has_moved_on"], json!(false));
        assert_eq!(review["is_empty"], json!(resolve == "parent"));
        // To drop the parent's column is the decision, and loses values.
        assert_eq!(review["is_destructive"], json!(resolve == "branch"));
    }
}

#[tokio::test]
async fn what_a_branch_changed_before_a_rebase_is_still_its_own() {
    let of = Branched::new().await;
    of.run(&of.branch, "alter table notes add mine int").await;
    of.run(&of.parent, "create table theirs (id int)").await;
    expect_succeeded(&of.done("rebase", json!({})).await);
    of.run(&of.parent, "alter table notes add theirs int").await;

    let review = of.review().await;
    let rebase = of.post("rebase", json!({})).await;

    let conflict = &review["conflicts"][0];
    assert_eq!(conflict["object"], json!("table public.notes"));
    assert_eq!(conflict["in_branch"], json!("alter"));
    rebase.expect_status(409);
    assert_eq!(of.tables(&of.branch).await, ["notes id,mine", "theirs id"]);
}

#[tokio::test]
async fn a_schema_that_is_locked_is_said_to_be() {
    let of = Branched::new().await;
    let holder = of.owner(&of.parent).await;
    of.run(&of.parent, "create view looks as select id from notes")
        .await;
    let lock = "begin; alter view looks set (security_barrier = true)";
    holder.batch_execute(lock).await.expect("a lock");

    let uri = format!("/v1/branches/{}/diff", of.branch_ref);
    let waited = of.app.request(Method::GET, &uri, None).await;
    drop(holder);

    waited.expect_status(409);
    assert!(waited.text().contains("locked"), "{}", waited.text());
}

#[tokio::test]
async fn what_both_changed_alike_is_no_conflict() {
    let of = Branched::new().await;
    for side in [&of.parent, &of.branch] {
        of.run(
            side,
            "alter table notes add t text; create table same (id int)",
        )
        .await;
    }

    let review = of.review().await;

    assert_eq!(review["conflicts"], json!([]));
    assert_eq!(review["is_empty"], json!(true));
}

#[tokio::test]
async fn a_merge_that_fails_leaves_the_parent_as_it_was() {
    let of = Branched::new().await;
    migrate(
        &of.app,
        &of.branch,
        ("20260102000000_good.sql", "create table good (id int);"),
    )
    .await;
    let bad = "alter table notes add constraint few check (id < 5);";
    migrate(&of.app, &of.branch, ("20260103000000_bad.sql", bad)).await;
    of.run(&of.parent, "insert into notes values (9)").await;

    let job = of.done("merge", json!({})).await;

    assert_eq!(job.state, JobState::Failed);
    let error = job.error.expect("a reason");
    assert!(error.contains("20260103000000_bad.sql"), "{error}");
    assert_eq!(of.tables(&of.parent).await, ["notes id"]);
    assert_eq!(of.versions(&of.parent).await.len(), 1);
    of.run(&of.parent, "delete from notes where id = 9").await;
    expect_succeeded(&of.done("merge", json!({})).await);
}

#[tokio::test]
async fn what_cannot_be_in_a_transaction_stays_and_is_told() {
    let of = Branched::new().await;
    let index = "-- plinth: no-transaction\ncreate index concurrently notes_id on notes (id);";
    migrate(
        &of.app,
        &of.branch,
        ("20260102000000_one.sql", "create table one (id int);"),
    )
    .await;
    migrate(&of.app, &of.branch, ("20260103000000_index.sql", index)).await;
    let bad = "alter table notes add constraint few check (id < 5);";
    migrate(&of.app, &of.branch, ("20260104000000_bad.sql", bad)).await;
    of.run(&of.parent, "insert into notes values (9)").await;

    let job = of.done("merge", json!({})).await;

    assert_eq!(job.state, JobState::Failed);
    let error = job.error.expect("a reason");
    assert!(error.contains("20260104000000_bad.sql"), "{error}");
    assert!(
        error.contains("The first 2 of 3 migrations stay"),
        "{error}"
    );
    assert_eq!(of.versions(&of.parent).await.len(), 3);
    of.run(&of.parent, "delete from notes where id = 9").await;
    expect_succeeded(&of.done("merge", json!({})).await);
    assert_eq!(of.review().await["is_empty"], json!(true));
}

#[tokio::test]
async fn a_merge_killed_in_the_middle_leaves_the_parent_as_it_was() {
    let of = Branched::new().await;
    let sql = "create table first (id int); alter table notes add t text;";
    migrate(&of.app, &of.branch, ("20260102000000_two.sql", sql)).await;
    let holder = of.owner(&of.parent).await;
    holder
        .batch_execute("begin; select from notes")
        .await
        .expect("a lock");
    let begun = of.post("merge", json!({})).await;
    let job = begun.expect_status(202).json()["job_id"].clone();
    // `first` is made, `notes` is waited for.
    let waiting = "select pid from pg_stat_activity
                   where wait_event_type = 'Lock' and datname = $1 and query like 'alter table notes%'";
    let watcher = TestServer::shared()
        .await
        .admin()
        .connect()
        .await
        .expect("the server");
    let pid: i32 = until_some(async || {
        let row = watcher
            .query_opt(waiting, &[&of.parent_ref])
            .await
            .expect("activity");
        row.map(|row| row.get(0))
    })
    .await;

    let beside = of.post("merge", json!({})).await;
    let killed = watcher
        .query_one("select pg_terminate_backend($1)", &[&pid])
        .await;
    let job = of.ended(&job).await;

    beside.expect_status(409);
    assert!(killed.expect("a kill").get::<_, bool>(0));
    assert_eq!(job.state, JobState::Failed);
    holder.batch_execute("rollback").await.expect("an end");
    assert_eq!(of.tables(&of.parent).await, ["notes id"]);
    assert_eq!(of.versions(&of.parent).await.len(), 1);
    until(async || of.post("merge", json!({})).await.status == 202).await;
    until(async || of.tables(&of.parent).await.len() == 2).await;
}

#[tokio::test]
async fn the_management_api_diffs_merges_pushes_and_resets() {
    let of = Branched::new().await;
    let id = &of.branch_ref;
    migrate(
        &of.app,
        &of.branch,
        (
            "20260102000000_a.sql",
            "create schema s; create table s.a (id int);",
        ),
    )
    .await;
    migrate(
        &of.app,
        &of.branch,
        ("20260103000000_b.sql", "create table b (id int);"),
    )
    .await;
    let get = async |uri: String| of.app.request(Method::GET, &uri, None).await;
    let post = async |what: &str, body: Option<Value>| {
        let uri = format!("/v1/branches/{id}/{what}");
        of.app
            .request(Method::POST, &uri, body.and_then(json_body))
            .await
    };

    let all = get(format!("/v1/branches/{id}/diff")).await;
    let one = get(format!(
        "/v1/branches/{id}/diff?included_schemas=public,none"
    ))
    .await;
    let unknown = post("merge", Some(json!({ "migration_version": "1" }))).await;
    let first = post(
        "merge",
        Some(json!({ "migration_version": "20260102000000" })),
    )
    .await;
    let first = of
        .ended(&first.expect_status(201).json()["workflow_run_id"])
        .await;
    let after_first = of.tables(&of.parent).await;
    let rest = post("merge", None).await;
    let rest = of
        .ended(&rest.expect_status(201).json()["workflow_run_id"])
        .await;
    migrate(
        &of.app,
        &of.parent,
        ("20260104000000_c.sql", "create table c (id int);"),
    )
    .await;
    let push = post("push", None).await;
    assert_eq!(push.json()["message"], json!("ok"));
    let push = of.ended(&push.json()["workflow_run_id"]).await;
    let pushed = of.tables(&of.branch).await;
    let reset = post(
        "reset",
        Some(json!({ "migration_version": "20260102000000" })),
    )
    .await;
    let reset = of
        .ended(&reset.expect_status(201).json()["workflow_run_id"])
        .await;

    all.expect_status(200)
        .expect_header("content-type", "text/plain; charset=utf-8");
    assert!(all.text().contains("create table s.a"), "{}", all.text());
    assert!(
        one.text().contains("create table public.b"),
        "{}",
        one.text()
    );
    assert!(!one.text().contains("s.a"), "{}", one.text());
    unknown.expect_status(400);
    for job in [&first, &rest, &push, &reset] {
        expect_succeeded(job);
    }
    assert_eq!(after_first, ["notes id"]);
    assert_eq!(of.tables(&of.parent).await, ["b id", "c id", "notes id"]);
    assert_eq!(pushed, ["b id", "c id", "notes id"]);
    assert_eq!(of.tables(&of.branch).await, ["notes id"]);
}

#[tokio::test]
async fn both_sides_must_be_accessible() {
    let of = Branched::new().await;
    let limits = TokenLimits {
        projects: Some(vec![of.branch_ref.parse().expect("a ref")]),
        ..TokenLimits::default()
    };
    let (_, token) = of.app.token_with("branch only", limits).await;
    let send = async |method: Method, uri: String| {
        let request = http::Request::builder()
            .method(method)
            .uri(uri)
            .header("authorization", format!("Bearer {}", token.expose()))
            .body(axum::body::Body::empty());
        of.app.send(request.expect("a request")).await
    };

    let (id, parent) = (&of.branch_ref, &of.parent_ref);
    for (method, uri) in [
        (Method::GET, format!("/v1/branches/{id}/diff")),
        (Method::POST, format!("/v1/branches/{id}/merge")),
        (Method::POST, format!("/v1/branches/{id}/push")),
        (
            Method::GET,
            format!("/platform/projects/{parent}/branches/try/review"),
        ),
    ] {
        send(method, uri).await.expect_status(403);
    }
}
