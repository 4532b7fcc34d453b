//! The context of a request: service, project, client, and redirect target.

use std::{net::IpAddr, sync::Arc};

use axum::{extract::FromRequestParts, http::request::Parts};
use http::{HeaderMap, Uri, header};
use plinth_project::{
    ClientAddress, Project, PublicUrl, Service, ServiceConnection, ServiceTransaction,
    account_pages_url, is_in_other_project,
};
use time::OffsetDateTime;
use tokio::time::{Instant, timeout_at};
use url::Url;

use super::{bearer::has_admin_token, time_limit};
use crate::{AuthConfig, AuthError, AuthService, service::ProjectState};

/// The extractor that every handler uses. Cheap to clone.
#[derive(Clone)]
pub(crate) struct RequestContext {
    pub(crate) service: AuthService,
    pub(crate) project: Project,
    /// The project's state in memory.
    pub(crate) state: Arc<ProjectState>,
    pub(crate) config: Arc<AuthConfig>,
    /// The time of the request; all its rows and tokens use it.
    pub(crate) now: OffsetDateTime,
    /// When [`Self::with_deadline`] times out.
    deadline: Instant,
    pub(crate) client: ClientInfo,
    /// Whether the bearer token has an admin role.
    pub(crate) is_admin: bool,
    /// The public URL of this service, without a trailing slash.
    pub(crate) external_url: String,
    /// The URL of the project's account pages, without a trailing slash.
    pub(crate) account_url: String,
    /// The URL of the project.
    public_url: PublicUrl,
    /// The forwarded host, which emails may use if a setting allows it.
    pub(crate) forwarded_host: Option<String>,
    /// `X-JWT-AUD`
    pub(crate) requested_audience: Option<String>,
    /// Requested redirect targets, by precedence.
    redirect_candidates: Vec<String>,
}

/// The client that sent the request.
#[derive(Debug, Clone)]
pub(crate) struct ClientInfo {
    pub(crate) ip: IpAddr,
    /// Whether a proxy passed the request on.
    pub(crate) is_forwarded: bool,
    pub(crate) user_agent: String,
    /// The key of rate limits.
    pub(crate) rate_key: String,
}

impl RequestContext {
    /// A privileged connection without a transaction.
    pub(crate) async fn db(&self) -> Result<ServiceConnection, AuthError> {
        Ok(self.project.db.as_service(Service::Auth).await?)
    }

    /// A privileged transaction.
    pub(crate) async fn begin(&self) -> Result<ServiceTransaction, AuthError> {
        Ok(self.project.db.begin_as_service(Service::Auth).await?)
    }

    /// The first redirect target that is allowed, else the site (§1.4).
    pub(crate) fn redirect_to(&self) -> String {
        let mut redirect_candidates = self.redirect_candidates.iter();
        redirect_candidates
            .find_map(|url| self.resolve_redirect(url))
            .unwrap_or_else(|| self.config.site().to_owned())
    }

    /// This context with another redirect target: the one its flow began with.
    pub(crate) fn with_redirect_to(&self, url: &str) -> Self {
        Self {
            redirect_candidates: vec![url.to_owned()],
            ..self.clone()
        }
    }

    /// This context with settings that are not saved.
    pub(crate) fn with_config(&self, config: AuthConfig) -> Self {
        Self {
            config: Arc::new(config),
            ..self.clone()
        }
    }

    /// The URL as it is sent, if redirects to it are allowed (§6.3).
    pub(crate) fn resolve_redirect(&self, url: &str) -> Option<String> {
        let config = &self.config;
        let target = config
            .redirects
            .resolve(url, &config.site_url, &self.account_url)?;
        // What a redirect carries must not reach a project that shares the host.
        let is_elsewhere = Url::parse(&target).is_ok_and(|parsed| {
            let kind = self.project.kind();
            is_in_other_project(kind, &self.public_url, &config.site_url, &parsed)
        });
        (!is_elsewhere).then_some(target)
    }

    /// Runs the work of a request that ends in a redirect. It times out before the request does, so
    /// that the error can still be sent in the redirect.
    pub(crate) async fn with_deadline<T, E: From<AuthError>>(
        &self,
        work: impl Future<Output = Result<T, E>>,
    ) -> Result<T, E> {
        match timeout_at(self.deadline, work).await {
            Ok(done) => done,
            Err(_) => Err(AuthError::request_timeout().into()),
        }
    }

    /// The audience that users are looked up by.
    pub(crate) fn audience(&self) -> &str {
        let requested = self.requested_audience.as_deref();
        requested.unwrap_or(&self.config.jwt.audience)
    }

    /// The audience of new users. Addresses are unique across audiences, so an audience chosen by
    /// the client would reveal which addresses are taken and could block them for others.
    pub(crate) fn new_audience(&self) -> &str {
        if self.is_admin {
            self.audience()
        } else {
            &self.config.jwt.audience
        }
    }

    /// The base URL of the discovery document.
    pub(crate) fn issuer(&self) -> &str {
        let configured = self.config.jwt.issuer.as_deref();
        configured.unwrap_or(&self.external_url)
    }

