//! Members of the instance, of an organization and of a project (console contract §2.8): `…/members` below
//! `/platform`, `/platform/organizations/{slug}` and `/platform/projects/{ref}`.

use axum::{
    Json,
    extract::{FromRequestParts, RawPathParams, State},
    http::{StatusCode, request::Parts},
};
use plinth_project::ProjectName;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use uuid::Uuid;

use super::{
    Operator,
    api_keys::rfc3339,
    body::{Body, Segments},
};
use crate::{
    Platform, PlatformError,
    audit::Change,
    members::{Capability, Member, MemberScope, Role},
};

/// The scope of a path. The access table has been checked: it comes with the operator.
pub(super) struct Scoped {
    pub(super) operator: Operator,
    pub(super) scope: MemberScope,
}

impl FromRequestParts<Platform> for Scoped {
    type Rejection = PlatformError;

    async fn from_request_parts(
        parts: &mut Parts,
        platform: &Platform,
    ) -> Result<Self, PlatformError> {
        let operator = Operator::from_request_parts(parts, platform).await?;
        let params = RawPathParams::from_request_parts(parts, platform).await;
        let params = params.map_err(|rejection| PlatformError::Invalid(rejection.body_text()))?;
        let param = |wanted: &str| {
            let mut params = params.iter();
            params
                .find(|(name, _)| *name == wanted)
                .map(|(_, value)| value)
        };
        let scope = match (param("slug"), param("ref")) {
            (Some(slug), _) => {
                MemberScope::Organization(platform.load_organization(slug).await?.slug)
            }
            (None, Some(text)) => {
                let name: ProjectName = operator.project_by_name(platform, text)?;
                MemberScope::Project(platform.load_project(&name).await?.reference)
            }
            (None, None) => MemberScope::Instance,
        };
        Ok(Self { operator, scope })
    }
}

/// A member.
#[derive(Debug, Serialize)]
pub(super) struct MemberBody {
    user_id: Uuid,
    email: Option<String>,
    name: Option<String>,
    role: Role,
    /// `instance`, `organization` or `project`: where the role was given.
    source: String,
    /// For admins, as the next two.
    mfa_enabled: Option<bool>,
    is_banned: Option<bool>,
    last_active_at: Option<String>,
    created_at: String,
}

impl MemberBody {
    /// Others need not know whom to attack.
    fn new(member: Member, is_for_admin: bool) -> Self {
        Self {
            user_id: member.user_id,
            email: member.email,
            name: member.name,
            role: member.role,
            source: member.source.as_str().to_owned(),
            mfa_enabled: is_for_admin.then_some(member.has_second_factor),
            is_banned: is_for_admin.then_some(member.is_banned),
            last_active_at: member.last_active_at.filter(|_| is_for_admin).map(rfc3339),
            created_at: rfc3339(member.created_at),
        }
    }
}

/// `GET …/members`, with those whose role comes from above.
pub(super) async fn list(
    Scoped { operator, scope }: Scoped,
    State(platform): State<Platform>,
) -> Result<Json<Vec<MemberBody>>, PlatformError> {
    let own = operator.roles().on(&scope);
    let is_admin = own.is_some_and(|role| role.can(Capability::Admin));
    let members = platform.list_members(&scope).await?;
    let bodies = members
        .into_iter()
        .map(|member| MemberBody::new(member, is_admin));
    Ok(Json(bodies.collect()))
}

/// A new member, by id or by address.
#[derive(Debug, Deserialize)]
pub(super) struct AddMember {
    #[serde(default)]
    user_id: Option<Uuid>,
    #[serde(default)]
    email: Option<String>,
    role: Role,
}

/// What a change led to.
#[derive(Debug, Serialize)]
pub(super) struct ChangedMember {
    user_id: Uuid,
    /// None: removed.
    role: Option<Role>,
}

/// `POST …/members`: somebody who is an operator already; others are invited.
pub(super) async fn add(
    Scoped { operator, scope }: Scoped,
    State(platform): State<Platform>,
    Body(body): Body<AddMember>,
) -> Result<(StatusCode, Json<ChangedMember>), PlatformError> {
    let named = match (body.user_id, &body.email) {
        (Some(user), None) => Some(user),
        (None, Some(email)) => platform.find_account(email).await?,
        _ => {
            return Err(PlatformError::Invalid(
                "Give either user_id or email".to_owned(),
            ));
        }
    };
    let user = match named {
        Some(user) => platform.find_operator(user).await?.ok(),
        None => None,
    };
    let user = user.ok_or_else(|| {
        PlatformError::NotFound("There is no such operator; invite them instead".to_owned())
    })?;
    if body.email.is_some() && !platform.is_address_proven(user.id).await? {
        return Err(PlatformError::Conflict(
            "Nobody has proven to receive mail at this address; invite it, or give the role by user_id"
                .to_owned(),
        ));
    }
    let changed = change(&platform, &operator, &scope, user.id, Some(body.role), true).await?;
    Ok((StatusCode::CREATED, Json(changed)))
}

/// Another role.
#[derive(Debug, Deserialize)]
pub(super) struct UpdateMember {
    role: Role,
}

/// The member of a path.
#[derive(Debug, Deserialize)]
pub(super) struct MemberPath {
    user: Uuid,
}

/// `PATCH …/members/{user}`.
pub(super) async fn update(
    Scoped { operator, scope }: Scoped,
    State(platform): State<Platform>,
    Segments(path): Segments<MemberPath>,
    Body(body): Body<UpdateMember>,
) -> Result<Json<ChangedMember>, PlatformError> {
    let changed = change(
        &platform,
        &operator,
        &scope,
        path.user,
        Some(body.role),
        false,
    )
    .await?;
    Ok(Json(changed))
}

/// `DELETE …/members/{user}`; everybody may leave.
pub(super) async fn remove(
    Scoped { operator, scope }: Scoped,
    State(platform): State<Platform>,
    Segments(path): Segments<MemberPath>,
) -> Result<Json<ChangedMember>, PlatformError> {
    let changed = change(&platform, &operator, &scope, path.user, None, false).await?;
    Ok(Json(changed))
}

async fn change(
    platform: &Platform,
    operator: &Operator,
    scope: &MemberScope,
    user: Uuid,
    wanted: Option<Role>,
    is_new: bool,
) -> Result<ChangedMember, PlatformError> {
    let is_leaving = wanted.is_none() && operator.user_id() == Some(user);
    let action = match (wanted, is_new) {
        (None, _) if is_leaving => "member.leave",
        (None, _) => "member.remove",
        (Some(_), true) => "member.add",
        (Some(_), false) => "member.update",
    };
    let entry = Change::new(action).scope(scope).target(user);
    let changed = platform
        .change_member(&operator.actor(), scope, user, wanted, is_new)
        .await;
    match changed {
        Ok(before) => {
            let entry = entry.before(role_value(before)).after(role_value(wanted));
            platform.audit_change(operator, entry).await;
            let role = wanted;
            Ok(ChangedMember {
                user_id: user,
                role,
            })
        }
        Err(error) => {
            let entry = entry.after(role_value(wanted));
            operator.audit_refusal(platform, entry, &error).await;
            Err(error)
        }
    }
}

fn role_value(role: Option<Role>) -> Value {
    role.map_or(Value::Null, |role| json!({ "role": role }))
}
