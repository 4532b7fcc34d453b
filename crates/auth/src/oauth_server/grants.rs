//! `/user/oauth/grants`: which applications a user let in, and how to turn one out.

use axum::{Json, extract::RawQuery};
use http::StatusCode;
use plinth_db::Queries;
use serde::Serialize;
use serde_json::json;
use time::OffsetDateTime;
use uuid::Uuid;

use super::{clients::ClientSummary, consents, enabled::Enabled, scopes};
use crate::{
    AuthError,
    admin::{pairs, value},
    audit::{self, Action},
    error::Code,
    request::SignedIn,
    wire_time,
};

#[derive(Serialize)]
pub(crate) struct GrantBody {
    client: ClientSummary,
    scopes: Vec<String>,
    #[serde(serialize_with = "wire_time::serialize")]
    granted_at: OffsetDateTime,
}

/// `GET /user/oauth/grants`, newest first; applications that were deleted are left out.
pub(crate) async fn list(
    caller: SignedIn,
    Enabled(context): Enabled,
) -> Result<Json<Vec<GrantBody>>, AuthError> {
    let mut db = context.db().await?;
    let consents = consents::list(&mut db, caller.user.id).await?;
    let grants = consents.into_iter().map(|consent| GrantBody {
        client: consent.client.into(),
        scopes: scopes::parse(&consent.scopes)
            .into_iter()
            .map(str::to_owned)
            .collect(),
        granted_at: consent.granted_at,
    });
    Ok(Json(grants.collect()))
}

/// `DELETE /user/oauth/grants?client_id=`: the application's sessions end with the consent.
pub(crate) async fn revoke(
    caller: SignedIn,
    Enabled(context): Enabled,
    RawQuery(query): RawQuery,
) -> Result<StatusCode, AuthError> {
    let asked = pairs(query.as_deref());
    let client = value(&asked, "client_id")
        .ok_or_else(|| AuthError::invalid("client_id query parameter is required"))?;
    let client: Uuid = client
        .parse()
        .map_err(|_| AuthError::invalid("invalid client_id format"))?;
    let user = &caller.user;
    let mut db = context.begin().await?;
    if !consents::revoke(&mut db, user.id, client, context.now).await? {
        return Err(AuthError::new(
            404,
            Code::OauthConsentNotFound,
            "No active grant found for this client",
        ));
    }
    for sql in [
        "delete from auth.sessions where user_id = $1 and oauth_client_id = $2",
        // A code that was not exchanged yet would open another.
        "delete from auth.oauth_authorizations where user_id = $1 and client_id = $2",
    ] {
        db.execute(sql, &[&user.id, &client]).await?;
    }
    let traits = json!({ "oauth_client_id": client, "action": "revoke_oauth_grant" });
    audit::write(&context, &mut db, user, Action::TokenRevoked, traits).await?;
    db.commit().await?;
    Ok(StatusCode::NO_CONTENT)
}
