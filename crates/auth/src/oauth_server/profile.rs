//! The user's data for applications: ID tokens and `GET /oauth/userinfo`.

use axum::Json;
use serde_json::{Value, json};
use time::Duration;
use uuid::Uuid;

use super::{enabled::Enabled, scopes};
use crate::{
    AuthError,
    caller::UserOrApplication,
    model::{Object, User, oauth_authorizations::Authorization},
    request::RequestContext,
};

const ID_TOKEN_LIFETIME: Duration = Duration::hours(1);

/// An ID token for this application. Applications verify it with a public key, so the project needs
/// an asymmetric signing key.
pub(super) fn id_token(
    context: &RequestContext,
    user: &User,
    client: Uuid,
    authorization: &Authorization,
) -> Result<String, AuthError> {
    let keys = context.project.keys();
    let signer = keys.keyset.signer();
    if signer.is_none_or(|key| key.algorithm().is_symmetric()) {
        return Err(AuthError::oauth_invalid_request(
            "The scope openid needs an asymmetric signing key, and this project has none",
        ));
    }
    let claims = claims(context, user, client, authorization);
    let signed = keys.keyset.sign(&claims);
    signed.map_err(AuthError::signing_id_token_failed)
}

fn claims(
    context: &RequestContext,
    user: &User,
    client: Uuid,
    authorization: &Authorization,
) -> Object {
    let signed_in_at = user.last_sign_in_at.unwrap_or(context.now);
    let mut claims = object(json!({
        "iss": context.issuer(),
        "sub": user.id,
        "aud": client,
        "iat": context.now.unix_timestamp(),
        "exp": (context.now + ID_TOKEN_LIFETIME).unix_timestamp(),
        "auth_time": signed_in_at.unix_timestamp(),
        "client_id": client,
    }));
    if !authorization.nonce.is_empty() {
        claims.insert("nonce".to_owned(), authorization.nonce.as_str().into());
    }
    if scopes::has(&authorization.scope, "email") {
        put_contact(&mut claims, "email", &user.email, user.is_email_confirmed());
    }
    if scopes::has(&authorization.scope, "phone") {
        let is_confirmed = user.is_phone_confirmed();
        put_contact(&mut claims, "phone_number", &user.phone, is_confirmed);
    }
    if scopes::has(&authorization.scope, "profile") {
        claims.extend(profile_claims(user));
    }
    claims
}

/// `GET /oauth/userinfo`: the data that the session's scopes allow. Sessions without scopes get the
/// id only.
pub(crate) async fn userinfo(
    Enabled(_): Enabled,
    UserOrApplication(caller): UserOrApplication,
) -> Json<Value> {
    let user = &caller.user;
    let session = caller.session.as_ref();
    let scope = session.and_then(|session| session.scopes.as_deref());
    let has = |name| scope.is_some_and(|scope| scopes::has(scope, name));
    let mut info = object(json!({ "sub": user.id }));
    if has("email") {
        put_contact(&mut info, "email", &user.email, user.is_email_confirmed());
    }
    if has("profile") {
        info.extend(profile_claims(user));
        let metadata = Value::Object(user.user_metadata.clone());
        info.insert("user_metadata".to_owned(), metadata);
    }
    if has("phone") {
        put_contact(&mut info, "phone", &user.phone, user.is_phone_confirmed());
    }
    Json(Value::Object(info))
}

/// Inserts a contact and whether it is verified, if there is one.
fn put_contact(claims: &mut Object, name: &str, value: &str, is_confirmed: bool) {
    if !value.is_empty() {
        claims.insert(name.to_owned(), value.into());
        claims.insert(format!("{name}_verified"), is_confirmed.into());
    }
}

/// The claims of the scope `profile`.
fn profile_claims(user: &User) -> Object {
    let metadata_text = |keys: &[&str]| {
        let texts = keys
            .iter()
            .filter_map(|key| user.user_metadata.get(*key)?.as_str());
        let mut texts = texts.filter(|text| !text.is_empty());
        texts.next().map(str::to_owned)
    };
    let address = Some(user.email.clone()).filter(|email| !email.is_empty());
    let mut claims = Object::new();
    for (key, value) in [
        ("name", metadata_text(&["name"]).or(address)),
        ("picture", metadata_text(&["picture", "avatar_url"])),
        (
            "preferred_username",
            metadata_text(&["preferred_username", "username"]),
        ),
    ] {
        if let Some(value) = value {
            claims.insert(key.to_owned(), value.into());
        }
    }
    let updated_at = user.updated_at.unix_timestamp();
    claims.insert("updated_at".to_owned(), updated_at.into());
    claims
}

fn object(value: Value) -> Object {
    match value {
        Value::Object(object) => object,
        _ => Object::new(),
    }
}
