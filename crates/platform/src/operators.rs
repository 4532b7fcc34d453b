//! Operators as the database has them now: who may sign in, and what their session has proven.
//!
//! Nothing is cached, so an ended session, a ban and a removed factor count from the next request on.

use tokio_postgres::Row;
use uuid::Uuid;

use crate::{Platform, PlatformError, accounts::OPERATOR};

/// How long a second factor counts as fresh for what reveals or destroys.
pub(crate) const STEP_UP_MINUTES: i32 = 10;

/// Whether operators need a second factor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SecondFactor {
    /// Without one, an operator may do nothing but enrol one.
    #[default]
    Required,
    /// Only those who have one need it. For an installation that nobody else can reach.
    Optional,
}

/// The user behind a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct OperatorUser {
    pub(crate) id: Uuid,
    pub(crate) email: String,
    /// The name that the user chose.
    pub(crate) name: Option<String>,
    /// Whether there is a verified second factor.
    pub(crate) has_second_factor: bool,
}

/// What a session has proven.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SessionProof {
    pub(crate) id: Uuid,
    /// Whether a second factor was given, and is still enrolled.
    pub(crate) is_aal2: bool,
    /// Whether the second factor was given a short time ago; where none is needed and there is none, the
    /// sign-in itself.
    pub(crate) is_fresh: bool,
    /// Seconds for which it stays fresh.
    pub(crate) fresh_seconds: Option<i32>,
    /// When the access token expires, in seconds since 1970.
    pub(crate) expires_at: i64,
}

/// Why somebody is no operator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NotOperator {
    /// No such account or session (any more), or it is banned.
    Ended,
    /// A user of project zero without the role.
    Ordinary,
}

const USER_COLUMNS: &str = "
    u.id, coalesce(u.email, '')::text as email,
    coalesce(u.raw_user_meta_data ->> 'full_name', u.raw_user_meta_data ->> 'name') as name,
    coalesce(u.raw_app_meta_data ->> 'role', '') as role,
    u.deleted_at is null and coalesce(u.banned_until <= now(), true) as is_live,
    exists (select from auth.mfa_factors f
            where f.user_id = u.id and f.status = 'verified') as has_second_factor";

/// $1: the user, $2: the session, $3: minutes. Methods of a second factor are those of GoTrue.
const WITH_SESSION: &str = "
    , coalesce(s.aal >= 'aal2', false) as is_aal2,
    extract(epoch from proof.factor_at + make_interval(mins => $3) - now())::int as factor_seconds,
    extract(epoch from proof.any_at + make_interval(mins => $3) - now())::int as any_seconds
    from auth.users u
    join auth.sessions s on s.user_id = u.id and s.id = $2 and s.oauth_client_id is null
      and coalesce(s.not_after > now(), true)
    cross join lateral (
        select max(a.updated_at) as any_at,
               max(a.updated_at) filter (
                   where a.authentication_method in ('totp', 'mfa/totp', 'mfa/phone', 'mfa/webauthn')
               ) as factor_at
        from auth.mfa_amr_claims a where a.session_id = s.id
    ) proof
    where u.id = $1";

impl OperatorUser {
    fn from_row(row: &Row) -> Result<Self, NotOperator> {
        if !row.get::<_, bool>("is_live") {
            return Err(NotOperator::Ended);
        }
        if row.get::<_, &str>("role") != OPERATOR {
            return Err(NotOperator::Ordinary);
        }
        Ok(Self::read(row))
    }

    fn read(row: &Row) -> Self {
        Self {
            id: row.get("id"),
            email: row.get("email"),
            name: row.get("name"),
            has_second_factor: row.get("has_second_factor"),
        }
    }
}

impl Platform {
    /// Whether all operators need a second factor.
    pub(crate) fn requires_second_factor(&self) -> bool {
        self.0.second_factor == SecondFactor::Required
    }

    /// Whether this one does.
    pub(crate) fn needs_second_factor(&self, user: &OperatorUser) -> bool {
        self.requires_second_factor() || user.has_second_factor
    }

    /// An operator without a session: the user of an access token.
    pub(crate) async fn find_operator(
        &self,
        user: Uuid,
    ) -> Result<Result<OperatorUser, NotOperator>, PlatformError> {
        let sql = format!("select {USER_COLUMNS} from auth.users u where u.id = $1");
        let row = self.tables().await?.query_opt(&sql, &[&user]).await?;
        Ok(row
            .as_ref()
            .map_or(Err(NotOperator::Ended), OperatorUser::from_row))
    }

    /// An operator and the session of the access token.
    pub(crate) async fn find_signed_in(
        &self,
        user: Uuid,
        session: Uuid,
        expires_at: i64,
    ) -> Result<Result<(OperatorUser, SessionProof), NotOperator>, PlatformError> {
        let Some((row, proof)) = self.session_row(user, session, expires_at).await? else {
            return Ok(Err(NotOperator::Ended));
        };
        Ok(OperatorUser::from_row(&row).map(|user| (user, proof)))
    }

    /// A user of project zero who need not be an operator yet, as whoever accepts an invitation.
    pub(crate) async fn find_invited(
        &self,
        user: Uuid,
        session: Uuid,
    ) -> Result<Option<OperatorUser>, PlatformError> {
        let Some((row, proof)) = self.session_row(user, session, i64::MAX).await? else {
            return Ok(None);
        };
        let user = OperatorUser::read(&row);
        let is_proven = proof.is_aal2 || !user.has_second_factor;
        Ok((row.get::<_, bool>("is_live") && is_proven).then_some(user))
    }

    async fn session_row(
        &self,
        user: Uuid,
        session: Uuid,
        expires_at: i64,
    ) -> Result<Option<(Row, SessionProof)>, PlatformError> {
        let sql = format!("select {USER_COLUMNS} {WITH_SESSION}");
        let tables = self.tables().await?;
        let row = tables
            .query_opt(&sql, &[&user, &session, &STEP_UP_MINUTES])
            .await?;
        let Some(row) = row else { return Ok(None) };
        let has_factor: bool = row.get("has_second_factor");
        let is_aal2: bool = row.get::<_, bool>("is_aal2") && has_factor;
        let counts_any = self.0.second_factor == SecondFactor::Optional && !has_factor;
        let seconds: Option<i32> = if counts_any {
            row.get("any_seconds")
        } else {
            row.get("factor_seconds")
        };
        let fresh_seconds = seconds.filter(|seconds| *seconds > 0 && (is_aal2 || counts_any));
        let proof = SessionProof {
            id: session,
            is_aal2,
            is_fresh: fresh_seconds.is_some(),
            fresh_seconds,
            expires_at,
        };
        Ok(Some((row, proof)))
    }
}
