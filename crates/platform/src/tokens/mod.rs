//! Personal access tokens (console contract F10): stored as a hash, shown once.

use plinth_token::{AccessToken, Secret};
use time::OffsetDateTime;
use tokio_postgres::Row;
use uuid::Uuid;

use crate::{Platform, PlatformError};

/// A token without its text.
#[derive(Debug, Clone)]
pub struct StoredToken {
    /// Its row.
    pub id: Uuid,
    /// As its owner named it.
    pub name: String,
    /// What may be shown of it.
    pub prefix: String,
    /// When it was made.
    pub created_at: OffsetDateTime,
    /// When it ends by itself.
    pub expires_at: Option<OffsetDateTime>,
    /// When it was last shown to us, to the minute.
    pub last_used_at: Option<OffsetDateTime>,
}

const COLUMNS: &str = "id, name, prefix, created_at, expires_at, last_used_at";

impl StoredToken {
    fn from_row(row: &Row) -> Self {
        Self {
            id: row.get("id"),
            name: row.get("name"),
            prefix: row.get("prefix"),
            created_at: row.get("created_at"),
            expires_at: row.get("expires_at"),
            last_used_at: row.get("last_used_at"),
        }
    }
}

impl Platform {
    /// Makes a token and returns its text, which cannot be had again.
    pub async fn create_token(
        &self,
        name: &str,
        expires_at: Option<OffsetDateTime>,
    ) -> Result<(StoredToken, Secret), PlatformError> {
        let name = name.trim();
        if !(1..=256).contains(&name.chars().count()) {
            return Err(PlatformError::Invalid(
                "A token's name has 1 to 256 characters".to_owned(),
            ));
        }
        let token = AccessToken::generate();
        let sql = format!(
            "insert into platform.tokens (hash, name, prefix, expires_at) values ($1, $2, $3, $4)
             returning {COLUMNS}"
        );
        let tables = self.tables().await?;
        let row = tables
            .query_one(&sql, &[&token.hash(), &name, &token.masked(), &expires_at])
            .await?;
        Ok((StoredToken::from_row(&row), token.text().clone()))
    }

    /// The live tokens, oldest first.
    pub async fn list_tokens(&self) -> Result<Vec<StoredToken>, PlatformError> {
        let sql = format!(
            "select {COLUMNS} from platform.tokens
             where revoked_at is null and (expires_at is null or expires_at > now())
             order by created_at"
        );
        let rows = self.tables().await?.query(&sql, &[]).await?;
        Ok(rows.iter().map(StoredToken::from_row).collect())
    }

    /// Ends a token, named by its id or, when only one has it, by its name.
    pub async fn revoke_token(&self, id_or_name: &str) -> Result<StoredToken, PlatformError> {
        let token = self.token_named(id_or_name).await?;
        let sql = "update platform.tokens set revoked_at = now() where id = $1";
        self.tables().await?.execute(sql, &[&token.id]).await?;
        Ok(token)
    }

    /// The live token of that id or name.
    pub(crate) async fn token_named(&self, id_or_name: &str) -> Result<StoredToken, PlatformError> {
        let tokens = self.list_tokens().await?;
        let mut found = tokens
            .into_iter()
            .filter(|token| token.id.to_string() == id_or_name || token.name == id_or_name);
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

    /// The live token with this text. Its use is noted at most once a minute.
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
             where hash = $1 and revoked_at is null and (expires_at is null or expires_at > now())"
        );
        let Some(row) = tables.query_opt(&sql, &[&token.hash()]).await? else {
            return Ok(None);
        };
        let token = StoredToken::from_row(&row);
        let note = "update platform.tokens set last_used_at = now()
                    where id = $1
                      and (last_used_at is null or last_used_at < now() - interval '1 minute')";
        tables.execute(note, &[&token.id]).await?;
        Ok(Some(token))
    }
}
