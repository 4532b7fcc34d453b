//! `/oauth/authorizations/{id}`: the user sees who asks for what, and says yes or no.

use axum::{
    Json,
    extract::{Path, rejection::PathRejection},
};
use http::{HeaderMap, header};
use plinth_project::ServiceTransaction;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::{
    authorizations::{self, Authorization},
    clients::{self, ClientSummary},
    consents,
    enabled::Enabled,
    redirect_uri::with_query,
    scopes,
};
use crate::{
    AuthError,
    error::Code,
    request::{Context, Input, SignedIn},
};

type AuthorizationPath = Result<Path<String>, PathRejection>;

/// What is asked, or where to go because it was answered before.
#[derive(Serialize)]
#[serde(untagged)]
pub(crate) enum ShowBody {
    Question {
        authorization_id: String,
        redirect_uri: String,
        client: ClientSummary,
        user: UserSummary,
        scope: String,
    },
    Answered(DecisionBody),
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

/// `GET /oauth/authorizations/{id}`: from now on the question is this user's.
pub(crate) async fn show(
    Enabled(context): Enabled,
    caller: SignedIn,
    headers: HeaderMap,
    path: AuthorizationPath,
) -> Result<Json<ShowBody>, AuthError> {
    check_origin(&context, &headers)?;
    let user = caller.user;
    let (mut db, asked) = pending(&context, path).await?;
    match asked.user_id {
        Some(owner) if owner != user.id => return Err(not_found()),
        Some(_) => {}
        None => {
            authorizations::set_user(&mut db, asked.id, user.id).await?;
            let granted = consents::find_scopes(&mut db, user.id, asked.client_id).await?;
            if granted.is_some_and(|granted| scopes::covers(&granted, &asked.scope)) {
                let answer = approve(&context, &mut db, &asked).await?;
                db.commit().await?;
                return Ok(Json(ShowBody::Answered(answer)));
            }
        }
    }
    let client = clients::find(&mut db, asked.client_id).await?;
    let client = client.ok_or_else(not_found)?;
    db.commit().await?;
    Ok(Json(ShowBody::Question {
        authorization_id: asked.authorization_id,
        redirect_uri: asked.redirect_uri,
        client: client.into(),
        user: UserSummary {
            id: user.id,
            email: user.email,
        },
        scope: asked.scope,
    }))
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct DecisionParams {
    action: String,
}

/// `POST /oauth/authorizations/{id}/consent`: by whoever the question was shown to.
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
        _ => return Err(AuthError::invalid("action must be 'approve' or 'deny'")),
    };
    let (mut db, asked) = pending(&context, path).await?;
    let user = caller.user.id;
    if asked.user_id != Some(user) {
        return Err(not_found());
    }
    let answer = match approves {
        true => {
            let (client, scope) = (asked.client_id, asked.scope.as_str());
            consents::put(&mut db, user, client, scope, context.now).await?;
            approve(&context, &mut db, &asked).await?
        }
        false => {
            authorizations::deny(&mut db, asked.id).await?;
            denied(&asked)
        }
    };
    db.commit().await?;
    Ok(Json(answer))
}

/// Pages of other sites must not answer for the user.
fn check_origin(context: &Context, headers: &HeaderMap) -> Result<(), AuthError> {
    let origin = headers.get(header::ORIGIN);
    let is_ours = origin.is_none_or(|origin| {
        let origin = origin.to_str().unwrap_or_default();
        context.may_redirect_to(origin)
    });
    match is_ours {
        true => Ok(()),
        false => Err(AuthError::invalid("unauthorized request origin")),
    }
}

/// The question that still waits for its answer, locked.
async fn pending(
    context: &Context,
    path: AuthorizationPath,
) -> Result<(ServiceTransaction, Authorization), AuthError> {
    let Path(id) = path.map_err(|_| not_found())?;
    let mut db = context.begin().await?;
    let asked = authorizations::lock(&mut db, &id).await?;
    let asked = asked.ok_or_else(not_found)?;
    if asked.is_expired(context.now) {
        authorizations::expire(&mut db, asked.id).await?;
        db.commit().await?;
        return Err(not_found());
    }
    match asked.is_pending {
        true => Ok((db, asked)),
        false => Err(AuthError::invalid(
            "authorization request cannot be processed",
        )),
    }
}

async fn approve(
    context: &Context,
    db: &mut ServiceTransaction,
    asked: &Authorization,
) -> Result<DecisionBody, AuthError> {
    let code = authorizations::approve(db, asked.id, context.now).await?;
    let pairs = [("code", code.as_str()), ("state", &asked.state)];
    Ok(DecisionBody {
        redirect_url: with_query(&asked.redirect_uri, &pairs),
    })
}

fn denied(asked: &Authorization) -> DecisionBody {
    let pairs = [
        ("error", "access_denied"),
        ("error_description", "User denied the request"),
        ("state", &asked.state),
    ];
    DecisionBody {
        redirect_url: with_query(&asked.redirect_uri, &pairs),
    }
}

fn not_found() -> AuthError {
    AuthError::new(
        404,
        Code::OauthAuthorizationNotFound,
        "authorization not found",
    )
}
