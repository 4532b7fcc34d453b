//! Settings of auth that are tried out: mail server, templates, redirects, hooks.

use axum::Json;
use plinth_project::{
    HookCalls, HookTest, HookTestResult, MailDelivery, MailTest, MailTestResult, RedirectTest,
    RedirectTestResult, RenderedTemplate, TemplatePreview,
};
use serde::Serialize;

use super::Administration;
use crate::{PlatformError, api::body::Body};

#[derive(Serialize)]
struct AuditedMail<'a> {
    to: &'a str,
    /// The server that was tried out, if it is not the saved one.
    host: Option<&'a str>,
    delivery: MailDelivery,
    is_delivered: bool,
}

#[derive(Serialize)]
struct AuditedHook<'a> {
    hook: &'a str,
    uri: Option<&'a str>,
    is_ok: bool,
}

/// `POST …/auth/mail/test`
pub(in crate::api) async fn mail(
    administration: Administration,
    Body(test): Body<MailTest>,
) -> Result<Json<MailTestResult>, PlatformError> {
    let users = administration.platform.users()?;
    let result = users.test_mail(&administration.call, &test).await?;
    let details = AuditedMail {
        to: &test.to,
        host: test.smtp.as_ref().map(|smtp| smtp.host.as_str()),
        delivery: result.delivery,
        is_delivered: result.is_delivered,
    };
    administration.audit("auth.mail.test", &details).await;
    Ok(Json(result))
}

/// `POST …/auth/templates/preview`
pub(in crate::api) async fn template(
    administration: Administration,
    Body(preview): Body<TemplatePreview>,
) -> Result<Json<RenderedTemplate>, PlatformError> {
    let users = administration.platform.users()?;
    let rendered = users.preview_template(&administration.call, &preview);
    Ok(Json(rendered.await?))
}

/// `POST …/auth/redirect-test`
pub(in crate::api) async fn redirect(
    administration: Administration,
    Body(test): Body<RedirectTest>,
) -> Result<Json<RedirectTestResult>, PlatformError> {
    let users = administration.platform.users()?;
    Ok(Json(
        users.test_redirect(&administration.call, &test).await?,
    ))
}

/// `POST …/auth/hooks/test`
pub(in crate::api) async fn hook(
    administration: Administration,
    Body(test): Body<HookTest>,
) -> Result<Json<HookTestResult>, PlatformError> {
    let users = administration.platform.users()?;
    let result = users.test_hook(&administration.call, &test).await?;
    let details = AuditedHook {
        hook: &test.hook,
        uri: test.uri.as_deref(),
        is_ok: result.is_ok,
    };
    administration.audit("auth.hook.test", &details).await;
    Ok(Json(result))
}

/// `GET …/auth/hooks/calls`
pub(in crate::api) async fn hook_calls(
    administration: Administration,
) -> Result<Json<HookCalls>, PlatformError> {
    let users = administration.platform.users()?;
    Ok(Json(users.hook_calls(&administration.call).await?))
}
