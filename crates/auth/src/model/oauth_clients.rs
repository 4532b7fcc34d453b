//! `auth.oauth_clients`: applications that may ask users for access.

use aws_lc_rs::digest;
use data_encoding::BASE64URL_NOPAD;
use plinth_db::{DbError, Params, Queries, Row};
use serde::Serialize;
use subtle::ConstantTimeEq;
use time::OffsetDateTime;
use uuid::Uuid;

use crate::{random, wire_time};

/// An application.
#[derive(Clone)]
pub(crate) struct Client {
    pub(crate) id: Uuid,
    pub(crate) secret_hash: String,
    pub(crate) is_dynamic: bool,
    pub(crate) is_public: bool,
    pub(crate) auth_method: AuthMethod,
    pub(crate) redirect_uris: Vec<String>,
    pub(crate) grant_types: Vec<String>,
    /// Empty for none, like the next two.
    pub(crate) name: String,
    pub(crate) uri: String,
    pub(crate) logo_uri: String,
    pub(crate) created_at: OffsetDateTime,
    pub(crate) updated_at: OffsetDateTime,
}

/// How a client authenticates at the token endpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AuthMethod {
    Basic,
    Post,
    None,
}

impl AuthMethod {
    pub(crate) const ALL: [Self; 3] = [Self::None, Self::Basic, Self::Post];

    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Basic => "client_secret_basic",
            Self::Post => "client_secret_post",
            Self::None => "none",
        }
    }

    pub(crate) fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|method| method.as_str() == text)
    }

    /// Whether it is for clients without a secret.
    pub(crate) fn is_public(self) -> bool {
        self == Self::None
    }
}

impl Client {
    /// Sets a new secret and returns it; only its hash is stored.
    pub(crate) fn regenerate_secret(&mut self) -> String {
        let secret = random::url_text::<32>();
        self.secret_hash = hash(&secret);
        secret
    }

    pub(crate) fn has_secret(&self, secret: &str) -> bool {
        let shown = hash(secret);
        !self.secret_hash.is_empty() && shown.as_bytes().ct_eq(self.secret_hash.as_bytes()).into()
    }

    pub(crate) fn from_row(row: &Row) -> Result<Self, DbError> {
        let text = |column: &str| -> Result<String, DbError> {
            let value: Option<String> = row.try_get(column)?;
            Ok(value.unwrap_or_default())
        };
        let list = |column: &str| -> Result<Vec<String>, DbError> {
            let text = text(column)?;
            let parts = text.split(',').filter(|part| !part.is_empty());
            Ok(parts.map(str::to_owned).collect())
        };
        let method = text("token_endpoint_auth_method")?;
        Ok(Self {
            id: row.try_get("id")?,
            secret_hash: text("client_secret_hash")?,
            is_dynamic: text("registration_type")? == "dynamic",
            is_public: text("client_type")? == "public",
            auth_method: AuthMethod::parse(&method).unwrap_or(AuthMethod::Basic),
            redirect_uris: list("redirect_uris")?,
            grant_types: list("grant_types")?,
            name: text("client_name")?,
            uri: text("client_uri")?,
            logo_uri: text("logo_uri")?,
            created_at: row.try_get("created_at")?,
            updated_at: row.try_get("updated_at")?,
        })
    }
}

fn hash(secret: &str) -> String {
    BASE64URL_NOPAD.encode(digest::digest(&digest::SHA256, secret.as_bytes()).as_ref())
}

/// A client as administrators see it.
#[derive(Serialize)]
pub(crate) struct ClientBody {
    client_id: Uuid,
    /// Only in the response to the request that made it.
    #[serde(skip_serializing_if = "Option::is_none")]
    client_secret: Option<String>,
    client_type: &'static str,
    redirect_uris: Vec<String>,
    token_endpoint_auth_method: &'static str,
    grant_types: Vec<String>,
    response_types: [&'static str; 1],
    #[serde(skip_serializing_if = "String::is_empty")]
    client_name: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    client_uri: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    logo_uri: String,
    registration_type: &'static str,
    #[serde(serialize_with = "wire_time::serialize")]
    created_at: OffsetDateTime,
    #[serde(serialize_with = "wire_time::serialize")]
    updated_at: OffsetDateTime,
}

impl ClientBody {
    pub(crate) fn new(client: Client, client_secret: Option<String>) -> Self {
        Self {
            client_id: client.id,
            client_secret,
            client_type: client_type(client.is_public),
            redirect_uris: client.redirect_uris,
            token_endpoint_auth_method: client.auth_method.as_str(),
            grant_types: client.grant_types,
            response_types: ["code"],
            client_name: client.name,
            client_uri: client.uri,
            logo_uri: client.logo_uri,
            registration_type: registration_type(client.is_dynamic),
            created_at: client.created_at,
            updated_at: client.updated_at,
        }
    }
}

fn client_type(is_public: bool) -> &'static str {
    if is_public { "public" } else { "confidential" }
}

