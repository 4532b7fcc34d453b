//! Extractors for axum handlers (A2).

mod client;
mod guard;

use axum::extract::{FromRequestParts, OptionalFromRequestParts, OriginalUri};
use http::{Method, Uri, header, request::Parts};
use url::form_urlencoded;

use crate::rejection::{Problem, SessionRejection};
use crate::request_context::RequestContext;
use crate::secrets_in_urls::path_without_secrets;
use crate::session::{Session, SessionState};
use crate::writer::SessionWriter;
pub use client::UserClient;
pub use guard::{RequireAal2, RequireRole, RoleName};

pub(crate) fn context(parts: &Parts) -> Result<RequestContext, SessionRejection> {
    let context = parts.extensions.get::<RequestContext>().cloned();
    context.ok_or(SessionRejection::new(Problem::NoLayer))
}

impl<S: Send + Sync> FromRequestParts<S> for Session {
    type Rejection = SessionRejection;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Self::Rejection> {
        let context = context(parts)?;
        match context.read_state() {
            SessionState::SignedIn(session) => Ok(session.clone()),
            SessionState::Unavailable => Err(SessionRejection::new(Problem::Unavailable)),
            SessionState::Anonymous => {
                let to = page_to_return_from(parts, context.config().sign_in_path.as_deref());
                Err(SessionRejection::or_redirect(Problem::SignedOut, to))
            }
        }
    }
}

impl<S: Send + Sync> OptionalFromRequestParts<S> for Session {
    type Rejection = SessionRejection;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Option<Self>, Self::Rejection> {
        Ok(context(parts)?.read_state().session().cloned())
    }
}

impl<S: Send + Sync> FromRequestParts<S> for SessionState {
    type Rejection = SessionRejection;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Self::Rejection> {
        Ok(context(parts)?.read_state().clone())
    }
}

impl<S: Send + Sync> FromRequestParts<S> for SessionWriter {
    type Rejection = SessionRejection;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Self::Rejection> {
        let context = context(parts)?;
        if context.is_bearer() {
            return Err(SessionRejection::new(Problem::BearerRequest));
        }
        // Also for signed-out requests: no other page may sign a user in (login CSRF).
        if !context.is_allowed_origin() {
            crate::metrics::csrf_rejected();
            return Err(SessionRejection::new(Problem::Csrf));
        }
        Ok(SessionWriter::new(context))
    }
}

/// The redirect target for page views, with a way back to this page. `None` for scripts, which get a status
/// instead.
pub(crate) fn page_to_return_from(parts: &Parts, path: Option<&str>) -> Option<String> {
    let accepts_html = parts.headers.get_all(header::ACCEPT).iter().any(|accept| {
        let accept = accept.to_str().unwrap_or_default();
        accept
            .split(',')
            .any(|media| media.trim_start().starts_with("text/html"))
    });
    let path = path.filter(|_| parts.method == Method::GET && accepts_html)?;
    let here = parts
        .extensions
        .get::<OriginalUri>()
        .map_or(&parts.uri, |OriginalUri(uri)| uri);
    Some(with_next(path, here))
}

fn with_next(path: &str, here: &Uri) -> String {
    let next = path_without_secrets(here);
    let separator = if path.contains('?') { '&' } else { '?' };
    let next: String = form_urlencoded::byte_serialize(next.as_bytes()).collect();
    format!("{path}{separator}next={next}")
}

#[cfg(test)]
mod tests {
    use http::Request;

    use super::*;

    fn target(method: &str, uri: &str, accept: &str) -> Option<String> {
        let request = Request::builder()
            .method(method)
            .uri(uri)
            .header("accept", accept);
        let (parts, ()) = request.body(()).unwrap().into_parts();
        page_to_return_from(&parts, Some("/sign-in"))
    }

    #[test]
    fn only_page_views_are_redirected() {
        let html = "text/html,application/xhtml+xml,*/*;q=0.8";

        let expected = Some("/sign-in?next=%2Forders%3Fpage%3D2".to_owned());
        assert_eq!(target("GET", "/orders?page=2", html), expected);
        assert_eq!(target("POST", "/orders", html), None);
        assert_eq!(target("GET", "/orders", "application/json"), None);
        assert_eq!(target("GET", "/orders", "*/*"), None);
    }

    #[test]
    fn secrets_are_removed_from_the_return_path() {
        let html = "text/html";

        let expected = Some("/sign-in?next=%2Fprivate%3Fa%3Db".to_owned());
        assert_eq!(target("GET", "/private?code=x&a=b", html), expected);
    }

    #[test]
    fn a_path_with_a_query_keeps_it() {
        let here = Uri::from_static("/a");
        assert_eq!(
            with_next("/sign-in?lang=de", &here),
            "/sign-in?lang=de&next=%2Fa"
        );
    }
}
