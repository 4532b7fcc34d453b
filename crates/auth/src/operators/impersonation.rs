//! Tokens in place of a user (console contract N92).
//!
//! They are marked with [`IMPERSONATION_CLAIM`], which no hook can remove. `caller.rs` rejects them
//! wherever the account would change. The session has no refresh token and a tag of its own, so that it
//! ends no session of the user where a project allows one per user; it is no sign-in of the user.

use plinth_project::{AdministrationError, IMPERSONATION_CLAIM, Impersonation};
use serde_json::{Map, Value, json};
use time::Duration;
use url::form_urlencoded;
use uuid::Uuid;

use super::{Outcome, no_user, user_object};
use crate::{
    AuthError,
    audit::{self, Action, ByOperator},
    hooks,
    model::{
        Session, User, UserBody,
        sessions::{self, Aal, NewSession},
        subject::Subject,
        users,
    },
    request::RequestContext,
    sessions::claims,
};

/// Tag of such a session.
pub(super) const TAG: &str = "plinth_impersonation";
/// How hooks, and `amr`, call it.
const METHOD: &str = "impersonation";
const LIFETIME: Duration = Duration::minutes(15);

/// Starts a session.
pub(super) async fn begin(
    context: &RequestContext,
    operator: &str,
    user: Uuid,
    reason: &str,
) -> Outcome<Impersonation> {
    let mut db = context.begin().await?;
    let user = users::lock(&mut db, user).await?.ok_or_else(no_user)?;
    check_usable(context, &user)?;
    let id = crate::random::uuid();
    let new = NewSession {
        id,
        user: user.id,
        method: METHOD,
        not_after: Some(context.now + LIFETIME),
        user_agent: &context.client.user_agent,
        ip: context.client.ip,
        tag: Some(TAG),
        oauth_client_id: None,
        scopes: None,
    };
    let session = sessions::insert(&mut db, &new, context.now).await?;
    let subject = Subject::load(&mut db, user, session.id).await?;
    let mut claims = claims(context, &subject, &session);
    claims.insert("exp".to_owned(), expiry(context).into());
    let user_id = subject.user.id;
    let claims = hooks::custom_access_token(context, &mut db, user_id, claims, METHOD).await?;
    let claims = marked(context, claims, operator, &subject.user, Some(session.id));
    let traits = json!({
        "user_id": user_id, "session_id": session.id, "reason": reason,
    });
    let actor = ByOperator(operator);
    audit::write(context, &mut db, &actor, Action::UserImpersonated, traits).await?;
    db.commit().await?;

    let signed = context.project.keys().keyset.sign(&claims);
    let access_token = signed.map_err(AuthError::signing_token_failed)?;
    // Clients insist on one. None is stored, so it cannot be exchanged.
    let refresh_token = crate::random::short_token();
    let body = UserBody::with_relations(subject.user, subject.relations);
    Ok(Impersonation {
        url: url(context, &access_token, &refresh_token),
        access_token,
        token_type: "bearer".to_owned(),
        expires_in: LIFETIME.whole_seconds(),
        expires_at: expiry(context),
        refresh_token,
        session_id: session.id.to_string(),
        user: user_object(&body)?,
    })
}

/// The claims of a token without a session, for one call of a service.
pub(super) async fn claims_without_session(
    context: &RequestContext,
    operator: &str,
    user: Uuid,
) -> Outcome<Map<String, Value>> {
    let mut db = context.begin().await?;
    let user = users::find(&mut db, user).await?.ok_or_else(no_user)?;
    check_usable(context, &user)?;
    let session = imagined_session(context, &user);
    let subject = Subject::load(&mut db, user, session.id).await?;
    let claims = claims(context, &subject, &session);
    let claims =
        hooks::custom_access_token(context, &mut db, subject.user.id, claims, METHOD).await?;
    db.commit().await?;
    let mut claims = marked(context, claims, operator, &subject.user, None);
    claims.remove("exp");
    Ok(claims)
}

/// Hooks expect every claim of a sign-in.
fn imagined_session(context: &RequestContext, user: &User) -> Session {
    Session {
        id: crate::random::uuid(),
        user_id: user.id,
        created_at: context.now,
        aal: Aal::Aal1,
        not_after: None,
        refreshed_at: None,
        user_agent: String::new(),
        ip: None,
        tag: Some(TAG.to_owned()),
        oauth_client_id: None,
        refresh_token_hmac_key: None,
        refresh_token_counter: None,
        scopes: None,
    }
}

/// What must hold whatever a hook has returned: whose token it is, that it is marked and brief, that
/// it has no second factor and belongs to this session.
fn marked(
    context: &RequestContext,
    mut claims: Map<String, Value>,
    operator: &str,
    user: &User,
    session: Option<Uuid>,
) -> Map<String, Value> {
    let mut set = |name: &str, value: Value| claims.insert(name.to_owned(), value);
    set("sub", user.id.to_string().into());
    set("exp", expiry(context).into());
    set("aal", Aal::Aal1.as_str().into());
    set(IMPERSONATION_CLAIM, operator.into());
    set("act", json!({ "sub": operator }));
    match session {
        Some(session) => set("session_id", session.to_string().into()),
        None => claims.remove("session_id"),
    };
    claims
}

fn expiry(context: &RequestContext) -> i64 {
    (context.now + LIFETIME).unix_timestamp()
}

fn check_usable(context: &RequestContext, user: &User) -> Outcome<()> {
    let problem = if user.deleted_at.is_some() {
        "The user was deleted"
    } else if user.is_banned(context.now) {
        "The user is banned, so no token of it is accepted"
    } else {
        return Ok(());
    };
    Err(AdministrationError::Conflict(problem.to_owned()))
}

/// As the link of a mail redirects to the site.
fn url(context: &RequestContext, access_token: &str, refresh_token: &str) -> String {
    let fragment = form_urlencoded::Serializer::new(String::new())
        .append_pair("access_token", access_token)
        .append_pair("expires_at", &expiry(context).to_string())
        .append_pair("expires_in", &LIFETIME.whole_seconds().to_string())
        .append_pair("refresh_token", refresh_token)
        .append_pair("token_type", "bearer")
        .append_pair("type", "magiclink")
        .finish();
    let site = context.config.site();
    let site = site.split_once('#').map_or(site, |(site, _)| site);
    format!("{site}#{fragment}")
}
