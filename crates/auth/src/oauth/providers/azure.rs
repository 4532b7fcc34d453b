//! Microsoft's issuers: one per tenant.

const COMMON: [&str; 2] = [
    "https://login.microsoftonline.com/common/v2.0",
    "https://login.microsoftonline.com/organizations/v2.0",
];

/// `https://login.microsoftonline.com/<tenant>/v2.0`
pub(in crate::oauth) fn is_issuer(issuer: &str) -> bool {
    let rest = issuer.strip_prefix("https://login.microsoftonline.com/");
    rest.is_some_and(is_tenant_v2)
}

/// `https://<name>.ciamlogin.com/<tenant>/v2.0`
pub(in crate::oauth) fn is_customer_issuer(issuer: &str) -> bool {
    let Some((name, rest)) = issuer
        .strip_prefix("https://")
        .and_then(|rest| rest.split_once(".ciamlogin.com/"))
    else {
        return false;
    };
    let is_name = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    !name.is_empty() && name.bytes().all(is_name) && is_tenant_v2(rest)
}

/// Issuers of tokens from clients: also the v1 endpoint's.
pub(in crate::oauth) fn is_grant_issuer(issuer: &str) -> bool {
    let hosts = [
        "https://login.microsoftonline.com/",
        "https://sts.windows.net/",
    ];
    hosts.iter().any(|host| issuer.starts_with(host))
}

/// The issuer of a configured tenant; none if the URL is for several tenants or is not Microsoft's.
pub(in crate::oauth) fn pinned_issuer(url: &str) -> Option<String> {
    let issuer = format!("{}/v2.0", url.trim_end_matches('/'));
    let is_one = is_issuer(&issuer) || is_customer_issuer(&issuer);
    (is_one && !COMMON.contains(&issuer.as_str())).then_some(issuer)
}

fn is_tenant_v2(rest: &str) -> bool {
    let rest = rest.strip_suffix('/').unwrap_or(rest);
    let tenant = rest.strip_suffix("/v2.0");
    tenant.is_some_and(|tenant| !tenant.is_empty() && !tenant.contains('/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn issuers_are_recognized_by_their_shape() {
        let is_issuer = |issuer| is_issuer(issuer);
        assert!(is_issuer("https://login.microsoftonline.com/9188040d/v2.0"));
        assert!(is_issuer(
            "https://login.microsoftonline.com/9188040d/v2.0/"
        ));
        assert!(!is_issuer("https://login.microsoftonline.com//v2.0"));
        assert!(!is_issuer("https://login.microsoftonline.com/a/b/v2.0"));
        assert!(!is_issuer(
            "https://login.microsoftonline.com.evil.test/a/v2.0"
        ));
        assert!(!is_issuer("http://login.microsoftonline.com/a/v2.0"));
        assert!(is_customer_issuer("https://acme.ciamlogin.com/t-1/v2.0"));
        assert!(!is_customer_issuer(
            "https://evil.test/.ciamlogin.com/t/v2.0"
        ));
    }

    #[test]
    fn a_tenant_pins_its_issuer_and_common_addresses_pin_none() {
        let host = "https://login.microsoftonline.com";
        let pinned = |path: &str| pinned_issuer(&format!("{host}/{path}"));
        assert_eq!(pinned("t-1"), Some(format!("{host}/t-1/v2.0")));
        assert_eq!(pinned("common"), None);
        assert_eq!(pinned("organizations/"), None);
        assert_eq!(pinned_issuer("http://localhost:9999"), None);
    }
}