    /// `iss` of access tokens: [`Self::issuer`], but only if configured when this crate replaces
    /// GoTrue.
    pub(crate) fn token_issuer(&self) -> Option<&str> {
        let is_omitted = self.service.is_standalone() && self.config.jwt.issuer.is_none();
        (!is_omitted).then(|| self.issuer())
    }
}

impl FromRequestParts<AuthService> for RequestContext {
    type Rejection = AuthError;

    async fn from_request_parts(
        parts: &mut Parts,
        service: &AuthService,
    ) -> Result<Self, AuthError> {
        if let Some(context) = parts.extensions.get::<RequestContext>() {
            return Ok(context.clone());
        }
        let Some(project) = parts.extensions.get::<Project>().cloned() else {
            return Err(AuthError::unexpected("no project"));
        };
        let config = service.config(&project);
        let base = parts.extensions.get::<PublicUrl>().cloned();
        let base = base.unwrap_or_else(|| PublicUrl::new(""));
        let external_url = match &config.external_url {
            Some(url) => url.trim_end_matches('/').to_owned(),
            None => base.join("/auth/v1"),
        };
        let account_url = account_pages_url(project.kind(), &base, &config.account_path);
        let now = service.clock().now();
        let context = Self {
            state: service.state(&project),
            now,
            deadline: time_limit::deadline(config.max_request_duration),
            is_admin: has_admin_token(parts, &config, now),
            client: ClientInfo::read(parts, service, &config),
            external_url,
            account_url,
            public_url: base,
            forwarded_host: text(&parts.headers, "x-forwarded-host"),
            requested_audience: text(&parts.headers, "x-jwt-aud"),
            redirect_candidates: redirect_candidates(&parts.headers, &parts.uri),
            service: service.clone(),
            project,
            config,
        };
        // Other extractors, such as [`super::SignedIn`], reuse it.
        parts.extensions.insert(context.clone());
        Ok(context)
    }
}

impl ClientInfo {
    fn read(parts: &Parts, service: &AuthService, config: &AuthConfig) -> Self {
        let unspecified = IpAddr::from([0, 0, 0, 0]);
        let address = parts.extensions.get::<ClientAddress>();
        let address = address.copied().unwrap_or(ClientAddress {
            ip: unspecified,
            peer: unspecified,
            is_forwarded: false,
        });
        let named = config.rates.client_header.as_ref().and_then(|name| {
            let value = parts.headers.get(name)?.to_str().ok()?;
            let first = value.split(',').next()?.trim();
            (!first.is_empty()).then(|| rate_key(first))
        });
        // Standalone, the client's address comes from the configured header.
        let counted = if service.is_standalone() {
            address.peer
        } else {
            address.ip
        };
        Self {
            ip: address.ip,
            is_forwarded: address.is_forwarded,
            user_agent: text(&parts.headers, "user-agent").unwrap_or_default(),
            rate_key: named.unwrap_or_else(|| client_network(counted)),
        }
    }
}

/// For proxies that name the client by something else than an address.
const MAX_KEY_CHARS: usize = 64;

fn rate_key(named: &str) -> String {
    match named.parse::<IpAddr>() {
        Ok(ip) => client_network(ip.to_canonical()),
        Err(_) => named.chars().take(MAX_KEY_CHARS).collect(),
    }
}

/// A client usually has a whole /64 of IPv6.
fn client_network(ip: IpAddr) -> String {
    match ip {
        IpAddr::V4(ip) => ip.to_string(),
        IpAddr::V6(ip) => {
            let prefix = u128::from(ip) >> 64 << 64;
            format!("{}/64", std::net::Ipv6Addr::from(prefix))
        }
    }
}

fn redirect_candidates(headers: &HeaderMap, uri: &Uri) -> Vec<String> {
    let requested = uri.query().and_then(|query| {
        let mut pairs = url::form_urlencoded::parse(query.as_bytes());
        pairs.find_map(|(name, value)| (name == "redirect_to").then(|| value.into_owned()))
    });
    let header = text(headers, "redirect_to");
    let referer = text(headers, header::REFERER.as_str());
    let redirect_candidates = [header, requested, referer].into_iter().flatten();
    redirect_candidates.filter(|url| !url.is_empty()).collect()
}

fn text(headers: &HeaderMap, name: &str) -> Option<String> {
    let value = headers.get(name)?.to_str().ok()?;
    (!value.is_empty()).then(|| value.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clients_are_counted_by_what_they_cannot_change() {
        let check = |text: &str, expected: &str| assert_eq!(rate_key(text), expected);
        check("192.0.2.1", "192.0.2.1");
        check("::ffff:192.0.2.1", "192.0.2.1");
        check("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64");
        check("2001:db8:1:2::9", "2001:db8:1:2::/64");
        check("2001:db8:1:3::9", "2001:db8:1:3::/64");
        check("a client", "a client");
        check(&"x".repeat(1000), &"x".repeat(64));
    }
}
