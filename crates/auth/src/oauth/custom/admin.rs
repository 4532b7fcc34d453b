//! `/admin/custom-providers`

use axum::{Json, extract::Path, http::StatusCode};
use plinth_db::DbError;
use plinth_token::Secret;
use serde_json::{Value, json};

use super::{
    body::{ProviderBody, ProviderParams},
    require_openid, validation,
};
use crate::{
    AuthError,
    caller::Admin,
    model::{
        Conflict,
        custom_providers::{self, CustomProvider, Protocol},
    },
    oauth::{
        http_client::{HttpClient, HttpError},
        oidc::well_known_url,
    },
    request::{Input, Query, RequestContext},
};

/// `GET /admin/custom-providers`: all, or those of `?type=`.
pub(crate) async fn list(
    context: RequestContext,
    _admin: Admin,
    query: Query,
) -> Result<Json<Value>, AuthError> {
    check_feature(&context)?;
    let protocol = match query.get("type") {
        "" => None,
        text => Some(Protocol::parse(text).ok_or_else(|| {
            AuthError::validation_failed("type must be either 'oauth2' or 'oidc'")
        })?),
    };
    let mut db = context.db().await?;
    let providers = custom_providers::list(&mut db, protocol).await?;
    let providers: Vec<ProviderBody> = providers.into_iter().map(Into::into).collect();
    Ok(Json(json!({ "providers": providers })))
}

/// `POST /admin/custom-providers`
pub(crate) async fn create(
    context: RequestContext,
    _admin: Admin,
    Input(params): Input<ProviderParams>,
) -> Result<(StatusCode, Json<Value>), AuthError> {
    check_feature(&context)?;
    let protocol = Protocol::parse(&params.provider_type).ok_or_else(|| {
        AuthError::validation_failed("provider_type must be either 'oauth2' or 'oidc'")
    })?;
    let mut provider = new_provider(&context, protocol, &params.identifier);
    apply(&mut provider, params);
    validation::check(&provider)?;
    check_quota(&context, &provider.identifier).await?;
    validation::check_urls(&context, &provider).await?;
    discover(&context, &mut provider).await?;

    let mut db = context.db().await?;
    custom_providers::insert(&mut db, &provider)
        .await
        .map_err(or_exists)?;
    let body = ProviderBody::from(provider);
    Ok((StatusCode::CREATED, Json(json!(body))))
}

/// `GET /admin/custom-providers/{identifier}`
pub(crate) async fn show(
    context: RequestContext,
    _admin: Admin,
    Path(identifier): Path<String>,
) -> Result<Json<Value>, AuthError> {
    check_feature(&context)?;
    let provider = load(&context, &identifier).await?;
    Ok(Json(json!(ProviderBody::from(provider))))
}

/// `PUT /admin/custom-providers/{identifier}`: absent fields are unchanged.
pub(crate) async fn update(
    context: RequestContext,
    _admin: Admin,
    Path(identifier): Path<String>,
    Input(params): Input<ProviderParams>,
) -> Result<Json<Value>, AuthError> {
    check_feature(&context)?;
    let old = load(&context, &identifier).await?;
    let is_moved = !params.issuer.is_empty() || !params.discovery_url.is_empty();
    let mut provider = old.clone();
    apply(&mut provider, params);
    provider.updated_at = context.now;
    validation::check(&provider)?;
    validation::check_urls(&context, &provider).await?;
    if is_moved {
        discover(&context, &mut provider).await?;
    }

    let mut db = context.db().await?;
    if custom_providers::update(&mut db, &provider).await? == 0 {
        return Err(AuthError::custom_provider_not_found());
    }
    for row in [&old, &provider] {
        evict_discovery(&context, row);
    }
    Ok(Json(json!(ProviderBody::from(provider))))
}

/// `DELETE /admin/custom-providers/{identifier}`
pub(crate) async fn delete(
    context: RequestContext,
    _admin: Admin,
    Path(identifier): Path<String>,
) -> Result<StatusCode, AuthError> {
    check_feature(&context)?;
    let provider = load(&context, &identifier).await?;
    let mut db = context.db().await?;
    if custom_providers::delete(&mut db, &identifier).await? == 0 {
        return Err(AuthError::custom_provider_not_found());
    }
    evict_discovery(&context, &provider);
    Ok(StatusCode::NO_CONTENT)
}

fn check_feature(context: &RequestContext) -> Result<(), AuthError> {
    if context.config.custom_providers.is_enabled {
        Ok(())
    } else {
        Err(AuthError::custom_providers_disabled())
    }
}

async fn load(context: &RequestContext, identifier: &str) -> Result<CustomProvider, AuthError> {
    validation::check_prefix(identifier)?;
    if identifier.contains('\0') {
        return Err(AuthError::custom_provider_not_found());
    }
    let mut db = context.db().await?;
    let found = custom_providers::find(&mut db, identifier).await?;
    found.ok_or_else(AuthError::custom_provider_not_found)
}

