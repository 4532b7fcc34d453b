//! `/user/oauth/grants`: lists and revokes a user's consents.

use axum::{Json, extract::RawQuery};
use http::StatusCode;
use serde::Serialize;
use serde_json::json;
use time::OffsetDateTime;
use uuid::Uuid;

use super::{enabled::Enabled, scopes};
use crate::{
    AuthError,
    audit::{self, Action},
    caller::SignedIn,
    model::{oauth_authorizations, oauth_clients::ClientSummary, oauth_consents, sessions},
    request::page::{find_value, parse_pairs},
    wire_time,
};

#[derive(Serialize)]
pub(crate) struct GrantBody {
    client: ClientSummary,
    scopes: Vec<String>,
    #[serde(serialize_with = "wire_time::serialize")]
    granted_at: OffsetDateTime,
}

/// `GET /user/oauth/grants`, newest first, without deleted applications.
pub(crate) async fn list(
    caller: SignedIn,
    Enabled(context): Enabled,
) -> Result<Json<Vec<GrantBody>>, AuthError> {
    let mut db = context.db().await?;
    let consents = oauth_consents::list(&mut db, caller.user.id).await?;
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

/// `DELETE /user/oauth/grants?client_id=`: also ends the application's sessions.
pub(crate) async fn revoke(
    caller: SignedIn,
    Enabled(context): Enabled,
    RawQuery(query): RawQuery,
) -> Result<StatusCode, AuthError> {
    let params = parse_pairs(query.as_deref());
    let client = find_value(&params, "client_id")
        .ok_or_else(|| AuthError::validation_failed("client_id query parameter is required"))?;
    let client: Uuid = client
        .parse()
        .map_err(|_| AuthError::malformed_client_id())?;
    let user = &caller.user;
    let mut db = context.begin().await?;
    if !oauth_consents::revoke(&mut db, user.id, client, context.now).await? {
        return Err(AuthError::grant_not_found());
    }
    sessions::delete_for_client(&mut db, user.id, client).await?;
    // An unused code could start another session.
    oauth_authorizations::delete_for_client(&mut db, user.id, client).await?;
    let traits = json!({ "oauth_client_id": client, "action": "revoke_oauth_grant" });
    audit::write(&context, &mut db, user, Action::TokenRevoked, traits).await?;
    db.commit().await?;
    Ok(StatusCode::NO_CONTENT)
}
