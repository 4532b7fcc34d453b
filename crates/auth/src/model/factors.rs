//! `auth.mfa_factors`: second factors.

mod store;

use plinth_db::{DbError, Row};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use time::{OffsetDateTime, serde::rfc3339};
use uuid::Uuid;

use crate::wire_time;

pub(crate) use store::{
    NewFactor, delete, delete_all, delete_stale, delete_unverified, find, has_verified, insert,
    list, lock, mark_verified, set_last_challenged, update, update_credential,
};

/// A second factor.
#[derive(Clone, Deserialize)]
#[serde(try_from = "Stored")]
pub(crate) struct Factor {
    pub(crate) id: Uuid,
    pub(crate) user_id: Uuid,
    pub(crate) friendly_name: String,
    pub(crate) kind: FactorKind,
    pub(crate) is_verified: bool,
    /// Of an authenticator app.
    pub(crate) secret: Option<String>,
    pub(crate) phone: String,
    pub(crate) last_challenged_at: Option<OffsetDateTime>,
    pub(crate) web_authn_credential: Option<Value>,
    pub(crate) web_authn_aaguid: Option<Uuid>,
    pub(crate) last_webauthn_challenge_data: Option<Value>,
    pub(crate) created_at: OffsetDateTime,
    pub(crate) updated_at: OffsetDateTime,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FactorKind {
    Totp,
    Phone,
    WebAuthn,
}

impl FactorKind {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Totp => "totp",
            Self::Phone => "phone",
            Self::WebAuthn => "webauthn",
        }
    }

    pub(crate) fn parse(text: &str) -> Option<Self> {
        [Self::Totp, Self::Phone, Self::WebAuthn]
            .into_iter()
            .find(|kind| kind.as_str() == text)
    }

    /// The method in `auth.mfa_amr_claims` (§3.1).
    pub(crate) fn amr(self) -> &'static str {
        match self {
            Self::Totp => "totp",
            Self::Phone => "mfa/phone",
            Self::WebAuthn => "mfa/webauthn",
        }
    }
}

/// The columns of a [`Factor`], with the table as `f`.
pub(crate) const COLUMNS: &str = "f.id, f.user_id, f.friendly_name,
    f.factor_type::text as factor_type, f.status::text as status, f.secret, f.phone,
    f.last_challenged_at, f.web_authn_credential, f.web_authn_aaguid,
    f.last_webauthn_challenge_data, f.created_at, f.updated_at";

/// The columns, from a row or from JSON in the row of the user.
#[derive(Deserialize)]
struct Stored {
    id: Uuid,
    user_id: Uuid,
    friendly_name: Option<String>,
    factor_type: String,
    status: String,
    secret: Option<String>,
    phone: Option<String>,
    #[serde(with = "rfc3339::option")]
    last_challenged_at: Option<OffsetDateTime>,
    web_authn_credential: Option<Value>,
    web_authn_aaguid: Option<Uuid>,
    last_webauthn_challenge_data: Option<Value>,
    #[serde(with = "rfc3339")]
    created_at: OffsetDateTime,
    #[serde(with = "rfc3339")]
    updated_at: OffsetDateTime,
}

impl TryFrom<Stored> for Factor {
    type Error = String;

    fn try_from(stored: Stored) -> Result<Self, String> {
        let kind = FactorKind::parse(&stored.factor_type)
            .ok_or_else(|| format!("a factor of the unknown type {}", stored.factor_type))?;
        Ok(Self {
            id: stored.id,
            user_id: stored.user_id,
            friendly_name: stored.friendly_name.unwrap_or_default(),
            kind,
            is_verified: stored.status == "verified",
            secret: stored.secret,
            phone: stored.phone.unwrap_or_default(),
            last_challenged_at: stored.last_challenged_at,
            web_authn_credential: stored.web_authn_credential,
            web_authn_aaguid: stored.web_authn_aaguid,
            last_webauthn_challenge_data: stored.last_webauthn_challenge_data,
            created_at: stored.created_at,
            updated_at: stored.updated_at,
        })
    }
}

impl Factor {
    pub(crate) fn status(&self) -> &'static str {
        if self.is_verified {
            "verified"
        } else {
            "unverified"
        }
    }

    pub(crate) fn from_row(row: &Row) -> Result<Self, DbError> {
        let stored = Stored {
            id: row.try_get("id")?,
            user_id: row.try_get("user_id")?,
            friendly_name: row.try_get("friendly_name")?,
            factor_type: row.try_get("factor_type")?,
            status: row.try_get("status")?,
            secret: row.try_get("secret")?,
            phone: row.try_get("phone")?,
            last_challenged_at: row.try_get("last_challenged_at")?,
            web_authn_credential: row.try_get("web_authn_credential")?,
            web_authn_aaguid: row.try_get("web_authn_aaguid")?,
            last_webauthn_challenge_data: row.try_get("last_webauthn_challenge_data")?,
            created_at: row.try_get("created_at")?,
            updated_at: row.try_get("updated_at")?,
        };
        stored.try_into().map_err(DbError::Misuse)
    }
}

/// A factor as clients see it (§1.5), without secret and credential.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct FactorBody {
    id: Uuid,
    #[serde(serialize_with = "wire_time::serialize")]
    created_at: OffsetDateTime,
    #[serde(serialize_with = "wire_time::serialize")]
    updated_at: OffsetDateTime,
    status: &'static str,
    #[serde(skip_serializing_if = "String::is_empty")]
    friendly_name: String,
    factor_type: &'static str,
    phone: String,
    #[serde(with = "wire_time::option")]
    last_challenged_at: Option<OffsetDateTime>,
    #[serde(skip_serializing_if = "Option::is_none")]
    web_authn_aaguid: Option<Uuid>,
    #[serde(skip_serializing_if = "Option::is_none")]
    last_webauthn_challenge_data: Option<Value>,
}

impl From<Factor> for FactorBody {
    fn from(factor: Factor) -> Self {
        Self {
            id: factor.id,
            created_at: factor.created_at,
            updated_at: factor.updated_at,
            status: factor.status(),
            friendly_name: factor.friendly_name,
            factor_type: factor.kind.as_str(),
            phone: factor.phone,
            last_challenged_at: factor.last_challenged_at,
            web_authn_aaguid: factor.web_authn_aaguid,
            last_webauthn_challenge_data: factor.last_webauthn_challenge_data,
        }
    }
}
