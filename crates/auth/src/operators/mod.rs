//! What operators do with users of a project, and what they try out of its settings (console contract
//! N90–N97): the auth service's side of [`UserAdministration`].
//!
//! The platform has checked who may do it, and writes its own audit log. Nothing here is reachable by
//! HTTP.

mod audit_log;
mod hook_test;
mod impersonation;
mod mail_test;
mod redirect_test;
mod search;
mod sessions;

use axum::{body::Body, extract::FromRequestParts};
use http::{HeaderValue, Request, header::USER_AGENT};
use plinth_project::{
    AdministrationError, Answer, AuditPage, AuditSearch, HookCalls, HookTest, HookTestResult,
    Impersonation, MailTest, MailTestResult, OperatorCall, RedirectTest, RedirectTestResult,
    RenderedTemplate, TemplatePreview, UserAdministration, UserDetails, UserObject, UserPage,
    UserSearch, UserSessions,
};
use serde_json::{Map, Value};
use uuid::Uuid;

use crate::{AuthError, AuthService, mail, model::UserBody, request::RequestContext};

type Outcome<T> = Result<T, AdministrationError>;

impl AuthService {
    /// The context that a request to the project's own URL would have.
    async fn context_of(&self, call: &OperatorCall) -> Outcome<RequestContext> {
        let mut request = Request::new(Body::empty());
        if let Ok(agent) = HeaderValue::from_str(&call.user_agent) {
            request.headers_mut().insert(USER_AGENT, agent);
        }
        let extensions = request.extensions_mut();
        extensions.insert(call.project.clone());
        extensions.insert(call.public_url.clone());
        if let Some(client) = call.client {
            extensions.insert(client);
        }
        let (mut parts, _) = request.into_parts();
        Ok(RequestContext::from_request_parts(&mut parts, self).await?)
    }
}

impl UserAdministration for AuthService {
    fn search<'a>(
        &'a self,
        call: &'a OperatorCall,
        search: &'a UserSearch,
    ) -> Answer<'a, UserPage> {
        Box::pin(async move { search::search(&self.context_of(call).await?, search).await })
    }

    fn details<'a>(&'a self, call: &'a OperatorCall, user: Uuid) -> Answer<'a, UserDetails> {
        Box::pin(async move { sessions::details(&self.context_of(call).await?, user).await })
    }

    fn sessions<'a>(&'a self, call: &'a OperatorCall, user: Uuid) -> Answer<'a, UserSessions> {
        Box::pin(async move { sessions::list(&self.context_of(call).await?, user).await })
    }

    fn end_sessions<'a>(
        &'a self,
        call: &'a OperatorCall,
        user: Uuid,
        session: Option<Uuid>,
    ) -> Answer<'a, u64> {
        Box::pin(async move {
            let context = self.context_of(call).await?;
            sessions::end(&context, &call.operator, user, session).await
        })
    }

    fn audit_log<'a>(
        &'a self,
        call: &'a OperatorCall,
        search: &'a AuditSearch,
    ) -> Answer<'a, AuditPage> {
        Box::pin(async move { audit_log::search(&self.context_of(call).await?, search).await })
    }

    fn claims<'a>(&'a self, call: &'a OperatorCall, user: Uuid) -> Answer<'a, Map<String, Value>> {
        Box::pin(async move {
            let context = self.context_of(call).await?;
            impersonation::claims_without_session(&context, &call.operator, user).await
        })
    }

    fn impersonate<'a>(
        &'a self,
        call: &'a OperatorCall,
        user: Uuid,
        reason: &'a str,
    ) -> Answer<'a, Impersonation> {
        Box::pin(async move {
            let context = self.context_of(call).await?;
            impersonation::begin(&context, &call.operator, user, reason).await
        })
    }

    fn test_mail<'a>(
        &'a self,
        call: &'a OperatorCall,
        test: &'a MailTest,
    ) -> Answer<'a, MailTestResult> {
        Box::pin(async move { mail_test::run(&self.context_of(call).await?, test).await })
    }

    fn preview_template<'a>(
        &'a self,
        call: &'a OperatorCall,
        preview: &'a TemplatePreview,
    ) -> Answer<'a, RenderedTemplate> {
        Box::pin(async move { mail::preview(&self.context_of(call).await?, preview).await })
    }

    fn test_redirect<'a>(
        &'a self,
        call: &'a OperatorCall,
        test: &'a RedirectTest,
    ) -> Answer<'a, RedirectTestResult> {
        Box::pin(async move { redirect_test::run(&self.context_of(call).await?, test) })
    }

    fn test_hook<'a>(
        &'a self,
        call: &'a OperatorCall,
        test: &'a HookTest,
    ) -> Answer<'a, HookTestResult> {
        Box::pin(async move { hook_test::run(&self.context_of(call).await?, test).await })
    }

    fn hook_calls<'a>(&'a self, call: &'a OperatorCall) -> Answer<'a, HookCalls> {
        Box::pin(async move {
            let context = self.context_of(call).await?;
            let calls = context.state.hook_calls.newest_first();
            Ok(HookCalls { calls })
        })
    }
}

/// The user as `/admin/users/{id}` shows it.
fn user_object(body: &UserBody) -> Outcome<UserObject> {
    match serde_json::to_value(body) {
        Ok(Value::Object(object)) => Ok(UserObject(object)),
        Ok(_) => Err(AdministrationError::Internal(
            "a user is no object".to_owned(),
        )),
        Err(error) => Err(AdministrationError::Internal(error.to_string())),
    }
}

fn no_user() -> AdministrationError {
    AdministrationError::NotFound("There is no such user".to_owned())
}

fn invalid(reason: impl Into<String>) -> AdministrationError {
    AdministrationError::Invalid(reason.into())
}

impl From<AuthError> for AdministrationError {
    /// Texts of the auth service are for clients, so they may be shown.
    fn from(error: AuthError) -> Self {
        match error.status().as_u16() {
            404 => Self::NotFound(error.to_string()),
            409 => Self::Conflict(error.to_string()),
            400..=499 => Self::Invalid(error.to_string()),
            _ => Self::Internal(match error.cause() {
                Some(cause) => format!("{error}: {cause}"),
                None => error.to_string(),
            }),
        }
    }
}
