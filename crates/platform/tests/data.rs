//! Rows, files and SQL of operators over HTTP (console contract N52–N59, N72, N75, N77, N82).

#[path = "operator_data/activity.rs"]
mod activity;
#[path = "operator_data/files.rs"]
mod files;
#[path = "operator_data/policies.rs"]
mod policies;
#[path = "operator_data/rows.rs"]
mod rows;
#[path = "operator_data/snippets.rs"]
mod snippets;
#[path = "operator_data/sql.rs"]
mod sql;
mod support;

use http::Method;
use plinth_project::ProjectName;
use plinth_testkit::{Call, Reply};
use serde_json::Value;
use support::{TestPlatform, functions::json_body};

/// A platform, and its default project after this SQL.
async fn platform_with(sql: &str) -> TestPlatform {
    let app = TestPlatform::start().await;
    let project = app.open(&ProjectName::Default).await;
    let owner = project.db.as_owner().await.expect("a session");
    let done = owner.batch_execute(sql).await;
    done.unwrap_or_else(|error| panic!("{error:?}: {sql}"));
    app
}

fn path(below: &str) -> String {
    format!("/platform/projects/default/{below}")
}

async fn post(app: &TestPlatform, below: &str, body: Value) -> Reply {
    app.request(Method::POST, &path(below), json_body(body))
        .await
}

async fn get(app: &TestPlatform, below: &str) -> Reply {
    app.request(Method::GET, &path(below), None).await
}

/// A request with a personal access token.
fn with_token(app: &TestPlatform, method: Method, path: &str, token: &str) -> Call {
    let routes = plinth_platform::api::routes(app.platform.clone());
    Call::new(routes, method, path).bearer(token)
}

/// The values of a query on the default project.
async fn texts(app: &TestPlatform, sql: &str) -> Vec<String> {
    let project = app.open(&ProjectName::Default).await;
    let owner = project.db.as_owner().await.expect("a session");
    let rows = owner.query(sql, &[]).await;
    let rows = rows.unwrap_or_else(|error| panic!("{error:?}: {sql}"));
    rows.iter().map(|row| row.get(0)).collect()
}

/// The same as the administrating role, which sees what other sessions do.
async fn admin_texts(app: &TestPlatform, sql: &str) -> Vec<String> {
    let project = app.open(&ProjectName::Default).await;
    let admin = project.db.as_admin().await.expect("a session");
    let rows = admin.query(sql, &[]).await;
    let rows = rows.unwrap_or_else(|error| panic!("{error:?}: {sql}"));
    rows.iter().map(|row| row.get(0)).collect()
}

/// What the audit log has of an action.
async fn audited(app: &TestPlatform, action: &str) -> Vec<Value> {
    let project = app.open(&ProjectName::Platform).await;
    let admin = project.db.as_admin().await.expect("a session");
    let sql = "select details from platform.audit where action = $1 order by id";
    let rows = admin.query(sql, &[&action]).await.expect("rows");
    rows.iter().map(|row| row.get(0)).collect()
}
