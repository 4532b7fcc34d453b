//! Signing in. Signing out, and coming back from a provider, are ready handlers of the layer.

use axum::Form;
use axum::extract::{Path, Query, State};
use axum::response::{IntoResponse, Redirect, Response};
use plinth_client::auth::Provider;
use plinth_session::{SessionWriter, checked_next};
use serde::Deserialize;

use crate::{App, pages};

#[derive(Deserialize)]
pub(crate) struct SignInPage {
    next: Option<String>,
    error: Option<String>,
}

/// `GET /sign-in`
pub(crate) async fn page(State(app): State<App>, Query(query): Query<SignInPage>) -> Response {
    let problem = query
        .error
        .as_ref()
        .map(|code| format!("That did not work ({code})."));
    let next = query.next.as_deref().unwrap_or("/private");
    pages::sign_in(&app.settings, next, problem.as_deref())
}

#[derive(Deserialize)]
pub(crate) struct Credentials {
    email: String,
    password: String,
    next: Option<String>,
}

/// `POST /sign-in`: the SDK signs in, and its session goes into the cookies of the answer.
pub(crate) async fn with_password(
    State(app): State<App>,
    writer: SessionWriter,
    Form(credentials): Form<Credentials>,
) -> Response {
    let next = credentials.next.as_deref().unwrap_or("/private");
    let signed_in = async {
        let client = writer.client()?;
        let request = client.auth().sign_in_with_password();
        request
            .email(&credentials.email)
            .password(&credentials.password)
            .send()
            .await
    };
    match signed_in.await {
        // Whoever made the link to the sign-in page chose where it leads.
        Ok(_) => Redirect::to(checked_next(next, &[])).into_response(),
        Err(error) => pages::sign_in(&app.settings, next, Some(&error.to_string())),
    }
}

/// `POST /sign-in/{provider}`: to the provider, which sends the person to `/auth/callback`.
pub(crate) async fn with_provider(
    State(app): State<App>,
    Path(provider): Path<String>,
    writer: SessionWriter,
) -> Response {
    let begun = async {
        let client = writer.client()?;
        let request = client.auth().sign_in_with_oauth(Provider::Other(provider));
        let back = format!("{}/auth/callback?next=/private", app.settings.public_url);
        request.redirect_to(back).scopes("openid").build().await
    };
    match begun.await {
        Ok(start) => Redirect::to(&start.url).into_response(),
        Err(error) => pages::sign_in(&app.settings, "/private", Some(&error.to_string())),
    }
}
