//! Pages that depend on the session.

use axum::Form;
use axum::extract::State;
use axum::response::{IntoResponse, Redirect, Response};
use http::StatusCode;
use plinth_session::{Session, SessionWriter};
use serde::Deserialize;
use serde_json::json;

use crate::{App, pages};

/// `GET /`: for everybody.
pub(crate) async fn home(State(app): State<App>, session: Option<Session>) -> Response {
    pages::home(session.as_ref(), &app.settings)
}

/// `GET /private`: for users. Others are redirected to the sign-in page and back.
pub(crate) async fn private(State(app): State<App>, session: Session) -> Response {
    pages::private(&session, &app.settings)
}

#[derive(Deserialize)]
pub(crate) struct Profile {
    bio: String,
}

/// `POST /profile`: the SDK changes the user, and the session in the cookies with it.
pub(crate) async fn change(
    _: Session,
    writer: SessionWriter,
    Form(profile): Form<Profile>,
) -> Response {
    let changed = async {
        let client = writer.client()?;
        let data = json!({ "bio": profile.bio });
        client.auth().update_user().data(&data).send().await?;
        // The access token contains user metadata; without a refresh it would be outdated for an hour.
        client.auth().refresh().await
    };
    match changed.await {
        Ok(_) => Redirect::to("/private").into_response(),
        Err(error) => (StatusCode::BAD_GATEWAY, error.to_string()).into_response(),
    }
}
