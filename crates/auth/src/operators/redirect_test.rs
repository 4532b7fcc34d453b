//! Which rule allows a redirect (console contract N95).

use plinth_project::{
    AllowList, FromSettings as _, RedirectRule, RedirectTest, RedirectTestResult,
};
use plinth_settings::keys::auth;
use url::{Host, Url};

use super::{Outcome, invalid};
use crate::{AuthConfig, request::RequestContext};

const MAX_PATTERNS: usize = 1000;

pub(super) fn run(context: &RequestContext, test: &RedirectTest) -> Outcome<RedirectTestResult> {
    let site = match &test.site_url {
        None => context.config.site_url.clone(),
        Some(text) => {
            Url::parse(text).map_err(|_| invalid(format!("site_url: {text:?} is no URL")))?
        }
    };
    let settings = context.project.settings().current();
    let patterns: Vec<String> = match &test.patterns {
        Some(patterns) => patterns.clone(),
        None => settings.get(auth::ADDITIONAL_REDIRECT_URLS).to_vec(),
    };
    if patterns.len() > MAX_PATTERNS {
        return Err(invalid(format!("patterns: at most {MAX_PATTERNS}")));
    }
    // As a request would be checked with these settings.
    let context = context.with_config(AuthConfig {
        site_url: site.clone(),
        redirects: AllowList::new(&patterns),
        ..AuthConfig::from_settings(&settings)
    });
    let target = context.resolve_redirect(&test.url);
    let allows = |patterns: &[&String]| {
        let list = AllowList::new(patterns);
        list.resolve(&test.url, &site, &context.account_url)
            .is_some()
    };
    let (rule, pattern) = match &target {
        None => (None, None),
        Some(target) if allows(&[]) => (Some(rule_without_list(target, &site)), None),
        Some(_) => {
            let mut all = patterns.iter();
            let pattern = all.find(|pattern| allows(&[pattern])).cloned();
            (Some(RedirectRule::Pattern), pattern)
        }
    };
    Ok(RedirectTestResult {
        is_allowed: target.is_some(),
        target,
        rule,
        pattern,
        malformed: patterns
            .into_iter()
            .filter(|pattern| !AllowList::is_well_formed(pattern))
            .collect(),
    })
}

fn rule_without_list(target: &str, site: &Url) -> RedirectRule {
    let Ok(target) = Url::parse(target) else {
        return RedirectRule::SiteUrl;
    };
    let is_loopback = match target.host() {
        Some(Host::Ipv4(ip)) => ip.is_loopback(),
        Some(Host::Ipv6(ip)) => ip.is_loopback(),
        _ => false,
    };
    if target.host_str() == site.host_str() && target.scheme() == site.scheme() {
        RedirectRule::SiteUrl
    } else if is_loopback {
        RedirectRule::Loopback
    } else {
        RedirectRule::AccountPages
    }
}
