//! `/oauth/authorizations/{id}`: shows a request to the user, who approves or denies it.

use axum::{
    Json,
    extract::{Path, rejection::PathRejection},
};
use http::{HeaderMap, header};
use plinth_project::ServiceTransaction;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::{enabled::Enabled, redirect_uri::with_query, scopes};
use crate::{
    AuthError,
    caller::SignedIn,
    model::{
        oauth_authorizations::{self, Authorization},
        oauth_clients::{self, ClientSummary},
        oauth_consents,
    },
    request::{Input, RequestContext},
};

type AuthorizationPath = Result<Path<String>, PathRejection>;

/// The request, or the redirect if the user had consented before.
#[derive(Serialize)]
#[serde(untagged)]
pub(crate) enum ShowBody {
    Pending {
        authorization_id: String,
        redirect_uri: String,
        client: ClientSummary,
        user: UserSummary,
        scope: String,
    },
    Decided(DecisionBody),
}

#[derive(Serialize)]
pub(crate) struct UserSummary {
    id: Uuid,
    #[serde(skip_serializing_if = "String::is_empty")]
    email: String,
}

#[derive(Serialize)]
pub(crate) struct DecisionBody {
    redirect_url: String,
}

/// `GET /oauth/authorizations/{id}`: binds the request to the caller.
pub(crate) async fn show(
    Enabled(context): Enabled,
    caller: SignedIn,
    headers: HeaderMap,
    path: AuthorizationPath,
) -> Result<Json<ShowBody>, AuthError> {
    check_origin(&context, &headers)?;
    let user = caller.user;
    let (mut db, authorization) = lock_pending(&context, path).await?;
    match authorization.user_id {
        Some(owner) if owner != user.id => return Err(AuthError::authorization_not_found()),
        Some(_) => {}
        None => {
            oauth_authorizations::set_user(&mut db, authorization.id, user.id).await?;
            let granted =
                oauth_consents::find_scopes(&mut db, user.id, authorization.client_id).await?;
            if granted.is_some_and(|granted| scopes::covers(&granted, &authorization.scope)) {
                let body = approve(&context, &mut db, &authorization).await?;
                db.commit().await?;
                return Ok(Json(ShowBody::Decided(body)));
            }
        }
    }
    let client = oauth_clients::find(&mut db, authorization.client_id).await?;
    let client = client.ok_or_else(AuthError::authorization_not_found)?;
    db.commit().await?;
    Ok(Json(ShowBody::Pending {
        authorization_id: authorization.authorization_id,
        redirect_uri: authorization.redirect_uri,
        client: client.into(),
        user: UserSummary {
            id: user.id,
            email: user.email,
        },
        scope: authorization.scope,
    }))
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct DecisionParams {
    action: String,
}

/// `POST /oauth/authorizations/{id}/consent`: only for the user the request is bound to.
pub(crate) async fn decide(
    Enabled(context): Enabled,
    caller: SignedIn,
    headers: HeaderMap,
    path: AuthorizationPath,
    Input(params): Input<DecisionParams>,
) -> Result<Json<DecisionBody>, AuthError> {
    check_origin(&context, &headers)?;
    let approves = match params.action.as_str() {
        "approve" => true,
        "deny" => false,
        _ => {
            return Err(AuthError::validation_failed(
                "action must be 'approve' or 'deny'",
            ));
        }
    };
    let (mut db, authorization) = lock_pending(&context, path).await?;
    let user = caller.user.id;
    if authorization.user_id != Some(user) {
        return Err(AuthError::authorization_not_found());
    }
    let body = if approves {
        let (client, scope) = (authorization.client_id, authorization.scope.as_str());
        oauth_consents::upsert(&mut db, user, client, scope, context.now).await?;
        approve(&context, &mut db, &authorization).await?
    } else {
        oauth_authorizations::deny(&mut db, authorization.id).await?;
        denial(&authorization)
    };
    db.commit().await?;
    Ok(Json(body))
}

/// Pages of other origins must not decide for the user.
fn check_origin(context: &RequestContext, headers: &HeaderMap) -> Result<(), AuthError> {
    let origin = headers.get(header::ORIGIN);
    let is_ours = origin.is_none_or(|origin| {
        let origin = origin.to_str().unwrap_or_default();
        context.resolve_redirect(origin).is_some()
    });
    if is_ours {
        Ok(())
    } else {
        Err(AuthError::validation_failed("unauthorized request origin"))
    }
}

/// The pending request, locked.
async fn lock_pending(
    context: &RequestContext,
    path: AuthorizationPath,
) -> Result<(ServiceTransaction, Authorization), AuthError> {
    let Path(id) = path.map_err(|_| AuthError::authorization_not_found())?;
    let mut db = context.begin().await?;
    let authorization = oauth_authorizations::lock(&mut db, &id).await?;
    let authorization = authorization.ok_or_else(AuthError::authorization_not_found)?;
    if authorization.is_expired(context.now) {
        oauth_authorizations::expire(&mut db, authorization.id).await?;
        db.commit().await?;
        return Err(AuthError::authorization_not_found());
    }
    if authorization.is_pending {
        Ok((db, authorization))
    } else {
        Err(AuthError::validation_failed(
            "authorization request cannot be processed",
        ))
    }
}

async fn approve(
    context: &RequestContext,
    db: &mut ServiceTransaction,
    authorization: &Authorization,
) -> Result<DecisionBody, AuthError> {
    let code = oauth_authorizations::approve(db, authorization.id, context.now).await?;
    let pairs = [("code", code.as_str()), ("state", &authorization.state)];
    Ok(DecisionBody {
        redirect_url: with_query(&authorization.redirect_uri, &pairs),
    })
}

fn denial(authorization: &Authorization) -> DecisionBody {
    let pairs = [
        ("error", "access_denied"),
        ("error_description", "User denied the request"),
        ("state", &authorization.state),
    ];
    DecisionBody {
        redirect_url: with_query(&authorization.redirect_uri, &pairs),
    }
}
