//! One request: which service and project it is for, whose it is, and where it wants to end.

use std::{net::IpAddr, sync::Arc};

use axum::{extract::FromRequestParts, http::request::Parts};
use http::{HeaderMap, Uri, header};
use plinth_db::{Params, Row, Step};
use plinth_project::{
    ClientAddress, Project, PublicUrl, Service, ServiceConnection, ServiceTransaction,
    account_pages_url,
};
use time::OffsetDateTime;
use tokio::time::{Instant, timeout_at};

use super::{bearer::has_admin_token, time_limit};
use crate::{AuthConfig, AuthError, AuthService, service::ProjectState};

/// What every handler starts from. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Context {
    pub(crate) service: AuthService,
    pub(crate) project: Project,
    /// What the service remembers of the project between requests.
    pub(crate) state: Arc<ProjectState>,
    pub(crate) config: Arc<AuthConfig>,
    /// One time for everything that the request does.
    pub(crate) now: OffsetDateTime,
    /// When [`Self::in_time`] gives up.
    last_moment: Instant,
    pub(crate) client: ClientInfo,
    /// Whether the bearer token has an administrating role.
    pub(crate) is_admin: bool,
    /// Where clients reach this service, without a slash at its end.
    pub(crate) external_url: String,
    /// Where the project's account pages are, without a slash at its end.
    pub(crate) account_url: String,
    /// The host that a trusted setting may let mails name.
    pub(crate) forwarded_host: Option<String>,
    /// `X-JWT-AUD`
    pub(crate) asked_audience: Option<String>,
    /// Where the request would like people to be sent, the strongest wish first.
    wishes: Vec<String>,
}

/// Who sent the request.
#[derive(Debug, Clone)]
pub(crate) struct ClientInfo {
    pub(crate) ip: IpAddr,
    pub(crate) user_agent: String,
    /// What limits count by.
    pub(crate) rate_key: String,
}

impl Context {
    /// A privileged connection, for one statement or several that need not go together.
    pub(crate) async fn db(&self) -> Result<ServiceConnection, AuthError> {
        Ok(self.project.db.as_service(Service::Auth).await?)
    }

    /// A privileged transaction.
    pub(crate) async fn begin(&self) -> Result<ServiceTransaction, AuthError> {
        Ok(self.project.db.begin_as_service(Service::Auth).await?)
    }

    /// The same, with its first statement: the two cost one round trip.
    pub(crate) async fn begin_with(
        &self,
        sql: &str,
        params: Params<'_>,
    ) -> Result<(ServiceTransaction, Vec<Row>), AuthError> {
        let first = Step::typed(sql, params);
        let begun = self.project.db.begin_as_service_with(Service::Auth, first);
        Ok(begun.await?)
    }

    /// The first wish that may be granted, else the site (§1.4). Never an error.
    pub(crate) fn redirect_to(&self) -> String {
        let mut wishes = self.wishes.iter();
        wishes
            .find(|wish| self.may_redirect_to(wish))
            .cloned()
            .unwrap_or_else(|| self.config.site().to_owned())
    }

    /// The same request, with one wish only: where its flow was going to end from the start.
    pub(crate) fn wishing(&self, url: &str) -> Self {
        Self {
            wishes: vec![url.to_owned()],
            ..self.clone()
        }
    }

    /// Whether people may be sent there (§6.3).
    pub(crate) fn may_redirect_to(&self, url: &str) -> bool {
        let config = &self.config;
        config
            .redirects
            .allows(url, &config.site_url, &self.account_url)
    }

    /// What a browser waits for. It is given up while there is time to send the browser on: people
    /// can do nothing with the answer to a request that took too long.
    pub(crate) async fn in_time<T, E: From<AuthError>>(
        &self,
        work: impl Future<Output = Result<T, E>>,
    ) -> Result<T, E> {
        match timeout_at(self.last_moment, work).await {
            Ok(done) => done,
            Err(_) => Err(time_limit::too_long().into()),
        }
    }

    /// The audience that users are looked up by.
    pub(crate) fn audience(&self) -> &str {
        let asked = self.asked_audience.as_deref();
        asked.unwrap_or(&self.config.jwt.audience)
    }

