//! Providers that share a linking domain of their own (auth contract §5.1).

use serde_json::json;

use super::{idp::Idp, providers, sign_in, start_with};
use crate::support::Sql;

fn gitlab(idp: &Idp, email: &str) {
    let now = "2026-01-01T00:00:00Z";
    idp.set_response("/oauth/token", json!({ "access_token": "g" }))
        .set_response(
            "/api/v4/user",
            json!({ "id": 3, "email": email, "name": "Ann", "confirmed_at": now }),
        )
        .set_response("/api/v4/user/emails", json!([]));
}

fn spotify(idp: &Idp, email: &str) {
    idp.set_response("/api/token", json!({ "access_token": "s" }))
        .set_response("/me", json!({ "id": "s1", "email": email }));
}

#[tokio::test]
async fn equal_addresses_mean_one_user_within_a_domain_and_none_outside() {
    let (github, gitlab_idp, spotify_idp) =
        (Idp::start().await, Idp::start().await, Idp::start().await);
    let idps = [
        ("github", &github),
        ("gitlab", &gitlab_idp),
        ("spotify", &spotify_idp),
    ];
    let domains = (
        "plinth.auth.external.linking_domains",
        "github=work,gitlab=work",
    );
    let api = start_with(&idps, &[domains]).await;
    let private = api.sign_up("ann@mail.dev", "correct horse").await;
    github.github(7, "ann@mail.dev", true);
    gitlab(&gitlab_idp, "ann@mail.dev");
    spotify(&spotify_idp, "ann@mail.dev");

    let (_, by_github) = sign_in(&api, "github").await;
    let (_, by_gitlab) = sign_in(&api, "gitlab").await;
    let (_, by_spotify) = sign_in(&api, "spotify").await;

    assert_ne!(by_github["id"], private["user"]["id"]);
    assert_eq!(by_gitlab["id"], by_github["id"]);
    assert_eq!(providers(&by_gitlab), json!(["github", "gitlab"]));
    assert_eq!(by_spotify["id"], private["user"]["id"]);
    assert_eq!(providers(&by_spotify), json!(["email", "spotify"]));
    let apart = "select count(*) from auth.users where is_sso_user";
    assert_eq!(api.count(apart).await, 1);
}
