//! Checking tokens of the real service.

use plinth_client::AuthError;

use crate::support::Live;

#[tokio::test]
async fn claims_are_proven_by_the_published_key() {
    let live = Live::start().await;
    let client = live.signed_up("ada@example.com").await;

    let claims = client.auth().claims().await.unwrap().unwrap();

    assert_eq!(claims.role(), Some("authenticated"));
    assert_eq!(claims.aal(), Some("aal1"));
    assert_eq!(claims.email(), Some("ada@example.com"));
    assert_eq!(
        claims.get("iss").unwrap(),
        &format!("{}/auth/v1", live.url())
    );
    assert!(claims.session_id().is_some());
}

#[tokio::test]
async fn a_token_of_another_project_is_rejected() {
    let (here, there) = (Live::start().await, Live::start().await);
    let foreign = there.signed_up("eve@example.com").await;
    let token = foreign.auth().session().await.unwrap().unwrap();

    let client = here.client();
    let error = client
        .auth()
        .claims_for(token.access_token())
        .send()
        .await
        .unwrap_err();

    // Its key is not published here, so the server was asked, and does not know it either.
    assert!(
        matches!(error, AuthError::Api { status: 403, .. }),
        "{error:?}"
    );
}
