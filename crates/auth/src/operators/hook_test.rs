//! A hook that is called with a sample (console contract N95).

use std::time::Instant;

use plinth_project::{AdministrationError, HookError, HookTest, HookTestResult};
use plinth_token::Secret;
use serde_json::Value;

use super::{Outcome, invalid};
use crate::{
    config::Hook,
    hooks::{TrialHook, try_out},
    request::RequestContext,
};

pub(super) async fn run(context: &RequestContext, test: &HookTest) -> Outcome<HookTestResult> {
    let mut all = TrialHook::ALL.into_iter();
    let kind = all.find(|kind| kind.name() == test.hook).ok_or_else(|| {
        let names = TrialHook::ALL.map(TrialHook::name).join(", ");
        invalid(format!("hook: {:?} is none of {names}", test.hook))
    })?;
    let given = test.uri.as_deref().map(|uri| {
        let secrets = test.secrets.as_deref().map(Secret::new);
        Hook::parse(uri.trim(), secrets.as_ref())
            .map_err(|problem| invalid(format!("uri: {problem}")))
    });
    let given = given.transpose()?;
    let saved = kind.saved(&context.config.hooks);
    let hook = given.as_ref().or(saved).ok_or_else(|| {
        AdministrationError::Conflict(format!(
            "The hook {} is off; name an address to try it out",
            kind.name()
        ))
    })?;
    let started = Instant::now();
    let trial = try_out(context, kind, hook, test.payload.clone()).await;
    let milliseconds = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
    let (response, error) = match trial.response {
        Ok(response) => (Some(Value::Object(response)), None),
        Err(error) => {
            let reported = HookError {
                status: error.status().as_u16(),
                message: error.to_string(),
                cause: error.cause().map(str::to_owned),
            };
            (None, Some(reported))
        }
    };
    Ok(HookTestResult {
        is_ok: error.is_none(),
        milliseconds,
        payload: trial.payload,
        response,
        error,
    })
}
