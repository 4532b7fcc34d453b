//! One call of a hook, by HTTP or as a database function.

use std::time::Instant;

use plinth_db::{DbError, Queries};
use plinth_project::HookCall;
use serde_json::{Value, json};
use time::format_description::well_known::Rfc3339;
use uuid::Uuid;

use super::http;
use crate::{
    AuthError,
    config::{Hook, HookTarget},
    model::{Object, hook_functions, savepoint::Savepoint},
    request::RequestContext,
    wire_time,
};

/// A hook and its payload.
pub(super) struct Call<'a> {
    context: &'a RequestContext,
    hook: &'a Hook,
    name: &'static str,
    payload: Value,
}

impl<'a> Call<'a> {
    /// `input` is an object; `metadata` is added to it.
    pub(super) fn new(
        context: &'a RequestContext,
        hook: &'a Hook,
        name: &'static str,
        mut input: Value,
    ) -> Self {
        input["metadata"] = metadata(context, name);
        Self {
            context,
            hook,
            name,
            payload: input,
        }
    }

    /// In the transaction of `db`, which also commits what a function writes.
    pub(super) async fn run_in_transaction(
        self,
        db: &mut impl Queries,
    ) -> Result<Object, AuthError> {
        let started = Instant::now();
        let response = self.run(db).await;
        self.finish(started, response)
    }

    /// In the transaction of `db`, but with a savepoint: a function that fails does not abort the
    /// transaction.
    pub(super) async fn run_in_savepoint(self, db: &mut impl Queries) -> Result<Object, AuthError> {
        let started = Instant::now();
        let HookTarget::Function { schema, name } = &self.hook.target else {
            let response = self.post().await;
            return self.finish(started, response);
        };
        let savepoint = Savepoint::set(db).await;
        let response = self.function(db, schema, name).await;
        if response.is_ok() {
            savepoint.release(db).await?;
        } else {
            savepoint.roll_back(db).await?;
        }
        self.finish(started, response)
    }

    /// In a transaction that is rolled back.
    pub(super) async fn run_and_roll_back(self) -> Result<Object, AuthError> {
        let started = Instant::now();
        let response = match &self.hook.target {
            HookTarget::Function { .. } => {
                let mut db = self.context.begin().await?;
                let response = self.run(&mut db).await;
                db.rollback().await?;
                response
            }
            _ => self.post().await,
        };
        self.finish(started, response)
    }

    /// What the hook gets.
    pub(super) fn payload(&self) -> &Value {
        &self.payload
    }

    /// In a transaction of its own.
    pub(super) async fn run_in_own_transaction(self) -> Result<Object, AuthError> {
        let started = Instant::now();
        let response = match &self.hook.target {
            HookTarget::Function { .. } => {
                let mut db = self.context.begin().await?;
                let response = self.run(&mut db).await;
                if response.is_ok() {
                    db.commit().await?;
                }
                response
            }
            _ => self.post().await,
        };
        self.finish(started, response)
    }

    async fn run(&self, db: &mut impl Queries) -> Result<Option<Value>, AuthError> {
        match &self.hook.target {
            HookTarget::Function { schema, name } => self.function(db, schema, name).await,
            _ => self.post().await,
        }
    }

    async fn function(
        &self,
        db: &mut impl Queries,
        schema: &str,
        name: &str,
    ) -> Result<Option<Value>, AuthError> {
        let response = hook_functions::call(db, schema, name, &self.payload).await;
        response.map_err(|error| match error {
            DbError::Postgres(_) => AuthError::hook_function_failed(schema, name, error),
            error => error.into(),
        })
    }

    async fn post(&self) -> Result<Option<Value>, AuthError> {
        match &self.hook.target {
            HookTarget::Http(url) => {
                http::post(self.context, url, &self.hook.secrets, &self.payload).await
            }
            HookTarget::Unusable(reason) => Err(AuthError::hook_not_callable(reason)),
            HookTarget::Function { .. } => unreachable!("functions are called in a transaction"),
        }
    }

    fn finish(
        &self,
        started: Instant,
        response: Result<Option<Value>, AuthError>,
    ) -> Result<Object, AuthError> {
        let milliseconds = started.elapsed().as_millis() as u64;
        let response = response.and_then(parse_response);
        self.context.state.hook_calls.add(HookCall {
            at: wire_time::render(self.context.now),
            hook: self.name.to_owned(),
            target: self.hook.target.describe(),
            milliseconds,
            error: response.as_ref().err().map(|error| match error.cause() {
                Some(cause) => format!("{error}: {cause}"),
                None => error.to_string(),
            }),
        });
        match &response {
            Ok(_) => tracing::debug!(milliseconds, "hook {} responded", self.name),
            Err(error) => tracing::warn!(milliseconds, "hook {} failed: {error}", self.name),
        }
        response
    }
}

fn metadata(context: &RequestContext, name: &str) -> Value {
    let mut metadata = json!({
        "uuid": Uuid::new_v4(),
        "time": context.now.format(&Rfc3339).unwrap_or_default(),
        "name": name,
    });
    let ip = context.client.ip;
    if !ip.is_unspecified() {
        metadata["ip_address"] = ip.to_string().into();
    }
    metadata
}

/// The object that the hook returned, unless it reports an error.
fn parse_response(response: Option<Value>) -> Result<Object, AuthError> {
    let object = match response {
        None | Some(Value::Null) => return Ok(Object::new()),
        Some(Value::Object(object)) => object,
        Some(other) => {
            return Err(AuthError::hook_response_malformed(format!(
                "a hook responded with {} instead of an object",
                json_type(&other)
            )));
        }
    };
    match error_of_hook(&object) {
        Some(error) => Err(error),
        None => Ok(object),
    }
}

/// The error `{"error":{"http_code":…,"message":…}}`, if it has a message.
fn error_of_hook(response: &Object) -> Option<AuthError> {
    let error = response.get("error")?.as_object()?;
    let message = error.get("message")?.as_str()?;
    if message.is_empty() {
        return None;
    }
    let status = error.get("http_code").and_then(Value::as_u64);
    Some(AuthError::from_hook(status, message.to_owned()))
}

fn json_type(value: &Value) -> &'static str {
    match value {
        Value::Null => "nothing",
        Value::Bool(_) => "a truth value",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Code;

    fn status_and_code(response: Value) -> Option<(u16, Code, String)> {
        let error = parse_response(Some(response)).err()?;
        Some((error.status().as_u16(), error.code(), error.to_string()))
    }

    #[test]
    fn a_hooks_error_is_the_response() {
        let error =
            |http_code: Value| json!({ "error": { "http_code": http_code, "message": "no" } });
        let expected = |status, code| Some((status, code, "no".to_owned()));

        let teapot = status_and_code(error(json!(418)));
        assert_eq!(teapot, expected(418, Code::Unknown));
        for odd in [json!(null), json!(0), json!(200), json!(70_000), json!("x")] {
            let response = status_and_code(error(odd));
            assert_eq!(response, expected(500, Code::UnexpectedFailure));
        }
    }

    #[test]
    fn an_error_needs_a_message() {
        assert_eq!(
            status_and_code(json!({ "error": { "http_code": 403 } })),
            None
        );
        assert_eq!(status_and_code(json!({ "error": null })), None);
        assert_eq!(status_and_code(json!({ "error": "text" })), None);
    }

    #[test]
    fn what_is_no_object_is_our_failure() {
        let (status, code, _) = status_and_code(json!([1])).expect("an error");
        assert_eq!((status, code), (500, Code::UnexpectedFailure));
    }
}
