//! `auth.custom_oauth_providers`: providers that were defined over the API.

use plinth_db::{DbError, Params, Queries, Row};
use plinth_token::Secret;
use serde_json::Value;
use time::OffsetDateTime;
use uuid::Uuid;

use super::Object;

/// A provider that was defined over the API.
#[derive(Debug, Clone)]
pub(crate) struct CustomProvider {
    pub(crate) id: Uuid,
    pub(crate) protocol: Protocol,
    /// With its prefix.
    pub(crate) identifier: String,
    pub(crate) name: String,
    pub(crate) client_id: String,
    pub(crate) client_secret: Secret,
    pub(crate) acceptable_client_ids: Vec<String>,
    pub(crate) scopes: Vec<String>,
    pub(crate) pkce_enabled: bool,
    pub(crate) attribute_mapping: Object,
    pub(crate) authorization_params: Object,
    pub(crate) custom_claims_allowlist: Vec<String>,
    pub(crate) enabled: bool,
    pub(crate) email_optional: bool,
    pub(crate) issuer: Option<String>,
    pub(crate) discovery_url: Option<String>,
    pub(crate) skip_nonce_check: bool,
    /// The discovery document as it was when the row was saved.
    pub(crate) cached_discovery: Option<Value>,
    pub(crate) authorization_url: Option<String>,
    pub(crate) token_url: Option<String>,
    pub(crate) userinfo_url: Option<String>,
    pub(crate) jwks_uri: Option<String>,
    pub(crate) created_at: OffsetDateTime,
    pub(crate) updated_at: OffsetDateTime,
}

/// The protocol that a provider speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Protocol {
    OAuth2,
    OpenId,
}

impl Protocol {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::OAuth2 => "oauth2",
            Self::OpenId => "oidc",
        }
    }

    pub(crate) fn parse(text: &str) -> Option<Self> {
        [Self::OAuth2, Self::OpenId]
            .into_iter()
            .find(|protocol| protocol.as_str() == text)
    }
}

const COLUMNS: &str = "p.id, p.provider_type, p.identifier, p.name, p.client_id, p.client_secret,
    p.acceptable_client_ids, p.scopes, p.pkce_enabled, p.attribute_mapping,
    p.authorization_params, p.custom_claims_allowlist, p.enabled, p.email_optional, p.issuer,
    p.discovery_url, p.skip_nonce_check, p.cached_discovery, p.authorization_url, p.token_url,
    p.userinfo_url, p.jwks_uri, p.created_at, p.updated_at";

impl CustomProvider {
    fn from_row(row: &Row) -> Result<Self, DbError> {
        let object = |column: &str| -> Result<Object, DbError> {
            Ok(match row.try_get(column)? {
                Value::Object(object) => object,
                _ => Object::new(),
            })
        };
        let protocol: String = row.try_get("provider_type")?;
        let protocol = Protocol::parse(&protocol)
            .ok_or_else(|| DbError::Misuse(format!("a provider of the unknown type {protocol}")))?;
        let secret: String = row.try_get("client_secret")?;
        Ok(Self {
            id: row.try_get("id")?,
            protocol,
            identifier: row.try_get("identifier")?,
            name: row.try_get("name")?,
            client_id: row.try_get("client_id")?,
            client_secret: Secret::new(secret),
            acceptable_client_ids: row.try_get("acceptable_client_ids")?,
            scopes: row.try_get("scopes")?,
            pkce_enabled: row.try_get("pkce_enabled")?,
            attribute_mapping: object("attribute_mapping")?,
            authorization_params: object("authorization_params")?,
            custom_claims_allowlist: row.try_get("custom_claims_allowlist")?,
            enabled: row.try_get("enabled")?,
            email_optional: row.try_get("email_optional")?,
            issuer: row.try_get("issuer")?,
            discovery_url: row.try_get("discovery_url")?,
            skip_nonce_check: row.try_get("skip_nonce_check")?,
            cached_discovery: row.try_get("cached_discovery")?,
            authorization_url: row.try_get("authorization_url")?,
            token_url: row.try_get("token_url")?,
            userinfo_url: row.try_get("userinfo_url")?,
            jwks_uri: row.try_get("jwks_uri")?,
            created_at: row.try_get("created_at")?,
            updated_at: row.try_get("updated_at")?,
        })
    }
}

