//! Edge functions of a project (client contract §3.6).
//!
//! ```
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # use axum::{Json, routing::post};
//! # let client = plinth_client::Client::builder("http://localhost:54321", "key");
//! # let client = client.http_service(axum::Router::new().route(
//! #     "/functions/v1/hello",
//! #     post(|Json(asked): Json<serde_json::Value>| async move {
//! #         Json(serde_json::json!({ "greeting": format!("Hello {}", asked["name"].as_str().unwrap()) }))
//! #     }),
//! # )).build()?;
//! use serde::Deserialize;
//! use serde_json::json;
//!
//! #[derive(Deserialize)]
//! struct Greeting {
//!     greeting: String,
//! }
//!
//! let hello = client.functions().invoke("hello").json(&json!({ "name": "Ann" }));
//! let reply: Greeting = hello.send_as().await?;
//! assert_eq!(reply.greeting, "Hello Ann");
//! # Ok(())
//! # }
//! ```

mod body;
mod error;
mod form;
mod invoke;
mod region;
mod response;
mod server_sent;

use std::fmt;
use std::sync::Arc;

use crate::client::{Base, Client, TokenSource};
use body::Body;
pub use error::{FunctionError, FunctionErrorResponse};
pub use form::{Form, FormPart};
pub use invoke::InvokeRequest;
pub use region::Region;
pub use response::{FunctionData, FunctionResponse, FunctionStream};
pub use server_sent::{ServerSentEvent, ServerSentEvents};

/// The functions of a project; see [`Client::functions`].
#[derive(Clone)]
pub struct Functions {
    base: Arc<Base>,
    tokens: Arc<dyn TokenSource>,
    region: Region,
    /// Overrides the token of the signed-in user.
    token: Option<String>,
}

impl<A> Client<A> {
    /// Edge functions.
    pub fn functions(&self) -> Functions {
        Functions {
            base: self.base.clone(),
            tokens: self.tokens.clone(),
            region: Region::Any,
            token: None,
        }
    }
}

impl Functions {
    /// Invokes a function. Its name may be followed by a path and a query: `tasks/7?full=1`.
    pub fn invoke(&self, name: &str) -> InvokeRequest {
        InvokeRequest::new(self.clone(), name)
    }

    /// The same with a default region.
    pub fn region(mut self, region: Region) -> Self {
        self.region = region;
        self
    }

    /// The same with this token instead of the signed-in user's.
    pub fn auth(mut self, token: impl Into<String>) -> Self {
        self.token = Some(token.into());
        self
    }
}

impl fmt::Debug for Functions {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Functions")
            .field("url", &self.base.url)
            .field("region", &self.region)
            .finish_non_exhaustive()
    }
}
