//! One call of a hook, whichever way it goes.

use std::time::Instant;

use plinth_db::Queries;
use serde_json::{Value, json};
use time::format_description::well_known::Rfc3339;
use uuid::Uuid;

use super::{function, http};
use crate::{
    AuthError,
    config::{Hook, HookTarget},
    error::Code,
    model::Object,
    request::Context,
};

/// A hook and what it is told.
pub(super) struct Call<'a> {
    context: &'a Context,
    hook: &'a Hook,
    name: &'static str,
    payload: Value,
}

impl<'a> Call<'a> {
    /// `input` is an object; `metadata` is added to it.
    pub(super) fn new(
        context: &'a Context,
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

    /// Inside the transaction of `db`; what a function writes lasts if that does.
    pub(super) async fn inside(self, db: &mut impl Queries) -> Result<Object, AuthError> {
        let started = Instant::now();
        let answer = self.run(db).await;
        self.finish(started, answer)
    }

    /// The same, but a function that fails does not take the transaction with it.
    pub(super) async fn guarded(self, db: &mut impl Queries) -> Result<Object, AuthError> {
        let started = Instant::now();
        let is_function = matches!(self.hook.target, HookTarget::Function { .. });
        let guard = match is_function {
            true => function::Guard::set(db).await,
            false => function::Guard::none(),
        };
        let answer = self.run(db).await;
        guard.release(db, answer.is_ok()).await?;
        self.finish(started, answer)
    }

    /// In a transaction of its own.
    pub(super) async fn alone(self) -> Result<Object, AuthError> {
        let started = Instant::now();
        let answer = match &self.hook.target {
            HookTarget::Function { .. } => {
                let mut db = self.context.begin().await?;
                let answer = self.run(&mut db).await;
                if answer.is_ok() {
                    db.commit().await?;
                }
                answer
            }
            _ => self.over_http().await,
        };
        self.finish(started, answer)
    }

    async fn run(&self, db: &mut impl Queries) -> Result<Option<Value>, AuthError> {
        match &self.hook.target {
            HookTarget::Function { schema, name } => {
                function::call(db, schema, name, &self.payload).await
            }
            _ => self.over_http().await,
        }
    }

    async fn over_http(&self) -> Result<Option<Value>, AuthError> {
        match &self.hook.target {
            HookTarget::Http(url) => {
                http::post(self.context, url, &self.hook.secrets, &self.payload).await
            }
            HookTarget::Unusable(reason) => {
                Err(AuthError::internal("The hook cannot be called", reason))
            }
            HookTarget::Function { .. } => unreachable!("functions are called in a transaction"),
        }
    }

    fn finish(
        &self,
        started: Instant,
        answer: Result<Option<Value>, AuthError>,
    ) -> Result<Object, AuthError> {
        let milliseconds = started.elapsed().as_millis() as u64;
        let answer = answer.and_then(understood);
        match &answer {
            Ok(_) => tracing::debug!(milliseconds, "the hook {} answered", self.name),
            Err(error) => tracing::warn!(milliseconds, "the hook {} failed: {error}", self.name),
        }
        answer
    }
}

fn metadata(context: &Context, name: &str) -> Value {
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

/// The object that the hook answered, unless it is an error of its own.
fn understood(answer: Option<Value>) -> Result<Object, AuthError> {
    let object = match answer {
        None | Some(Value::Null) => return Ok(Object::new()),
        Some(Value::Object(object)) => object,
        Some(other) => {
            return Err(AuthError::internal(
                "Error unmarshaling JSON output.",
                format!("a hook answered {} instead of an object", kind(&other)),
            ));
        }
    };
    match refusal(&object) {
        Some(error) => Err(error),
        None => Ok(object),
    }
}

/// `{"error":{"http_code":…,"message":…}}`; without a message it is none.
fn refusal(answer: &Object) -> Option<AuthError> {
    let error = answer.get("error")?.as_object()?;
    let message = error.get("message")?.as_str()?;
    if message.is_empty() {
        return None;
    }
    let asked = error.get("http_code").and_then(Value::as_u64);
    let status = asked
        .and_then(|status| u16::try_from(status).ok())
        .filter(|status| (400..=599).contains(status))
        .unwrap_or(500);
    let code = match status {
        500 => Code::UnexpectedFailure,
        _ => Code::Unknown,
    };
    Some(AuthError::new(status, code, message.to_owned()))
}

fn kind(value: &Value) -> &'static str {
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

    fn status_and_code(answer: Value) -> Option<(u16, Code, String)> {
        let error = understood(Some(answer)).err()?;
        Some((error.status().as_u16(), error.code(), error.to_string()))
    }

    #[test]
    fn a_hooks_error_is_the_answer() {
        let error =
            |http_code: Value| json!({ "error": { "http_code": http_code, "message": "no" } });
        let expected = |status, code| Some((status, code, "no".to_owned()));

        let teapot = status_and_code(error(json!(418)));
        assert_eq!(teapot, expected(418, Code::Unknown));
        for odd in [json!(null), json!(0), json!(200), json!(70_000), json!("x")] {
            let answer = status_and_code(error(odd));
            assert_eq!(answer, expected(500, Code::UnexpectedFailure));
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