/// All, newest first, or those that speak one protocol.
pub(crate) async fn list(
    db: &mut impl Queries,
    protocol: Option<Protocol>,
) -> Result<Vec<CustomProvider>, DbError> {
    let sql = format!(
        "select {COLUMNS} from auth.custom_oauth_providers p
         where $1::text is null or p.provider_type = $1
         order by p.created_at desc, p.identifier"
    );
    let protocol = protocol.map(Protocol::as_str);
    let rows = db.query(&sql, &[&protocol]).await?;
    rows.iter().map(CustomProvider::from_row).collect()
}

pub(crate) async fn count(db: &mut impl Queries) -> Result<i64, DbError> {
    let sql = "select count(*) as providers from auth.custom_oauth_providers";
    let row = db.query_opt(sql, &[]).await?;
    row.map_or(Ok(0), |row| row.try_get("providers"))
}

/// By the identifier with its prefix.
pub(crate) async fn find(
    db: &mut impl Queries,
    identifier: &str,
) -> Result<Option<CustomProvider>, DbError> {
    let sql =
        format!("select {COLUMNS} from auth.custom_oauth_providers p where p.identifier = $1");
    let row = db.query_opt(&sql, &[&identifier]).await?;
    row.as_ref().map(CustomProvider::from_row).transpose()
}

pub(crate) async fn insert(
    db: &mut impl Queries,
    provider: &CustomProvider,
) -> Result<(), DbError> {
    let sql = "insert into auth.custom_oauth_providers (
                 id, name, client_id, client_secret, acceptable_client_ids, scopes, pkce_enabled,
                 attribute_mapping, authorization_params, custom_claims_allowlist, enabled,
                 email_optional, issuer, discovery_url, skip_nonce_check, cached_discovery,
                 authorization_url, token_url, userinfo_url, jwks_uri, updated_at,
                 discovery_cached_at, provider_type, identifier, created_at)
               values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17,
                 $18, $19, $20, $21, case when $16::jsonb is null then null else $21::timestamptz end,
                 $22, $23, $21)";
    let protocol = provider.protocol.as_str();
    write(db, sql, provider, &[&protocol, &provider.identifier]).await?;
    Ok(())
}

/// Everything but the protocol and the identifier; returns how many rows were updated.
pub(crate) async fn update(
    db: &mut impl Queries,
    provider: &CustomProvider,
) -> Result<u64, DbError> {
    let sql = "update auth.custom_oauth_providers set
                 name = $2, client_id = $3, client_secret = $4, acceptable_client_ids = $5,
                 scopes = $6, pkce_enabled = $7, attribute_mapping = $8,
                 authorization_params = $9, custom_claims_allowlist = $10, enabled = $11,
                 email_optional = $12, issuer = $13, discovery_url = $14, skip_nonce_check = $15,
                 discovery_cached_at = case
                   when cached_discovery is distinct from $16 then $21 else discovery_cached_at
                 end,
                 cached_discovery = $16, authorization_url = $17, token_url = $18,
                 userinfo_url = $19, jwks_uri = $20, updated_at = $21
               where id = $1";
    write(db, sql, provider, &[]).await
}

async fn write(
    db: &mut impl Queries,
    sql: &str,
    provider: &CustomProvider,
    more: Params<'_>,
) -> Result<u64, DbError> {
    let mapping = Value::Object(provider.attribute_mapping.clone());
    let authorization = Value::Object(provider.authorization_params.clone());
    let secret = provider.client_secret.expose();
    let params: Params<'_> = &[
        &provider.id,
        &provider.name,
        &provider.client_id,
        &secret,
        &provider.acceptable_client_ids,
        &provider.scopes,
        &provider.pkce_enabled,
        &mapping,
        &authorization,
        &provider.custom_claims_allowlist,
        &provider.enabled,
        &provider.email_optional,
        &provider.issuer,
        &provider.discovery_url,
        &provider.skip_nonce_check,
        &provider.cached_discovery,
        &provider.authorization_url,
        &provider.token_url,
        &provider.userinfo_url,
        &provider.jwks_uri,
        &provider.updated_at,
    ];
    db.execute(sql, &[params, more].concat()).await
}

/// Returns how many rows were deleted.
pub(crate) async fn delete(db: &mut impl Queries, identifier: &str) -> Result<u64, DbError> {
    let sql = "delete from auth.custom_oauth_providers where identifier = $1";
    db.execute(sql, &[&identifier]).await
}
