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
    let problem = query.error.as_deref().map(problem_of);
    let next = query.next.as_deref().unwrap_or("/private");
    pages::sign_in(&app.settings, next, problem.as_deref())
}

/// Anybody can write an address: only what looks like a code is shown, and no sentence.
fn problem_of(code: &str) -> String {
    let is_code = |byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'_');
    if (1..=64).contains(&code.len()) && code.bytes().all(is_code) {
        format!("That did not work ({code}).")
    } else {
        "That did not work.".to_owned()
    }
}

#[derive(Deserialize)]
pub(crate) struct Credentials {
    email: String,
    password: String,
    next: Option<String>,
}

/// `POST /sign-in`: the SDK signs in, and its session goes into the cookies of the response.
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
        // The target comes from the URL, so it must be checked.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_problem_is_shown_by_its_code_and_not_by_text_from_the_url() {
        let check = |code: &str, expected: &str| assert_eq!(problem_of(code), expected);

        check("otp_expired", "That did not work (otp_expired).");
        for words in ["", "Call +1 555 0100", "<b>", &"a".repeat(65)] {
            check(words, "That did not work.");
        }
    }
}
