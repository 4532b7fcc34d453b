//! Personal access tokens (console contract F10): stored as a hash, shown once.

mod limits;

use plinth_project::ProjectRef;
use plinth_token::{AccessToken, Secret};
use time::OffsetDateTime;
use tokio_postgres::Row;
use uuid::Uuid;

use crate::{Platform, PlatformError};

pub use limits::TokenLimits;
pub(crate) use limits::{CREATE_TOKENS, MAX_LIMIT_ENTRIES, READ_SECRETS};

/// A token without its text.
#[derive(Debug, Clone)]
pub struct StoredToken {
    /// Its row.
    pub id: Uuid,
    /// As its owner named it.
    pub name: String,
    /// The part that may be shown.
    pub prefix: String,
    /// When it was created.
    pub created_at: OffsetDateTime,
    /// When it expires.
    pub expires_at: Option<OffsetDateTime>,
    /// When it was last used, to the minute.
    pub last_used_at: Option<OffsetDateTime>,
    /// What it may do.
    pub limits: TokenLimits,
    /// The token that created it.
    pub(crate) parent: Option<Uuid>,
    /// The user whose rights it has at most; none for one made over the control socket.
    pub(crate) user: Option<Uuid>,
    /// All branches of its projects, transitively.
    branches: Vec<ProjectRef>,
}

/// Parameters of a new token.
#[derive(Debug, Clone, Default)]
pub struct TokenRequest {
    /// Its name.
    pub name: String,
    /// When it expires.
    pub expires_at: Option<OffsetDateTime>,
    /// What it may do.
    pub limits: TokenLimits,
    /// The token that creates it; it is revoked together with it.
    pub parent: Option<Uuid>,
    /// The user whose rights it has at most.
    pub user: Option<Uuid>,
}

/// Condition on a row of `platform.tokens`. Ancestors are checked too, because a token that was
/// created while its parent was being revoked is not marked as revoked itself.
pub(crate) const IS_LIVE: &str = "revoked_at is null and (expires_at is null or expires_at > now())
    and not exists (
        with recursive ancestors as (
            select parent_id as id
            union
            select t.parent_id from platform.tokens t join ancestors on t.id = ancestors.id)
        select from ancestors join platform.tokens t on t.id = ancestors.id
        where t.revoked_at is not null)";

const COLUMNS: &str = "id, name, prefix, created_at, expires_at, last_used_at, scopes, projects,
    read_only, parent_id, user_id, array(
        with recursive descendants as (
            select ref from platform.branches where parent_ref = any(projects)
            union
            select b.ref
            from platform.branches b join descendants on b.parent_ref = descendants.ref)
        select ref from descendants) as branches";

impl StoredToken {
    fn from_row(row: &Row) -> Result<Self, PlatformError> {
        let projects: Option<Vec<String>> = row.get("projects");
        Ok(Self {
            id: row.get("id"),
            name: row.get("name"),
            prefix: row.get("prefix"),
            created_at: row.get("created_at"),
            expires_at: row.get("expires_at"),
            last_used_at: row.get("last_used_at"),
            limits: TokenLimits {
                scopes: row.get("scopes"),
                projects: projects.map(references).transpose()?,
                read_only: row.get("read_only"),
            },
            parent: row.get("parent_id"),
            user: row.get("user_id"),
            branches: references(row.get("branches"))?,
        })
    }

    /// A token may only create tokens with fewer or equal rights and an expiry not after its own.
    pub(crate) fn check_delegation(&self, request: &TokenRequest) -> Result<(), PlatformError> {
        let limits = &request.limits;
        let has_projects = match (&self.limits.projects, &limits.projects) {
            (Some(_), None) => false,
            (_, projects) => projects
                .iter()
                .flatten()
                .all(|project| self.can_access(project)),
        };
        if !has_projects || !self.limits.include(limits) {
            return Err(PlatformError::Forbidden(
                "A token makes no token that may do more than itself: name scopes and projects of \
                 its own"
                    .to_owned(),
            ));
        }
        match (self.expires_at, request.expires_at) {
            (Some(own), requested) if requested.is_none_or(|requested| requested > own) => Err(
                PlatformError::Forbidden("A token makes no token that outlives it".to_owned()),
            ),
            _ => Ok(()),
        }
    }

    /// Whether a project is among its projects or their branches, or it is not limited to projects.
    pub(crate) fn can_access(&self, project: &ProjectRef) -> bool {
        self.limits.projects.as_ref().is_none_or(|projects| {
            let mut accessible = projects.iter().chain(&self.branches);
            accessible.any(|own| own == project)
        })
    }
}

fn references(texts: Vec<String>) -> Result<Vec<ProjectRef>, PlatformError> {
    let parsed = texts.iter().map(|text| text.parse());
    parsed
        .collect::<Result<_, _>>()
        .map_err(PlatformError::caused_by)
}