/// Checks the quota of providers and that the name is free.
async fn check_quota(context: &RequestContext, identifier: &str) -> Result<(), AuthError> {
    let mut db = context.db().await?;
    let max = context.config.custom_providers.max_providers;
    if max > 0 && custom_providers::count(&mut db).await? >= i64::try_from(max).unwrap_or(i64::MAX)
    {
        return Err(AuthError::over_custom_provider_quota());
    }
    match custom_providers::find(&mut db, identifier).await? {
        None => Ok(()),
        Some(_) => Err(AuthError::custom_provider_exists()),
    }
}

/// A concurrent request may have created it.
fn or_exists(error: DbError) -> AuthError {
    match Conflict::find(&error) {
        Some(Conflict::CustomProvider) => AuthError::custom_provider_exists(),
        _ => error.into(),
    }
}

fn new_provider(context: &RequestContext, protocol: Protocol, identifier: &str) -> CustomProvider {
    CustomProvider {
        id: crate::random::uuid(),
        protocol,
        identifier: identifier.to_owned(),
        name: String::new(),
        client_id: String::new(),
        client_secret: Secret::new(""),
        acceptable_client_ids: Vec::new(),
        scopes: Vec::new(),
        pkce_enabled: true,
        attribute_mapping: Default::default(),
        authorization_params: Default::default(),
        custom_claims_allowlist: Vec::new(),
        enabled: true,
        email_optional: false,
        issuer: None,
        discovery_url: None,
        skip_nonce_check: false,
        cached_discovery: None,
        authorization_url: None,
        token_url: None,
        userinfo_url: None,
        jwks_uri: None,
        created_at: context.now,
        updated_at: context.now,
    }
}

/// Applies the request's fields. Those of the other protocol are ignored.
fn apply(provider: &mut CustomProvider, params: ProviderParams) {
    set_text(&mut provider.name, params.name);
    set_text(&mut provider.client_id, params.client_id);
    if !params.client_secret.is_empty() {
        provider.client_secret = Secret::new(params.client_secret);
    }
    set(
        &mut provider.acceptable_client_ids,
        params.acceptable_client_ids,
    );
    set(&mut provider.scopes, params.scopes);
    set(&mut provider.pkce_enabled, params.pkce_enabled);
    set(&mut provider.attribute_mapping, params.attribute_mapping);
    set(
        &mut provider.custom_claims_allowlist,
        params.custom_claims_allowlist,
    );
    set(
        &mut provider.authorization_params,
        params.authorization_params,
    );
    set(&mut provider.enabled, params.enabled);
    set(&mut provider.email_optional, params.email_optional);
    match provider.protocol {
        Protocol::OpenId => {
            set_url(&mut provider.issuer, params.issuer);
            set_url(&mut provider.discovery_url, params.discovery_url);
            set(&mut provider.skip_nonce_check, params.skip_nonce_check);
            require_openid(&mut provider.scopes);
        }
        Protocol::OAuth2 => {
            set_url(&mut provider.authorization_url, params.authorization_url);
            set_url(&mut provider.token_url, params.token_url);
            set_url(&mut provider.userinfo_url, params.userinfo_url);
            set_url(&mut provider.jwks_uri, params.jwks_uri);
        }
    }
}

fn set<T>(field: &mut T, value: Option<T>) {
    if let Some(value) = value {
        *field = value;
    }
}

fn set_text(field: &mut String, value: String) {
    set(field, (!value.is_empty()).then_some(value));
}

fn set_url(field: &mut Option<String>, value: String) {
    set(field, (!value.is_empty()).then_some(Some(value)));
}

/// Reads the discovery document now, so that mistakes show here and not at the first sign-in.
async fn discover(
    context: &RequestContext,
    provider: &mut CustomProvider,
) -> Result<(), AuthError> {
    let Some(issuer) = provider.issuer.clone().filter(|_| provider.is_openid()) else {
        return Ok(());
    };
    let url = match provider.discovery_url() {
        Some(url) => url.to_owned(),
        None => well_known_url(&issuer),
    };
    let document = fetch(context, &url).await.map_err(|error| {
        AuthError::validation_failed(format!("OIDC discovery from {url:?} failed: {error}"))
    })?;
    provider.cached_discovery = Some(validation::check_document(&document, &issuer)?);
    Ok(())
}

async fn fetch(context: &RequestContext, url: &str) -> Result<Value, HttpError> {
    let http = HttpClient::public_only(context);
    http.json(http.get(url)?).await
}

fn evict_discovery(context: &RequestContext, provider: &CustomProvider) {
    if let Some(issuer) = &provider.issuer {
        let discovery = context.service.discovery();
        discovery.evict(issuer, provider.discovery_url());
    }
}