    /// The audience that new accounts are of. Addresses are unique across all audiences, so a
    /// stranger's choice would tell whose are taken, and take others' away from them.
    pub(crate) fn new_audience(&self) -> &str {
        match self.is_admin {
            true => self.audience(),
            false => &self.config.jwt.audience,
        }
    }

    /// The base of the discovery document.
    pub(crate) fn issuer(&self) -> &str {
        let configured = self.config.jwt.issuer.as_deref();
        configured.unwrap_or(&self.external_url)
    }

    /// `iss` of access tokens: the same, but for the program that the service replaces, which says
    /// nothing unless it is told to.
    pub(crate) fn token_issuer(&self) -> Option<&str> {
        let is_unsaid = self.service.is_alone() && self.config.jwt.issuer.is_none();
        (!is_unsaid).then(|| self.issuer())
    }
}

impl FromRequestParts<AuthService> for Context {
    type Rejection = AuthError;

    async fn from_request_parts(
        parts: &mut Parts,
        service: &AuthService,
    ) -> Result<Self, AuthError> {
        if let Some(context) = parts.extensions.get::<Context>() {
            return Ok(context.clone());
        }
        let Some(project) = parts.extensions.get::<Project>().cloned() else {
            return Err(AuthError::internal("Unexpected failure", "no project"));
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
            last_moment: time_limit::last_moment(config.max_request_duration),
            is_admin: has_admin_token(parts, &config, now),
            client: ClientInfo::read(parts, service, &config),
            external_url,
            account_url,
            forwarded_host: text(&parts.headers, "x-forwarded-host"),
            asked_audience: text(&parts.headers, "x-jwt-aud"),
            wishes: wishes(&parts.headers, &parts.uri),
            service: service.clone(),
            project,
            config,
        };
        // Extractors that need one too, such as [`super::SignedIn`], must not make another.
        parts.extensions.insert(context.clone());
        Ok(context)
    }
}

impl ClientInfo {
    fn read(parts: &Parts, service: &AuthService, config: &AuthConfig) -> Self {
        let nobody = IpAddr::from([0, 0, 0, 0]);
        let address = parts.extensions.get::<ClientAddress>();
        let address = address.copied().unwrap_or(ClientAddress {
            ip: nobody,
            peer: nobody,
        });
        let named = config.rates.client_header.as_ref().and_then(|name| {
            let value = parts.headers.get(name)?.to_str().ok()?;
            let first = value.split(',').next()?.trim();
            (!first.is_empty()).then(|| rate_key(first))
        });
        // Alone, the address is what the client says that it is.
        let counted = match service.is_alone() {
            true => address.peer,
            false => address.ip,
        };
        Self {
            ip: address.ip,
            user_agent: text(&parts.headers, "user-agent").unwrap_or_default(),
            rate_key: named.unwrap_or_else(|| network(counted)),
        }
    }
}

/// What a proxy calls the client, if that is no address.
const LONGEST_KEY: usize = 64;

fn rate_key(named: &str) -> String {
    match named.parse::<IpAddr>() {
        Ok(ip) => network(ip.to_canonical()),
        Err(_) => named.chars().take(LONGEST_KEY).collect(),
    }
}

/// Whoever has one address of IPv6 has all that share its first half.
fn network(ip: IpAddr) -> String {
    match ip {
        IpAddr::V4(ip) => ip.to_string(),
        IpAddr::V6(ip) => {
            let prefix = u128::from(ip) >> 64 << 64;
            format!("{}/64", std::net::Ipv6Addr::from(prefix))
        }
    }
}

fn wishes(headers: &HeaderMap, uri: &Uri) -> Vec<String> {
    let asked = uri.query().and_then(|query| {
        let mut pairs = url::form_urlencoded::parse(query.as_bytes());
        pairs.find_map(|(name, value)| (name == "redirect_to").then(|| value.into_owned()))
    });
    let header = text(headers, "redirect_to");
    let referer = text(headers, header::REFERER.as_str());
    let wishes = [header, asked, referer].into_iter().flatten();
    wishes.filter(|wish| !wish.is_empty()).collect()
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