impl Platform {
    /// Creates a token and returns its text, which is not stored.
    pub async fn create_token(
        &self,
        request: &TokenRequest,
    ) -> Result<(StoredToken, Secret), PlatformError> {
        let TokenRequest {
            name,
            expires_at,
            limits,
            parent,
            user,
        } = request;
        let name = name.trim();
        if name.parse::<Uuid>().is_ok() {
            return Err(PlatformError::Invalid(
                "A token's name is no id: one could be taken for another".to_owned(),
            ));
        }
        if !(1..=256).contains(&name.chars().count()) {
            return Err(PlatformError::Invalid(
                "A token's name has 1 to 256 characters".to_owned(),
            ));
        }
        limits.check()?;
        let projects = limits.projects.as_ref().map(|projects| {
            let texts = projects.iter().map(ProjectRef::to_string);
            texts.collect::<Vec<_>>()
        });
        let token = AccessToken::generate();
        let sql = format!(
            "insert into platform.tokens
                (hash, name, prefix, expires_at, scopes, projects, read_only, parent_id, user_id)
             values ($1, $2, $3, $4, $5, $6, $7, $8, $9)
             returning {COLUMNS}"
        );
        let params: plinth_db::Params<'_> = &[
            &token.hash(),
            &name,
            &token.masked(),
            &expires_at,
            &limits.scopes,
            &projects,
            &limits.read_only,
            parent,
            user,
        ];
        let row = self.tables().await?.query_one(&sql, params).await?;
        Ok((StoredToken::from_row(&row)?, token.text().clone()))
    }

    /// The live tokens, oldest first.
    pub async fn list_tokens(&self) -> Result<Vec<StoredToken>, PlatformError> {
        let sql = format!(
            "select {COLUMNS} from platform.tokens
             where {IS_LIVE}
             order by created_at"
        );
        let rows = self.tables().await?.query(&sql, &[]).await?;
        rows.iter().map(StoredToken::from_row).collect()
    }

    /// Revokes a token, and those that it created.
    pub async fn revoke_token(&self, token: &StoredToken) -> Result<(), PlatformError> {
        let sql = "with recursive family as (
                       select $1::uuid as id
                       union
                       select t.id from platform.tokens t join family f on t.parent_id = f.id)
                   update platform.tokens t set revoked_at = now()
                   from family where t.id = family.id and t.revoked_at is null";
        self.tables().await?.execute(sql, &[&token.id]).await?;
        Ok(())
    }

    /// Revokes all tokens of a user.
    pub(crate) async fn revoke_tokens_of(&self, user: Uuid) -> Result<(), PlatformError> {
        let sql = "update platform.tokens set revoked_at = now()
                   where user_id = $1 and revoked_at is null";
        self.tables().await?.execute(sql, &[&user]).await?;
        Ok(())
    }

    /// A live token by its id or, if unique among the visible ones, by its name.
    pub(crate) async fn load_token(
        &self,
        id_or_name: &str,
        is_visible: impl Fn(&StoredToken) -> bool,
    ) -> Result<StoredToken, PlatformError> {
        let mut tokens = self.list_tokens().await?;
        tokens.retain(is_visible);
        let id = id_or_name.parse::<Uuid>().ok();
        let mut found = tokens
            .into_iter()
            .filter(|token| Some(token.id) == id || token.name == id_or_name);
        match (found.next(), found.next()) {
            (Some(token), None) => Ok(token),
            (None, _) => Err(PlatformError::NotFound(format!(
                "There is no token {id_or_name}"
            ))),
            (Some(_), Some(_)) => Err(PlatformError::Invalid(format!(
                "Several tokens are named {id_or_name}; give the id of one"
            ))),
        }
    }

    /// A token by its id, unless it is expired or revoked.
    pub(crate) async fn find_live_token(
        &self,
        id: Uuid,
    ) -> Result<Option<StoredToken>, PlatformError> {
        let sql = format!("select {COLUMNS} from platform.tokens where id = $1 and {IS_LIVE}");
        let row = self.tables().await?.query_opt(&sql, &[&id]).await?;
        row.as_ref().map(StoredToken::from_row).transpose()
    }

    /// The live token with this text. Updates `last_used_at` at most once a minute.
    pub(crate) async fn find_token(
        &self,
        text: &str,
    ) -> Result<Option<StoredToken>, PlatformError> {
        let Ok(token) = AccessToken::parse(text) else {
            return Ok(None);
        };
        let tables = self.tables().await?;
        let sql = format!(
            "select {COLUMNS} from platform.tokens
             where hash = $1 and {IS_LIVE}"
        );
        let Some(row) = tables.query_opt(&sql, &[&token.hash()]).await? else {
            return Ok(None);
        };
        let token = StoredToken::from_row(&row)?;
        let touch = "update platform.tokens set last_used_at = now()
                    where id = $1
                      and (last_used_at is null or last_used_at < now() - interval '1 minute')";
        tables.execute(touch, &[&token.id]).await?;
        Ok(Some(token))
    }
}
