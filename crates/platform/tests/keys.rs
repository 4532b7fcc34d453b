//! Keys and tokens as requests meet them.

mod support;

use std::time::Duration;

use plinth_platform::{ApiKeyRequest, ConfiguredKeys, PlatformError, S3CredentialRequest};
use plinth_project::{CallerError, ProjectName};
use plinth_token::{ApiKeyKind, KeyStatus, Secret, TokenError};
use serde_json::json;
use support::{TestPlatform, now};

fn user_claims() -> serde_json::Value {
    json!({ "sub": "00000000-0000-0000-0000-000000000001", "role": "authenticated", "exp": now() + 60 })
}

async fn refresh(app: &TestPlatform, name: &ProjectName) {
    let reference = app
        .platform
        .load_project(name)
        .await
        .expect("a project")
        .reference;
    app.registry.refresh(&reference).await;
}

#[tokio::test]
async fn every_kind_of_key_gives_its_role() {
    let app = TestPlatform::start().await;
    let project = app.open(&ProjectName::Default).await;
    let legacy = app
        .platform
        .legacy_keys(&ProjectName::Default)
        .await
        .expect("legacy keys");
    let keys = app
        .platform
        .list_api_keys(&ProjectName::Default)
        .await
        .expect("API keys");

    for key in keys {
        let caller = TestPlatform::caller(&project, key.value.expose()).expect("a caller");
        assert_eq!(caller.role(), key.kind.role());
    }
    let anon = TestPlatform::caller(&project, legacy.anon.expose()).expect("a caller");
    assert_eq!(anon.role(), "anon");
    let service = TestPlatform::caller(&project, legacy.service_role.expose()).expect("a caller");
    assert_eq!(service.role(), "service_role");
    let token = project.keys().keyset.sign(&user_claims()).expect("a token");
    let user = TestPlatform::caller(&project, &token).expect("a caller");
    assert_eq!(user.role(), "authenticated");
    assert_eq!(
        user.token()
            .and_then(|token| token.algorithm().name().into()),
        Some("ES256")
    );
}

#[tokio::test]
async fn bad_tokens_are_distinguished() {
    let app = TestPlatform::start().await;
    let project = app.open(&ProjectName::Default).await;
    let other = app.open(&app.project("Other").await).await;
    let foreign = other.keys().keyset.sign(&user_claims()).expect("a token");
    let expired = json!({ "role": "authenticated", "exp": now() - 3600 });
    let expired = project.keys().keyset.sign(&expired).expect("a token");
    let none = "eyJhbGciOiJub25lIiwidHlwIjoiSldUIn0.eyJyb2xlIjoic2VydmljZV9yb2xlIn0.";

    let result = |bearer: &str| TestPlatform::caller(&project, bearer).expect_err("rejected");

    assert!(matches!(
        result(&foreign),
        CallerError::Token(TokenError::NoSuitableKey { .. })
    ));
    assert_eq!(result(&expired), CallerError::Token(TokenError::Expired));
    assert!(matches!(
        result(none),
        CallerError::Token(TokenError::WrongAlgorithm(_))
    ));
    assert_eq!(result("sb_secret_unknown"), CallerError::UnknownApiKey);
    assert!(matches!(
        result("garbage"),
        CallerError::Token(TokenError::NotThreeParts(1))
    ));
    assert_eq!(result(""), CallerError::Token(TokenError::Empty));
    let foreign_key = app
        .platform
        .legacy_keys(&ProjectName::Ref(other.reference().clone()))
        .await;
    let foreign_key = foreign_key.expect("keys").service_role;
    assert!(
        TestPlatform::caller(&project, foreign_key.expose()).is_err(),
        "keys of another project"
    );
}

#[tokio::test]
async fn a_revoked_key_is_rejected() {
    let app = TestPlatform::start().await;
    let project = app.open(&ProjectName::Default).await;
    let request = ApiKeyRequest {
        kind: ApiKeyKind::Secret,
        name: "mobile".to_owned(),
        description: None,
    };
    let key = app
        .platform
        .create_api_key(&ProjectName::Default, &request)
        .await
        .expect("a key");
    refresh(&app, &ProjectName::Default).await;
    assert!(TestPlatform::caller(&project, key.value.expose()).is_ok());

    app.platform
        .revoke_api_key(&ProjectName::Default, "mobile", Duration::ZERO)
        .await
        .expect("revoked");
    refresh(&app, &ProjectName::Default).await;

    let rejected = TestPlatform::caller(&project, key.value.expose()).expect_err("rejected");
    assert_eq!(rejected, CallerError::UnknownApiKey);
}

#[tokio::test]
async fn a_rotated_key_lives_on_for_its_grace() {
    let app = TestPlatform::start().await;
    let project = app.open(&ProjectName::Default).await;
    let name = ProjectName::Default;
    let old = app
        .platform
        .load_api_key(&name, "secret/default")
        .await
        .expect("a key");

    let new = app
        .platform
        .rotate_api_key(&name, "secret/default", Duration::from_secs(60))
        .await;
    let new = new.expect("a new key");
    refresh(&app, &name).await;

    assert_ne!(old.value, new.value);
    for key in [&old, &new] {
        assert!(TestPlatform::caller(&project, key.value.expose()).is_ok());
    }
}

