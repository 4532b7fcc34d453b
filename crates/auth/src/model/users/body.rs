//! A user as clients see it (auth contract §1.5).

use serde::Serialize;
use time::OffsetDateTime;
use uuid::Uuid;

use super::User;
use crate::{
    model::{FactorBody, IdentityBody, Object, UserRelations},
    wire_time,
};

/// With identities and factors. Optional times are left out, not null.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct UserBody {
    pub(crate) id: Uuid,
    pub(crate) aud: String,
    pub(crate) role: String,
    pub(crate) email: String,
    #[serde(with = "wire_time::option", skip_serializing_if = "Option::is_none")]
    pub(crate) email_confirmed_at: Option<OffsetDateTime>,
    #[serde(with = "wire_time::option", skip_serializing_if = "Option::is_none")]
    pub(crate) invited_at: Option<OffsetDateTime>,
    pub(crate) phone: String,
    #[serde(with = "wire_time::option", skip_serializing_if = "Option::is_none")]
    pub(crate) phone_confirmed_at: Option<OffsetDateTime>,
    #[serde(with = "wire_time::option", skip_serializing_if = "Option::is_none")]
    pub(crate) confirmation_sent_at: Option<OffsetDateTime>,
    #[serde(with = "wire_time::option", skip_serializing_if = "Option::is_none")]
    pub(crate) confirmed_at: Option<OffsetDateTime>,
    #[serde(with = "wire_time::option", skip_serializing_if = "Option::is_none")]
    pub(crate) recovery_sent_at: Option<OffsetDateTime>,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) new_email: String,
    #[serde(with = "wire_time::option", skip_serializing_if = "Option::is_none")]
    pub(crate) email_change_sent_at: Option<OffsetDateTime>,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) new_phone: String,
    #[serde(with = "wire_time::option", skip_serializing_if = "Option::is_none")]
    pub(crate) phone_change_sent_at: Option<OffsetDateTime>,
    #[serde(with = "wire_time::option", skip_serializing_if = "Option::is_none")]
    pub(crate) reauthentication_sent_at: Option<OffsetDateTime>,
    #[serde(with = "wire_time::option", skip_serializing_if = "Option::is_none")]
    pub(crate) last_sign_in_at: Option<OffsetDateTime>,
    pub(crate) app_metadata: Object,
    pub(crate) user_metadata: Object,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) factors: Vec<FactorBody>,
    /// `None` (null) only in the list of all users.
    pub(crate) identities: Option<Vec<IdentityBody>>,
    #[serde(serialize_with = "wire_time::serialize")]
    pub(crate) created_at: OffsetDateTime,
    #[serde(serialize_with = "wire_time::serialize")]
    pub(crate) updated_at: OffsetDateTime,
    #[serde(with = "wire_time::option", skip_serializing_if = "Option::is_none")]
    pub(crate) banned_until: Option<OffsetDateTime>,
    #[serde(with = "wire_time::option", skip_serializing_if = "Option::is_none")]
    pub(crate) deleted_at: Option<OffsetDateTime>,
    pub(crate) is_anonymous: bool,
}

impl UserBody {
    /// With identities and factors.
    pub(crate) fn with_relations(user: User, relations: UserRelations) -> Self {
        let UserRelations {
            identities,
            factors,
        } = relations;
        Self::new(
            user,
            Some(identities.into_iter().map(Into::into).collect()),
            factors.into_iter().map(Into::into).collect(),
        )
    }

    /// With those identities and factors that were read.
    pub(crate) fn new(
        user: User,
        identities: Option<Vec<IdentityBody>>,
        factors: Vec<FactorBody>,
    ) -> Self {
        Self {
            id: user.id,
            aud: user.aud,
            role: user.role,
            email: user.email,
            email_confirmed_at: user.email_confirmed_at,
            invited_at: user.invited_at,
            phone: user.phone,
            phone_confirmed_at: user.phone_confirmed_at,
            confirmation_sent_at: user.confirmation_sent_at,
            confirmed_at: user.confirmed_at,
            recovery_sent_at: user.recovery_sent_at,
            new_email: user.email_change,
            email_change_sent_at: user.email_change_sent_at,
            new_phone: user.phone_change,
            phone_change_sent_at: user.phone_change_sent_at,
            reauthentication_sent_at: user.reauthentication_sent_at,
            last_sign_in_at: user.last_sign_in_at,
            app_metadata: user.app_metadata,
            user_metadata: user.user_metadata,
            factors,
            identities,
            created_at: user.created_at,
            updated_at: user.updated_at,
            banned_until: user.banned_until,
            deleted_at: user.deleted_at,
            is_anonymous: user.is_anonymous,
        }
    }
}
