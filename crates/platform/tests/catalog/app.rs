//! A platform with one project, and requests below its `/pg/{ref}`.

use http::Method;
use plinth_project::ProjectName;
use plinth_testkit::Reply;
use serde_json::Value;

use crate::support::{TestPlatform, functions::json_body};

pub(crate) struct Catalog {
    pub(crate) app: TestPlatform,
    pub(crate) base: String,
}

impl Catalog {
    /// The default project.
    pub(crate) async fn start() -> Self {
        let app = TestPlatform::start().await;
        Self {
            app,
            base: "/pg/default".to_owned(),
        }
    }

    /// Runs SQL as the project's owner, behind the back of the API.
    pub(crate) async fn sql(&self, sql: &str) {
        let project = self.app.open(&ProjectName::Default).await;
        let owner = project.db.as_owner().await.expect("a connection");
        owner.batch_execute(sql).await.expect(sql);
    }

    /// One value of a query of the project's owner.
    pub(crate) async fn value(&self, sql: &str) -> Option<String> {
        let project = self.app.open(&ProjectName::Default).await;
        let owner = project.db.as_owner().await.expect("a connection");
        owner.query_one(sql, &[]).await.expect(sql).get(0)
    }

    pub(crate) async fn send(&self, method: Method, path: &str, body: Option<Value>) -> Reply {
        let uri = format!("{}{path}", self.base);
        self.app
            .request(method, &uri, body.and_then(json_body))
            .await
    }

    /// What a request that must succeed answers.
    pub(crate) async fn ok(&self, method: Method, path: &str, body: Option<Value>) -> Value {
        let reply = self.send(method.clone(), path, body.clone()).await;
        assert_eq!(
            reply.status,
            200,
            "{method} {path} {body:?}: {}",
            String::from_utf8_lossy(&reply.body)
        );
        reply.json()
    }

    pub(crate) async fn get(&self, path: &str) -> Value {
        self.ok(Method::GET, path, None).await
    }

    pub(crate) async fn post(&self, path: &str, body: Value) -> Value {
        self.ok(Method::POST, path, Some(body)).await
    }

    pub(crate) async fn patch(&self, path: &str, body: Value) -> Value {
        self.ok(Method::PATCH, path, Some(body)).await
    }

    pub(crate) async fn delete(&self, path: &str) -> Value {
        self.ok(Method::DELETE, path, None).await
    }

    /// A request that must be refused with this status. Returns the body, which must have `error`,
    /// `message` and `code`.
    pub(crate) async fn refused(
        &self,
        method: Method,
        path: &str,
        body: Option<Value>,
        status: u16,
    ) -> Value {
        let reply = self.send(method.clone(), path, body.clone()).await;
        let text = String::from_utf8_lossy(&reply.body).into_owned();
        assert_eq!(reply.status, status, "{method} {path} {body:?}: {text}");
        let json = reply.json();
        for member in ["error", "message", "code"] {
            assert!(
                json[member].is_string(),
                "{member} of {method} {path}: {text}"
            );
        }
        json
    }

    /// The table of that name, with its columns.
    pub(crate) async fn table(&self, schema: &str, name: &str) -> Value {
        let tables = self.get("/tables").await;
        let tables = tables.as_array().expect("a list");
        let is_it = |table: &&Value| table["schema"] == schema && table["name"] == name;
        tables.iter().find(is_it).expect(name).clone()
    }

    pub(crate) async fn sql_of(&self, method: Method, path: &str, body: Option<Value>) -> String {
        let separator = if path.contains('?') { '&' } else { '?' };
        let shown = self
            .ok(method, &format!("{path}{separator}dry_run=true"), body)
            .await;
        shown["sql"].as_str().expect("a script").to_owned()
    }
}

/// The id of an object, as in paths.
pub(crate) fn id(object: &Value) -> String {
    match &object["id"] {
        Value::String(text) => text.clone(),
        number => number.to_string(),
    }
}
