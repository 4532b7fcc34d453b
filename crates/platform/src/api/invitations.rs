//! `…/invitations` beside `…/members`, and `/platform/invitations/accept`.

use axum::{
    Json,
    extract::{FromRequest, Request, State},
    http::StatusCode,
};
use plinth_token::Secret;
use serde::{Deserialize, Serialize};
use serde_json::json;
use uuid::Uuid;

use super::{
    api_keys::rfc3339,
    body::{Body, Segments},
    members::Scoped,
    operator::{RequestOrigin, signed_in_user},
};
use crate::{
    Platform, PlatformError,
    audit::Change,
    members::{Acceptance, Invitation, MemberScope, Role},
};

/// A pending invitation.
#[derive(Debug, Serialize)]
pub(super) struct InvitationBody {
    id: Uuid,
    email: String,
    role: Role,
    organization: Option<String>,
    project: Option<String>,
    created_by: Option<String>,
    created_at: String,
    expires_at: String,
}

impl From<&Invitation> for InvitationBody {
    fn from(invitation: &Invitation) -> Self {
        Self {
            id: invitation.id,
            email: invitation.email.clone(),
            role: invitation.role,
            organization: invitation.scope.organization().map(str::to_owned),
            project: invitation.scope.project().map(ToString::to_string),
            created_by: invitation.created_by.clone(),
            created_at: rfc3339(invitation.created_at),
            expires_at: rfc3339(invitation.expires_at),
        }
    }
}

/// `GET …/invitations`: the pending ones.
pub(super) async fn list(
    Scoped { scope, .. }: Scoped,
    State(platform): State<Platform>,
) -> Result<Json<Vec<InvitationBody>>, PlatformError> {
    let pending = platform.list_invitations(&scope).await?;
    Ok(Json(pending.iter().map(InvitationBody::from).collect()))
}

/// Whom to invite.
#[derive(Debug, Deserialize)]
pub(super) struct InviteRequest {
    email: String,
    role: Role,
    /// Whether to send a mail.
    #[serde(default = "yes")]
    send_mail: bool,
}

fn yes() -> bool {
    true
}

/// The only response with the link.
#[derive(Debug, Serialize)]
pub(super) struct Invited {
    #[serde(flatten)]
    invitation: InvitationBody,
    /// To be given to the invited person; contains the token.
    link: String,
    /// Whether a mail was sent.
    mailed: bool,
}

/// `POST …/invitations`: replaces a pending one of the same address.
pub(super) async fn create(
    Scoped { operator, scope }: Scoped,
    State(platform): State<Platform>,
    Body(body): Body<InviteRequest>,
) -> Result<(StatusCode, Json<Invited>), PlatformError> {
    let entry = Change::new("invitation.create").scope(&scope);
    let after = json!({ "email": body.email, "role": body.role });
    let invited = platform
        .invite(&operator.actor(), &scope, &body.email, body.role)
        .await;
    let (invitation, token) = match invited {
        Ok(invited) => invited,
        Err(error) => {
            operator
                .audit_refusal(&platform, entry.after(after), &error)
                .await;
            return Err(error);
        }
    };
    let entry = entry.target(invitation.id).after(after);
    platform.audit_change(&operator, entry).await;
    let link = format!(
        "{}{}/invitation#token={}",
        platform.endpoints().api_url,
        plinth_project::CONSOLE,
        token.expose()
    );
    // The auth service puts the new session into the fragment. In the query, logs mask the token by its name.
    let mailed_link = link.replace("#token=", "?token=");
    // The invitation is valid without a mail, so a mail server that is away is no error.
    let mailed = body.send_mail
        && match platform
            .mail_invitation(&invitation.email, &mailed_link)
            .await
        {
            Ok(mailed) => mailed,
            Err(error) => {
                tracing::warn!("an invitation was not mailed: {error}");
                false
            }
        };
    let invited = Invited {
        invitation: InvitationBody::from(&invitation),
        link,
        mailed,
    };
    Ok((StatusCode::CREATED, Json(invited)))
}

/// The invitation of a path.
#[derive(Debug, Deserialize)]
pub(super) struct InvitationPath {
    id: Uuid,
}