#[tokio::test]
async fn rotating_the_signing_key_ends_no_session() {
    let app = TestPlatform::start().await;
    let name = ProjectName::Default;
    let project = app.open(&name).await;
    let old_token = project.keys().keyset.sign(&user_claims()).expect("a token");
    let published = |project: &plinth_project::Project| {
        project.keys().keyset.jwks()["keys"]
            .as_array()
            .map_or(0, Vec::len)
    };
    assert_eq!(published(&project), 2, "the waiting key is published ahead");

    app.platform
        .rotate_signing_key(&name)
        .await
        .expect("rotated");
    refresh(&app, &name).await;

    let new_token = project.keys().keyset.sign(&user_claims()).expect("a token");
    assert_ne!(
        old_token.split('.').next(),
        new_token.split('.').next(),
        "another kid signs"
    );
    for token in [&old_token, &new_token] {
        assert!(TestPlatform::caller(&project, token).is_ok());
    }
    assert_eq!(published(&project), 3);

    let keys = app.platform.list_signing_keys(&name).await.expect("keys");
    let previous = keys
        .iter()
        .find(|key| key.status == KeyStatus::PreviouslyUsed)
        .expect("one");
    app.platform
        .set_signing_key_status(&name, previous.id, KeyStatus::Revoked)
        .await
        .expect("revoked");
    refresh(&app, &name).await;
    assert!(
        TestPlatform::caller(&project, &old_token).is_err(),
        "revoking ends its tokens"
    );
    assert!(TestPlatform::caller(&project, &new_token).is_ok());
    let in_use = keys
        .iter()
        .find(|key| key.status == KeyStatus::InUse)
        .expect("one");
    let rejected = app
        .platform
        .set_signing_key_status(&name, in_use.id, KeyStatus::Revoked)
        .await;
    assert!(rejected.is_err(), "the key in use can only be replaced");
}

#[tokio::test]
async fn legacy_keys_can_be_switched_off_and_rotated() {
    let app = TestPlatform::start().await;
    let name = ProjectName::Default;
    let project = app.open(&name).await;
    let keys = app.platform.legacy_keys(&name).await.expect("keys");

    app.platform
        .set_legacy_enabled(&name, false)
        .await
        .expect("off");
    refresh(&app, &name).await;
    let rejected = TestPlatform::caller(&project, keys.anon.expose()).expect_err("rejected");
    assert_eq!(rejected, CallerError::LegacyKeyDisabled);

    app.platform
        .set_legacy_enabled(&name, true)
        .await
        .expect("on");
    let rotated = app.platform.rotate_legacy(&name).await.expect("rotated");
    refresh(&app, &name).await;
    assert!(TestPlatform::caller(&project, keys.anon.expose()).is_err());
    assert!(TestPlatform::caller(&project, rotated.anon.expose()).is_ok());
}

#[tokio::test]
async fn configured_keys_are_used_unchanged() {
    let configured = ConfiguredKeys {
        jwt_secret: Some(Secret::new(
            "super-secret-jwt-token-with-at-least-32-characters-long",
        )),
        publishable_key: Some(Secret::new("sb_publishable_mine")),
        secret_key: Some(Secret::new("not-even-of-our-form")),
        ..ConfiguredKeys::default()
    };
    let app = TestPlatform::start_with(configured).await;
    let project = app.open(&ProjectName::Default).await;
    // Signed with that secret by another tool.
    let anon = "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJpc3MiOiJzdXBhYmFzZS1kZW1vIiwicm9sZSI6ImFub24i\
                LCJleHAiOjE5ODM4MTI5OTZ9.CRXP1A7WOeoJeXxjNni43kdQwgnWNReilDMblYTn_I0";

    let role = |bearer: &str| {
        TestPlatform::caller(&project, bearer).map(|caller| caller.role().to_owned())
    };

    assert_eq!(role(anon), Ok("anon".to_owned()));
    assert_eq!(role("sb_publishable_mine"), Ok("anon".to_owned()));
    assert_eq!(role("not-even-of-our-form"), Ok("service_role".to_owned()));
    let status = app
        .platform
        .status(&ProjectName::Default)
        .await
        .expect("a status");
    assert_eq!(status.get("PUBLISHABLE_KEY"), Some("sb_publishable_mine"));
}

