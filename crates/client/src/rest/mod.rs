//! The database API (client contract §3.3).
//!
//! [`Client::from`] names a table; [`Table`] begins a query; [`Query`] filters, orders and sends it. `request` builds
//! the HTTP request without sending anything; `execute` sends it with retries.

mod error;
mod execute;
mod filters;
mod insert;
mod literal;
mod modifiers;
mod query;
mod request;
mod response;
mod rpc;
mod table;

use std::sync::Arc;

use serde::Serialize;

use crate::client::{Base, Client, TokenSource};
use crate::runtime::BoxFuture;
pub use error::RestError;
pub use execute::{MAX_RETRIES, MAX_WAIT_MS, RETRY_WAIT_MS};
pub use filters::{Is, TextSearch};
pub use insert::Insert;
pub use literal::Contained;
pub use modifiers::{Count, Explain};
pub use query::Query;
pub use response::Response;
pub use rpc::Rpc;
pub use table::Table;

/// A database schema of a project; see [`Client::schema`].
#[derive(Clone)]
pub struct Schema {
    context: RequestContext,
}

/// Client state that a query needs.
#[derive(Clone)]
pub(crate) struct RequestContext {
    base: Arc<Base>,
    tokens: Arc<dyn TokenSource>,
    schema: Option<String>,
}

impl<A> Client<A> {
    /// A table or view.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let client = plinth_client::Client::builder("http://localhost:54321", "key");
    /// # let client = client.http_service(axum::Router::new()
    /// #     .fallback(|| async { r#"[{"id":1,"title":"x"}]"# })).build()?;
    /// #[derive(serde::Deserialize)]
    /// struct Todo {
    ///     id: i64,
    ///     title: String,
    /// }
    ///
    /// let todos = client.from("todos").select("id,title").eq("is_done", false).order("id");
    /// for todo in todos.execute_as::<Vec<Todo>>().await?.data {
    ///     println!("{}: {}", todo.id, todo.title);
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub fn from(&self, table: &str) -> Table {
        Table::new(self.context(), table)
    }

    /// Another schema than the client's.
    pub fn schema(&self, name: &str) -> Schema {
        let mut context = self.context();
        context.schema = Some(name.to_owned());
        Schema { context }
    }

    /// A function of the database, with its arguments as an object.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let client = plinth_client::Client::builder("http://localhost:54321", "key");
    /// # let client = client.http_service(axum::Router::new()
    /// #     .route("/rest/v1/rpc/add", axum::routing::post(|| async { "3" }))).build()?;
    /// use serde_json::json;
    ///
    /// let sum = client.rpc("add", &json!({ "a": 1, "b": 2 })).execute_as::<i64>().await?.data;
    /// assert_eq!(sum, 3);
    /// # Ok(())
    /// # }
    /// ```
    pub fn rpc(&self, function: &str, args: &impl Serialize) -> Rpc {
        Rpc::new(self.context(), function, args)
    }

    /// The OpenAPI description: `client.open_api().await?`.
    pub fn open_api(&self) -> OpenApi {
        OpenApi(Query::open_api(self.context()))
    }

    fn context(&self) -> RequestContext {
        RequestContext {
            base: self.base.clone(),
            tokens: self.tokens.clone(),
            schema: self.base.schema.clone(),
        }
    }
}

impl Schema {
    /// A table or view of this schema.
    pub fn from(&self, table: &str) -> Table {
        Table::new(self.context.clone(), table)
    }

    /// A function of this schema.
    pub fn rpc(&self, function: &str, args: &impl Serialize) -> Rpc {
        Rpc::new(self.context.clone(), function, args)
    }
}

/// Requests the OpenAPI description; see [`Client::open_api`].
#[must_use = "nothing is sent before it is awaited"]
#[derive(Debug)]
pub struct OpenApi(Query);

impl OpenApi {
    /// Sets the timeout.
    pub fn timeout(self, limit: std::time::Duration) -> Self {
        Self(self.0.timeout(limit))
    }

    /// Sets a header.
    pub fn header(self, name: &str, value: &str) -> Self {
        Self(self.0.header(name, value))
    }
}

impl IntoFuture for OpenApi {
    type Output = Result<serde_json::Value, RestError>;
    type IntoFuture = BoxFuture<'static, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move { Ok(self.0.execute().await?.data) })
    }
}

impl std::fmt::Debug for Schema {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Schema")
            .field("name", &self.context.schema)
            .finish()
    }
}
