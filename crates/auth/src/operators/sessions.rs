//! One user, and its sessions.

use plinth_db::Queries;
use plinth_project::{AdministrationError, UserDetails, UserSession, UserSessions};
use serde_json::json;
use uuid::Uuid;

use super::{Outcome, impersonation, no_user, user_object};
use crate::{
    audit::{self, Action, ByOperator},
    model::{
        Session, User, passkeys,
        sessions::{self, AmrClaim},
        users,
    },
    request::RequestContext,
    wire_time,
};

const MAX_LISTED: i64 = 200;

pub(super) async fn details(context: &RequestContext, id: Uuid) -> Outcome<UserDetails> {
    let mut db = context.db().await?;
    let user = find(&mut db, id).await?;
    let has_password = user.has_password();
    let (is_sso_user, is_banned) = (user.is_sso_user, user.is_banned(context.now));
    let body = users::load_body(&mut db, user).await?;
    Ok(UserDetails {
        user: user_object(&body)?,
        has_password,
        is_sso_user,
        is_banned,
        sessions: sessions::count(&mut db, id).await?,
        passkeys: passkeys::list(&mut db, id).await?.len() as u64,
    })
}

pub(super) async fn list(context: &RequestContext, user: Uuid) -> Outcome<UserSessions> {
    let mut db = context.db().await?;
    find(&mut db, user).await?;
    let listed = sessions::list(&mut db, user, None, MAX_LISTED).await?;
    let sessions = listed.into_iter().map(|(session, amr)| body(session, &amr));
    Ok(UserSessions {
        sessions: sessions.collect(),
    })
}

/// Ends one session, or all. The platform's audit log has the operator; the project's own has it too.
pub(super) async fn end(
    context: &RequestContext,
    operator: &str,
    user: Uuid,
    session: Option<Uuid>,
) -> Outcome<u64> {
    let mut db = context.begin().await?;
    let user = find(&mut db, user).await?;
    let ended = match session {
        Some(session) => sessions::delete_of_user(&mut db, user.id, session).await?,
        None => sessions::delete_all(&mut db, user.id).await?,
    };
    if session.is_some() && ended == 0 {
        return Err(AdministrationError::NotFound(
            "The user has no such session".to_owned(),
        ));
    }
    let traits = json!({ "user_id": user.id, "session_id": session, "sessions": ended });
    let actor = ByOperator(operator);
    audit::write(context, &mut db, &actor, Action::Logout, traits).await?;
    db.commit().await?;
    Ok(ended)
}

pub(super) async fn find(db: &mut impl Queries, id: Uuid) -> Outcome<User> {
    users::find(db, id).await?.ok_or_else(no_user)
}

fn body(session: Session, amr: &[AmrClaim]) -> UserSession {
    UserSession {
        id: session.id.to_string(),
        created_at: wire_time::render(session.created_at),
        refreshed_at: session.refreshed_at.map(wire_time::render),
        not_after: session.not_after.map(wire_time::render),
        aal: session.aal.as_str().to_owned(),
        methods: amr.iter().map(|claim| claim.method.clone()).collect(),
        user_agent: session.user_agent,
        ip: session.ip,
        oauth_client_id: session.oauth_client_id.map(|id| id.to_string()),
        is_impersonation: session.tag.as_deref() == Some(impersonation::TAG),
    }
}
