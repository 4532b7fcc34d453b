//! `/admin/custom-providers`

use axum::{Json, extract::Path, http::StatusCode};
use plinth_db::DbError;
use plinth_token::Secret;
use serde_json::{Value, json};

use super::{
    CustomProvider, Protocol,
    body::{ProviderBody, ProviderParams},
    require_openid, rules, store,
};
use crate::{
    AuthError,
    error::Code,
    oauth::{
        oidc::well_known,
        web::{Web, WebError},
    },
    request::{Admin, Context, Input, Query},
};

/// `GET /admin/custom-providers`: all, or those of `?type=`.
pub(crate) async fn list(
    context: Context,
    _admin: Admin,
    query: Query,
) -> Result<Json<Value>, AuthError> {
    check_feature(&context)?;
    let protocol = match query.get("type") {
        "" => None,
        text => Some(
            Protocol::parse(text)
                .ok_or_else(|| AuthError::invalid("type must be either 'oauth2' or 'oidc'"))?,
        ),
    };
    let mut db = context.db().await?;
    let providers = store::list(&mut db, protocol).await?;
    let providers: Vec<ProviderBody> = providers.into_iter().map(Into::into).collect();
    Ok(Json(json!({ "providers": providers })))
}

/// `POST /admin/custom-providers`
pub(crate) async fn create(
    context: Context,
    _admin: Admin,
    Input(params): Input<ProviderParams>,
) -> Result<(StatusCode, Json<Value>), AuthError> {
    check_feature(&context)?;
    let protocol = Protocol::parse(&params.provider_type)
        .ok_or_else(|| AuthError::invalid("provider_type must be either 'oauth2' or 'oidc'"))?;
    let mut provider = blank(&context, protocol, &params.identifier);
    apply(&mut provider, params);
    rules::check(&provider)?;
    check_room(&context, &provider.identifier).await?;
    rules::check_urls(&context, &provider).await?;
    discover(&context, &mut provider).await?;

    let mut db = context.db().await?;
    store::insert(&mut db, &provider).await.map_err(taken)?;
    let body = ProviderBody::from(provider);
    Ok((StatusCode::CREATED, Json(json!(body))))
}

/// `GET /admin/custom-providers/{identifier}`
pub(crate) async fn show(
    context: Context,
    _admin: Admin,
    Path(identifier): Path<String>,
) -> Result<Json<Value>, AuthError> {
    check_feature(&context)?;
    let provider = load(&context, &identifier).await?;
    Ok(Json(json!(ProviderBody::from(provider))))
}

/// `PUT /admin/custom-providers/{identifier}`: what is absent stays as it was.
pub(crate) async fn update(
    context: Context,
    _admin: Admin,
    Path(identifier): Path<String>,
    Input(params): Input<ProviderParams>,
) -> Result<Json<Value>, AuthError> {
    check_feature(&context)?;
    let old = load(&context, &identifier).await?;
    let is_elsewhere = !params.issuer.is_empty() || !params.discovery_url.is_empty();
    let mut provider = old.clone();
    apply(&mut provider, params);
    provider.updated_at = context.now;
    rules::check(&provider)?;
    rules::check_urls(&context, &provider).await?;
    if is_elsewhere {
        discover(&context, &mut provider).await?;
    }

    let mut db = context.db().await?;
    if store::update(&mut db, &provider).await? == 0 {
        return Err(not_found());
    }
    for row in [&old, &provider] {
        forget(&context, row);
    }
    Ok(Json(json!(ProviderBody::from(provider))))
}

/// `DELETE /admin/custom-providers/{identifier}`
pub(crate) async fn delete(
    context: Context,
    _admin: Admin,
    Path(identifier): Path<String>,
) -> Result<StatusCode, AuthError> {
    check_feature(&context)?;
    let provider = load(&context, &identifier).await?;
    let mut db = context.db().await?;
    if store::delete(&mut db, &identifier).await? == 0 {
        return Err(not_found());
    }
    forget(&context, &provider);
    Ok(StatusCode::NO_CONTENT)
}

fn check_feature(context: &Context) -> Result<(), AuthError> {
    match context.config.custom_providers.is_enabled {
        true => Ok(()),
        false => Err(AuthError::new(
            404,
            Code::FeatureDisabled,
            "Custom OAuth providers are disabled",
        )),
    }
}

async fn load(context: &Context, identifier: &str) -> Result<CustomProvider, AuthError> {
    rules::check_prefix(identifier)?;
    if identifier.contains('\0') {
        return Err(not_found());
    }
    let mut db = context.db().await?;
    let found = store::find(&mut db, identifier).await?;
    found.ok_or_else(not_found)
}

fn not_found() -> AuthError {
    AuthError::new(
        404,
        Code::CustomProviderNotFound,
        "Custom OAuth provider not found",
    )
}

/// Whether another provider may be made, and of this name.
async fn check_room(context: &Context, identifier: &str) -> Result<(), AuthError> {
    let mut db = context.db().await?;
    let max = context.config.custom_providers.max_providers;
    if max > 0 && store::count(&mut db).await? >= i64::try_from(max).unwrap_or(i64::MAX) {
        return Err(AuthError::new(
            400,
            Code::OverCustomProviderQuota,
            "Maximum number of custom OAuth/OIDC providers reached",
        ));
    }
    match store::find(&mut db, identifier).await? {
        None => Ok(()),
        Some(_) => Err(exists()),
    }
}

fn exists() -> AuthError {
    AuthError::new(
        400,
        Code::Conflict,
        "A custom OAuth provider with this identifier already exists",
    )
}

/// Somebody else was faster.
fn taken(error: DbError) -> AuthError {
    match error.refusal() {
        Some(refusal) if refusal.sqlstate() == "23505" => exists(),
        _ => error.into(),
    }
}

fn blank(context: &Context, protocol: Protocol, identifier: &str) -> CustomProvider {
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

/// What the request says on top of what there is. Fields of the other protocol are ignored.
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

fn set<T>(field: &mut T, wish: Option<T>) {
    if let Some(wish) = wish {
        *field = wish;
    }
}

fn set_text(field: &mut String, wish: String) {
    set(field, (!wish.is_empty()).then_some(wish));
}

fn set_url(field: &mut Option<String>, wish: String) {
    set(field, (!wish.is_empty()).then_some(Some(wish)));
}

/// Reads the discovery document now, so that mistakes show now and not at somebody's sign-in.
async fn discover(context: &Context, provider: &mut CustomProvider) -> Result<(), AuthError> {
    let Some(issuer) = provider.issuer.clone().filter(|_| provider.is_openid()) else {
        return Ok(());
    };
    let url = match provider.discovery_url() {
        Some(url) => url.to_owned(),
        None => well_known(&issuer),
    };
    let document = fetch(context, &url).await.map_err(|error| {
        AuthError::invalid(format!("OIDC discovery from {url:?} failed: {error}"))
    })?;
    provider.cached_discovery = Some(rules::check_document(&document, &issuer)?);
    Ok(())
}

async fn fetch(context: &Context, url: &str) -> Result<Value, WebError> {
    let web = Web::guarded(context);
    web.json(web.get(url)?).await
}

fn forget(context: &Context, provider: &CustomProvider) {
    if let Some(issuer) = &provider.issuer {
        let discovery = context.service.discovery();
        discovery.forget(issuer, provider.discovery_url());
    }
}