/// `DELETE …/invitations/{id}`.
pub(super) async fn revoke(
    Scoped { operator, scope }: Scoped,
    State(platform): State<Platform>,
    Segments(path): Segments<InvitationPath>,
) -> Result<Json<InvitationBody>, PlatformError> {
    let entry = Change::new("invitation.revoke")
        .scope(&scope)
        .target(path.id);
    match platform
        .revoke_invitation(&operator.actor(), &scope, path.id)
        .await
    {
        Ok(invitation) => {
            let before = json!({ "email": invitation.email, "role": invitation.role });
            platform.audit_change(&operator, entry.before(before)).await;
            Ok(Json(InvitationBody::from(&invitation)))
        }
        Err(error) => {
            operator.audit_refusal(&platform, entry, &error).await;
            Err(error)
        }
    }
}

/// The token of an invitation's link.
#[derive(Debug, Deserialize)]
pub(super) struct InvitationToken {
    token: String,
}

/// What an invited person sees before accepting.
#[derive(Debug, Serialize)]
pub(super) struct ShownInvitation {
    email: String,
    role: Role,
    /// `instance`, `organization` or `project`.
    kind: String,
    /// The name of the instance, the organization or the project.
    name: String,
    created_by: Option<String>,
    expires_at: String,
    /// Whether an account with the address is in use: then it has to sign in to accept.
    has_account: bool,
}

/// `POST /platform/invitations/show`: whoever has the token may know what it is for.
pub(super) async fn show(
    State(platform): State<Platform>,
    Body(body): Body<InvitationToken>,
) -> Result<Json<ShownInvitation>, PlatformError> {
    let invitation = platform.show_invitation(&body.token).await?;
    let (kind, name) = match &invitation.scope {
        MemberScope::Instance => ("instance", platform.instance_name().await?),
        MemberScope::Organization(slug) => {
            ("organization", platform.load_organization(slug).await?.name)
        }
        MemberScope::Project(project) => {
            let name = plinth_project::ProjectName::Ref(project.clone());
            ("project", platform.load_project(&name).await?.name)
        }
    };
    Ok(Json(ShownInvitation {
        has_account: platform.is_account_in_use(&invitation.email).await?,
        kind: kind.to_owned(),
        name,
        created_by: invitation.created_by,
        expires_at: rfc3339(invitation.expires_at),
        email: invitation.email,
        role: invitation.role,
    }))
}

/// How to accept.
#[derive(Debug, Deserialize)]
pub(super) struct AcceptRequest {
    token: String,
    /// Of the new account. Whoever has an account sends its access token instead.
    #[serde(default)]
    password: Option<String>,
}

/// The new membership.
#[derive(Debug, Serialize)]
pub(super) struct Accepted {
    user_id: Uuid,
    email: String,
    role: Role,
    organization: Option<String>,
    project: Option<String>,
}

/// `POST /platform/invitations/accept`: by the account with the invited address, or, where there is none, with
/// a password for a new one.
pub(super) async fn accept(
    State(platform): State<Platform>,
    request: Request,
) -> Result<Json<Accepted>, PlatformError> {
    let (parts, body) = request.into_parts();
    let origin = RequestOrigin::read(&parts);
    let account = signed_in_user(&parts, &platform).await?;
    let Body(body) =
        Body::<AcceptRequest>::from_request(Request::from_parts(parts, body), &platform).await?;
    let acceptance = match (account, body.password) {
        (Some(user), _) => Acceptance::Account(user.id, user.email),
        (None, Some(password)) => Acceptance::NewAccount {
            password: Secret::new(password),
        },
        (None, None) => {
            return Err(PlatformError::Invalid(
                "Sign in with the invited address, or give a password for a new account".to_owned(),
            ));
        }
    };
    let (invitation, user) = platform.accept_invitation(&body.token, &acceptance).await?;
    let entry = Change::new("invitation.accept")
        .scope(&invitation.scope)
        .target(invitation.id)
        .after(json!({ "email": invitation.email, "role": invitation.role, "user_id": user }));
    platform
        .audit_as(&invitation.email, Some(user), &origin, entry)
        .await;
    Ok(Json(Accepted {
        user_id: user,
        role: invitation.role,
        organization: invitation.scope.organization().map(str::to_owned),
        project: invitation.scope.project().map(ToString::to_string),
        email: invitation.email,
    }))
}