fn registration_type(is_dynamic: bool) -> &'static str {
    if is_dynamic { "dynamic" } else { "manual" }
}

/// A client as users see it.
#[derive(Debug, Serialize)]
pub(crate) struct ClientSummary {
    id: Uuid,
    #[serde(skip_serializing_if = "String::is_empty")]
    name: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    uri: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    logo_uri: String,
}

impl From<Client> for ClientSummary {
    fn from(client: Client) -> Self {
        Self {
            id: client.id,
            name: client.name,
            uri: client.uri,
            logo_uri: client.logo_uri,
        }
    }
}

/// The columns of a [`Client`], with the table as `c`.
pub(crate) const COLUMNS: &str =
    "c.id, c.client_secret_hash, c.registration_type::text as registration_type,
    c.client_type::text as client_type, c.token_endpoint_auth_method, c.redirect_uris,
    c.grant_types, c.client_name, c.client_uri, c.logo_uri, c.created_at, c.updated_at";

/// By id; deleted ones are not found.
pub(crate) async fn find(db: &mut impl Queries, id: Uuid) -> Result<Option<Client>, DbError> {
    let sql = format!(
        "select {COLUMNS} from auth.oauth_clients c where c.id = $1 and c.deleted_at is null"
    );
    let row = db.query_opt(&sql, &[&id]).await?;
    row.as_ref().map(Client::from_row).transpose()
}

/// As [`find`], locked until the transaction ends.
pub(crate) async fn lock(db: &mut impl Queries, id: Uuid) -> Result<Option<Client>, DbError> {
    let sql = format!(
        "select {COLUMNS} from auth.oauth_clients c where c.id = $1 and c.deleted_at is null
         for update"
    );
    let row = db.query_opt(&sql, &[&id]).await?;
    row.as_ref().map(Client::from_row).transpose()
}

/// All that are not deleted, newest first.
pub(crate) async fn list(
    db: &mut impl Queries,
    limit: Option<i64>,
    offset: i64,
) -> Result<Vec<Client>, DbError> {
    let sql = format!(
        "select {COLUMNS} from auth.oauth_clients c where c.deleted_at is null
         order by c.created_at desc, c.id limit $1 offset $2"
    );
    let rows = db.query(&sql, &[&limit, &offset]).await?;
    rows.iter().map(Client::from_row).collect()
}

pub(crate) async fn count(db: &mut impl Queries) -> Result<u64, DbError> {
    let sql = "select count(*) as total from auth.oauth_clients where deleted_at is null";
    let total: i64 = match db.query_opt(sql, &[]).await? {
        Some(row) => row.try_get("total")?,
        None => 0,
    };
    Ok(total.unsigned_abs())
}

pub(crate) async fn insert(db: &mut impl Queries, client: &Client) -> Result<(), DbError> {
    let sql = "insert into auth.oauth_clients (
                 id, client_secret_hash, registration_type, client_type,
                 token_endpoint_auth_method, redirect_uris, grant_types, client_name, client_uri,
                 logo_uri, created_at, updated_at)
               values ($1, $2, $3::text::auth.oauth_registration_type,
                 $4::text::auth.oauth_client_type, $5, $6, $7, nullif($8, ''), nullif($9, ''),
                 nullif($10, ''), $11, $12)";
    let params: Params<'_> = &[
        &client.id,
        &client.secret_hash,
        &registration_type(client.is_dynamic),
        &client_type(client.is_public),
        &client.auth_method.as_str(),
        &client.redirect_uris.join(","),
        &client.grant_types.join(","),
        &client.name,
        &client.uri,
        &client.logo_uri,
        &client.created_at,
        &client.updated_at,
    ];
    db.execute(sql, params).await?;
    Ok(())
}

/// Updates everything that can change.
pub(crate) async fn update(db: &mut impl Queries, client: &Client) -> Result<(), DbError> {
    let sql = "update auth.oauth_clients
               set client_secret_hash = $2, token_endpoint_auth_method = $3,
                 redirect_uris = $4, grant_types = $5, client_name = nullif($6, ''),
                 client_uri = nullif($7, ''), logo_uri = nullif($8, ''), updated_at = $9
               where id = $1";
    let params: Params<'_> = &[
        &client.id,
        &client.secret_hash,
        &client.auth_method.as_str(),
        &client.redirect_uris.join(","),
        &client.grant_types.join(","),
        &client.name,
        &client.uri,
        &client.logo_uri,
        &client.updated_at,
    ];
    db.execute(sql, params).await?;
    Ok(())
}

/// Marks a client as deleted; returns whether there was one. The row stays, since others refer to
/// it.
pub(crate) async fn delete(
    db: &mut impl Queries,
    id: Uuid,
    now: OffsetDateTime,
) -> Result<bool, DbError> {
    let sql = "update auth.oauth_clients set deleted_at = $2, updated_at = $2
               where id = $1 and deleted_at is null";
    Ok(db.execute(sql, &[&id, &now]).await? > 0)
}
