//! `POST /auth/sign-out`, with an optional form: `scope` (`global`, `local`, `others`) and `next`.

use axum::Extension;
use axum::body::Bytes;
use axum::response::Response;
use http::StatusCode;
use plinth_client::auth::Scope;
use url::form_urlencoded;

use super::{Failure, redirect_to_next};
use crate::request_context::RequestContext;
use crate::writer::SessionWriter;

pub(super) async fn sign_out(
    Extension(context): Extension<RequestContext>,
    writer: SessionWriter,
    body: Bytes,
) -> Response {
    let field = |wanted: &str| {
        let mut fields = form_urlencoded::parse(&body);
        fields
            .find(|(name, _)| name == wanted)
            .map(|(_, value)| value.into_owned())
    };
    let scope = match field("scope").as_deref() {
        None | Some("global") => Scope::Global,
        Some("local") => Scope::Local,
        Some("others") => Scope::Others,
        Some(_) => {
            let failure = Failure::new(StatusCode::BAD_REQUEST, "validation_failed");
            return failure.into_response(context.config());
        }
    };
    match writer.sign_out(scope).await {
        Ok(()) => redirect_to_next(field("next").as_deref(), context.config()),
        // This browser is signed out, which is what the user asked for.
        Err(_) if scope == Scope::Local => {
            redirect_to_next(field("next").as_deref(), context.config())
        }
        Err(error) => Failure::from(error).into_response(context.config()),
    }
}
