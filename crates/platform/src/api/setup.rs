//! `/platform/setup`: the first owner (console contract N20), and what `plinth admin` does.

use axum::{
    Json,
    extract::{FromRequest, Request, State},
    http::StatusCode,
};
use plinth_token::Secret;
use serde::{Deserialize, Serialize};
use serde_json::json;
use uuid::Uuid;

use super::{Operator, api_keys::rfc3339, body::Body, operator::RequestOrigin};
use crate::{Platform, PlatformError, SetupRequest, audit::Change};

/// Whether the instance waits for its first owner.
#[derive(Debug, Serialize)]
pub(super) struct SetupState {
    /// Whether the set-up is open.
    needed: bool,
    /// The name of the instance.
    instance: String,
    /// Whether operators need a second factor.
    mfa_required: bool,
}

/// `GET /platform/setup`.
pub(super) async fn show(
    State(platform): State<Platform>,
) -> Result<Json<SetupState>, PlatformError> {
    Ok(Json(SetupState {
        needed: platform.needs_setup().await?,
        instance: platform.instance_name().await?,
        mfa_required: platform.requires_second_factor(),
    }))
}

/// What the first owner chooses.
#[derive(Debug, Deserialize)]
pub(super) struct SetupBody {
    /// Of the link.
    token: String,
    email: String,
    password: String,
    /// The name of the instance.
    #[serde(default)]
    instance: Option<String>,
}

/// The first owner.
#[derive(Debug, Serialize)]
pub(super) struct SetUp {
    user_id: Uuid,
    email: String,
    /// Whether a second factor has to be enrolled before anything else.
    mfa_required: bool,
}

/// `POST /platform/setup`: closed for good once there is an owner.
pub(super) async fn create(
    State(platform): State<Platform>,
    request: Request,
) -> Result<(StatusCode, Json<SetUp>), PlatformError> {
    let (parts, body) = request.into_parts();
    let origin = RequestOrigin::read(&parts);
    let Body(body) =
        Body::<SetupBody>::from_request(Request::from_parts(parts, body), &platform).await?;
    let entry = Change::new("instance.setup");
    let request = SetupRequest {
        token: Secret::new(body.token),
        email: body.email.trim().to_lowercase(),
        password: Secret::new(body.password),
        instance: body.instance,
    };
    let user = match platform.set_up(&request, origin.address).await {
        Ok(user) => user,
        Err(error) => {
            if matches!(error, PlatformError::Forbidden(_)) {
                platform
                    .audit_as("set-up link", None, &origin, entry.denied())
                    .await;
            }
            return Err(error);
        }
    };
    let after = json!({ "email": request.email, "instance": request.instance });
    platform
        .audit_as(&request.email, Some(user), &origin, entry.after(after))
        .await;
    Ok((
        StatusCode::CREATED,
        Json(SetUp {
            user_id: user,
            email: request.email,
            mfa_required: platform.requires_second_factor(),
        }),
    ))
}

/// A one-time link.
#[derive(Debug, Serialize)]
pub(super) struct LinkBody {
    url: String,
    expires_at: String,
}

/// `POST /platform/setup/link`, on the server's own machine.
pub(super) async fn link(
    operator: Operator,
    State(platform): State<Platform>,
) -> Result<(StatusCode, Json<LinkBody>), PlatformError> {
    let link = platform.create_setup_link().await?;
    platform
        .audit_change(&operator, Change::new("instance.setup_link"))
        .await;
    Ok((
        StatusCode::CREATED,
        Json(LinkBody {
            url: link.url.expose().to_owned(),
            expires_at: rfc3339(link.expires_at),
        }),
    ))
}

/// An operator without second factor.
#[derive(Debug, Deserialize)]
pub(super) struct ResetBody {
    email: String,
}

/// What was removed.
#[derive(Debug, Serialize)]
pub(super) struct ResetFactors {
    user_id: Uuid,
    removed: u64,
}

/// `POST /platform/operators/mfa-reset`, on the server's own machine: factors and sessions of an operator who
/// lost them.
pub(super) async fn reset_second_factor(
    operator: Operator,
    State(platform): State<Platform>,
    Body(body): Body<ResetBody>,
) -> Result<Json<ResetFactors>, PlatformError> {
    let (user_id, removed) = platform.reset_second_factor(&body.email).await?;
    let entry = Change::new("operator.mfa_reset")
        .target(user_id)
        .before(json!({ "email": body.email, "factors": removed }));
    platform.audit_change(&operator, entry).await;
    Ok(Json(ResetFactors { user_id, removed }))
}
