//! Claims of access tokens (auth contract §3.1).

use serde_json::{Value, json};

use crate::{
    model::{
        Object, Session, User,
        sessions::{Aal, AmrClaim},
        subject::Subject,
    },
    request::RequestContext,
};

/// The claims for a session and its user.
pub(crate) fn claims(context: &RequestContext, subject: &Subject, session: &Session) -> Object {
    let Subject {
        user,
        relations,
        amr,
    } = subject;
    let config = &context.config;
    let mut expires_at = context.now + config.jwt.lifetime;
    if let Some(allowed) = config.sessions.allow_low_aal
        && relations.has_verified_factor()
        && session.aal == Aal::Aal1
    {
        expires_at = expires_at.min(session.created_at + allowed);
    }
    let mut claims = json!({
        "sub": user.id,
        "aud": user.aud,
        "exp": expires_at.unix_timestamp(),
        "iat": context.now.unix_timestamp(),
        "email": user.email,
        "phone": user.phone,
        "app_metadata": user.app_metadata,
        "user_metadata": user.user_metadata,
        "role": user.role,
        "aal": session.aal.as_str(),
        "amr": amr.iter().map(|claim| amr_entry(claim, user)).collect::<Vec<_>>(),
        "session_id": session.id,
        "is_anonymous": user.is_anonymous,
    });
    if let Some(issuer) = context.token_issuer() {
        claims["iss"] = json!(issuer);
    }
    if let Some(client) = session.oauth_client_id {
        claims["client_id"] = json!(client);
    }
    if let Some(scopes) = &session.scopes {
        claims["scope"] = json!(scopes);
    }
    let Value::Object(claims) = claims else {
        unreachable!("the macro was given an object");
    };
    claims
}

fn amr_entry(claim: &AmrClaim, user: &User) -> Value {
    let mut entry = json!({ "method": claim.method, "timestamp": claim.at.unix_timestamp() });
    // The SSO provider.
    if claim.method == "sso/saml"
        && let Some(Value::String(provider)) = user.app_metadata.get("provider")
        && let Some(id) = provider.strip_prefix("sso:")
    {
        entry["provider"] = json!(id);
    }
    entry
}