#[tokio::test]
async fn secrets_stand_sealed_in_the_tables() {
    let app = TestPlatform::start().await;
    let legacy = app
        .platform
        .legacy_keys(&ProjectName::Default)
        .await
        .expect("keys");
    let key = app
        .platform
        .load_api_key(&ProjectName::Default, "secret/default")
        .await
        .expect("a key");
    let zero = plinth_testkit::TestServer::shared().await.admin();
    let zero = zero.database(app.platform.references().platform.as_str());
    let client = zero.connect().await.expect("project zero");

    let dump: String = client
        .query_one(
            "select (select string_agg(p::text, ' ') from platform.projects p)
                 || (select string_agg(k::text, ' ') from platform.api_keys k)
                 || (select string_agg(s::text, ' ') from platform.signing_keys s)",
            &[],
        )
        .await
        .expect("everything")
        .get(0);

    assert!(!dump.contains(legacy.jwt_secret.expose()));
    assert!(!dump.contains(key.value.expose()));
    assert!(!dump.contains("\"d\""), "no private part of a key");
}

#[tokio::test]
async fn a_rotation_that_fails_half_way_leaves_the_old_key() {
    let app = TestPlatform::start().await;
    let name = app.project("Shop").await;
    let before = app.platform.list_api_keys(&name).await.expect("keys");
    let zero = plinth_testkit::TestServer::shared()
        .await
        .admin()
        .database(app.platform.references().platform.as_str());
    let zero = zero.connect().await.expect("project zero");
    zero.batch_execute(
        "create function platform.refuse() returns trigger language plpgsql as
         'begin raise exception ''not now''; end'",
    )
    .await
    .expect("a function");

    for half in ["insert", "update"] {
        zero.batch_execute(&format!(
            "create or replace trigger refuse after {half} on platform.api_keys
             for each row execute function platform.refuse()"
        ))
        .await
        .expect("a trigger");
        let rotated = app
            .platform
            .rotate_api_key(&name, "secret/default", Duration::ZERO)
            .await;
        assert!(rotated.is_err(), "{half}");
        let after = app.platform.list_api_keys(&name).await.expect("keys");
        let facts = |keys: &[plinth_platform::StoredApiKey]| -> Vec<_> {
            let fact = |key: &plinth_platform::StoredApiKey| (key.id, key.revoked_at.is_some());
            keys.iter().map(fact).collect()
        };
        assert_eq!(facts(&after), facts(&before), "{half}");
    }
}

#[tokio::test]
async fn every_project_starts_with_a_pair_for_s3_clients_and_may_have_fifty() {
    let app = TestPlatform::start().await;
    let name = app.project("shop").await;
    let first = app
        .platform
        .list_s3_credentials(&name)
        .await
        .expect("pairs");
    let [first] = first.as_slice() else {
        panic!("{} pairs", first.len());
    };
    let is_hex = |text: &str| text.bytes().all(|byte| byte.is_ascii_hexdigit());
    assert!(first.access_key.len() == 32 && is_hex(&first.access_key));
    assert!(first.secret_key.expose().len() == 64 && is_hex(first.secret_key.expose()));
    let status = app.platform.status(&name).await.expect("a status");
    assert_eq!(
        status.get("S3_PROTOCOL_ACCESS_KEY_ID"),
        Some(first.access_key.as_str())
    );
    let shown = status.get("S3_PROTOCOL_ACCESS_KEY_SECRET");
    assert_eq!(shown, Some(first.secret_key.expose()));
    assert_eq!(status.get("S3_PROTOCOL_REGION"), Some("local"));
    assert!(
        status
            .get("STORAGE_S3_URL")
            .is_some_and(|url| url.ends_with("/storage/v1/s3"))
    );

    let request = |claims: serde_json::Value| S3CredentialRequest {
        description: "backup".to_owned(),
        claims: claims.as_object().cloned().expect("an object"),
    };
    let user = request(json!({ "role": "authenticated", "sub": "u1", "exp": 1 }));
    let made = app
        .platform
        .create_s3_credential(&name, &user)
        .await
        .expect("a pair");
    refresh(&app, &name).await;
    let keys = app.open(&name).await.keys();
    let pair = &keys.s3.pairs[&made.access_key];
    assert_eq!(
        (&*pair.role, pair.sub.as_deref()),
        ("authenticated", Some("u1"))
    );
    assert!(!pair.claims.contains("exp"));
    assert_eq!(
        keys.s3.pairs[&first.access_key].role.as_ref(),
        "service_role"
    );

    for _ in 2..50 {
        let pair = request(json!({}));
        app.platform
            .create_s3_credential(&name, &pair)
            .await
            .expect("a pair");
    }
    let one_more = app
        .platform
        .create_s3_credential(&name, &request(json!({})))
        .await;
    assert!(matches!(one_more, Err(PlatformError::Invalid(_))));

    app.platform
        .delete_s3_credential(&name, made.id)
        .await
        .expect("gone");
    refresh(&app, &name).await;
    assert!(
        !app.open(&name)
            .await
            .keys()
            .s3
            .pairs
            .contains_key(&made.access_key)
    );
    let again = app.platform.delete_s3_credential(&name, made.id).await;
    assert!(matches!(again, Err(PlatformError::NotFound(_))));
}
