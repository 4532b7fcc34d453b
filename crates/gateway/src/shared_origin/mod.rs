//! What keeps projects apart in a browser where they share a host.
//!
//! A browser knows origins and hosts, not projects: it sends the cookies of one project to the next,
//! and applies what any of them says about the whole origin. So a service of a project gets no
//! session cookie but the project's own, and the headers with which it would act on others are
//! removed from its responses. A project with a host of its own is an origin of its own, and is
//! left alone.

mod cookie;
mod origin_wide;

use http::{
    HeaderMap, HeaderName, HeaderValue,
    header::{COOKIE, SET_COOKIE},
};
use plinth_project::{
    CONSOLE, OPERATOR_COOKIE, ProjectKind, ProjectRef, PublicUrl, host_cookie_name,
    session_cookie_name, url_path,
};

use crate::destination::Addressed;
use cookie::{NewCookie, is_companion, without_foreign};
pub(crate) use origin_wide::is_origin_wide;

const CLEAR_SITE_DATA: HeaderName = HeaderName::from_static("clear-site-data");

/// A request's project, as far as the browser's origin is concerned.
pub(crate) struct ProjectOrigin<'a> {
    pub(crate) addressed: Addressed<'a>,
    pub(crate) kind: ProjectKind,
    pub(crate) reference: &'a ProjectRef,
    pub(crate) public_url: &'a PublicUrl,
    /// The host that the client used, without a port.
    pub(crate) host: &'a str,
    /// Projects have hosts below this domain.
    pub(crate) domain: Option<&'a str>,
    /// The host of the instance, where it is configured.
    pub(crate) instance_host: Option<&'a str>,
}

impl ProjectOrigin<'_> {
    /// Whether other projects have the same origin.
    fn is_shared(&self) -> bool {
        self.addressed != Addressed::Host
    }

    /// Removes session cookies of other projects from a request. Operators' cookies are for our own
    /// pages alone, whatever the project.
    pub(crate) fn filter_request(&self, headers: &mut HeaderMap, is_page: bool) {
        let may_be_foreign = self.is_shared() || self.kind == ProjectKind::Platform;
        if !may_be_foreign || !headers.get_all(COOKIE).iter().any(cookie::has_session) {
            return;
        }
        let own = self.own_cookies(is_page);
        let is_own = |name: &str| own.iter().any(|key| is_companion(key, name));
        let lines: Vec<HeaderValue> = headers
            .get_all(COOKIE)
            .iter()
            .filter_map(|line| without_foreign(line, is_own))
            .collect();
        headers.remove(COOKIE);
        for line in lines {
            headers.append(COOKIE, line);
        }
    }

    /// Removes what would act on other projects from a service's response. Returns the names of the
    /// removed headers.
    pub(crate) fn filter_response(&self, headers: &mut HeaderMap) -> Vec<HeaderName> {
        let mut removed: Vec<HeaderName> = Vec::new();
        if self.is_shared() {
            let names = headers.keys().filter(|name| is_origin_wide(name.as_str()));
            removed.extend(names.cloned());
        } else if self.is_below_domain() && headers.contains_key(CLEAR_SITE_DATA) {
            // It clears the cookies of all hosts of the domain.
            removed.push(CLEAR_SITE_DATA);
        }
        for name in &removed {
            headers.remove(name);
        }
        if headers.contains_key(SET_COOKIE) && self.filter_new_cookies(headers) {
            removed.push(SET_COOKIE);
        }
        removed
    }

    /// Returns whether a cookie was removed.
    fn filter_new_cookies(&self, headers: &mut HeaderMap) -> bool {
        let own = self.own_cookies(false);
        let lines: Vec<HeaderValue> = headers.get_all(SET_COOKIE).iter().cloned().collect();
        let kept: Vec<&HeaderValue> = lines
            .iter()
            .filter(|line| self.may_set(&NewCookie::parse(line.as_bytes()), &own))
            .collect();
        if kept.len() == lines.len() {
            return false;
        }
        headers.remove(SET_COOKIE);
        for line in kept {
            headers.append(SET_COOKIE, line.clone());
        }
        true
    }

    fn may_set(&self, cookie: &NewCookie, own: &[String]) -> bool {
        if cookie
            .domains
            .iter()
            .any(|domain| self.covers_projects(domain))
        {
            return false;
        }
        if !self.is_shared() {
            return true;
        }
        let is_own_name = || own.iter().any(|key| is_companion(key, &cookie.name));
        // Without a name, the value could pass for a name and a value.
        !cookie.name.is_empty()
            && (!cookie::is_session(&cookie.name) || is_own_name())
            && cookie.paths.iter().all(|path| self.is_own_path(path))
    }

    /// Whether a cookie of that domain would be sent to the hosts of other projects, or to the instance's.
    fn covers_projects(&self, domain: &str) -> bool {
        let instance_host = self.instance_host.filter(|_| !self.is_shared());
        let mut shared = [self.domain, instance_host].into_iter().flatten();
        shared.any(|host| is_domain_of(domain, host))
    }

    /// Whether the project has a host below the domain of all projects.
    fn is_below_domain(&self) -> bool {
        self.domain
            .is_some_and(|domain| is_domain_of(domain, self.host))
    }

    /// Whether a path of the host is this project's. The default project has all that no other one has.
    fn is_own_path(&self, path: &str) -> bool {
        let is_below = |path: &str, parent: &str| {
            let rest = path.strip_prefix(parent);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        let base = url_path(self.public_url.as_str());
        match self.addressed {
            Addressed::Host => true,
            // A proxy may have removed the part before it.
            Addressed::Path(name) => is_below(path, &base) || is_below(path, &format!("/p/{name}")),
            Addressed::Bare => {
                let path = path.strip_prefix(&base).unwrap_or(path);
                !is_below(path, "/p") && !is_below(path, CONSOLE)
            }
        }
    }

    /// Names of the project's session cookies, as its pages and the published client choose them.
    fn own_cookies(&self, is_page: bool) -> Vec<String> {
        if is_page {
            return vec![self.cookie_name()];
        }
        if self.kind == ProjectKind::Platform {
            return Vec::new();
        }
        let mut names = vec![self.cookie_name()];
        if self.addressed == Addressed::Bare {
            // The host that applications use is not always known to be ours.
            names.extend(host_cookie_name(&format!("http://{}", self.host)));
        }
        if self.is_shared() {
            names.retain(|name| name != OPERATOR_COOKIE);
        }
        names
    }

    fn cookie_name(&self) -> String {
        session_cookie_name(self.kind, self.reference, self.public_url)
    }
}

/// Whether the host is the domain or below it.
fn is_domain_of(domain: &str, host: &str) -> bool {
    let rest = host.strip_suffix(domain);
    rest.is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
}

#[cfg(test)]
mod tests;
