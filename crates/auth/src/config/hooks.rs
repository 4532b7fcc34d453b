//! Hooks: calls to the project's own code (auth contract §9).

use data_encoding::BASE64;
use plinth_token::Secret;
use url::Url;

/// `HOOK_<NAME>_*`; `None` while a hook is off.
#[derive(Debug, Clone, Default)]
pub(crate) struct HooksConfig {
    pub(crate) custom_access_token: Option<Hook>,
    pub(crate) send_email: Option<Hook>,
    pub(crate) send_sms: Option<Hook>,
    pub(crate) mfa_verification_attempt: Option<Hook>,
    pub(crate) password_verification_attempt: Option<Hook>,
    pub(crate) before_user_created: Option<Hook>,
    pub(crate) after_user_created: Option<Hook>,
}

/// One hook.
#[derive(Debug, Clone)]
pub(crate) struct Hook {
    pub(crate) target: HookTarget,
    /// Keys that sign the request; HTTP only.
    pub(crate) secrets: Vec<Secret>,
}

/// Where the hook is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum HookTarget {
    /// `pg-functions://<database>/<schema>/<function>`
    Function { schema: String, name: String },
    /// An HTTP address.
    Http(Url),
    /// A hook that is enabled but misconfigured, and why. Requests that need it fail: it must not
    /// be skipped silently.
    Unusable(String),
}

impl HookTarget {
    /// For people: an address without what may be secret in it.
    pub(crate) fn describe(&self) -> String {
        match self {
            Self::Function { schema, name } => format!("{schema}.{name}"),
            Self::Http(url) => {
                let host = url.host_str().unwrap_or_default();
                match url.port() {
                    Some(port) => format!("{}://{host}:{port}", url.scheme()),
                    None => format!("{}://{host}", url.scheme()),
                }
            }
            Self::Unusable(reason) => reason.clone(),
        }
    }
}

impl Hook {
    /// From `HOOK_<NAME>_URI` and `HOOK_<NAME>_SECRETS`, the latter separated by `|`.
    pub(crate) fn parse(uri: &str, secrets: Option<&Secret>) -> Result<Self, String> {
        let url = Url::parse(uri).map_err(|_| format!("{uri:?} is no URI"))?;
        match url.scheme() {
            "pg-functions" => Ok(Self {
                target: function(&url)?,
                secrets: Vec::new(),
            }),
            "https" => Self::http(url, secrets),
            "http" if is_loopback(&url) => Self::http(url, secrets),
            "http" => Err("plain http is for hooks on this machine only; use https".to_owned()),
            other => Err(format!(
                "{other}:// is no kind of hook; use pg-functions://, https:// or, on this \
                 machine, http://"
            )),
        }
    }

    /// One that cannot be called.
    pub(crate) fn unusable(reason: String) -> Self {
        Self {
            target: HookTarget::Unusable(reason),
            secrets: Vec::new(),
        }
    }

    fn http(url: Url, secrets: Option<&Secret>) -> Result<Self, String> {
        let texts = secrets.map_or("", Secret::expose).split('|');
        let keys: Option<Vec<Secret>> = texts.map(signing_key).collect();
        let secrets =
            keys.ok_or("its secrets must be v1,whsec_<base64>, with | between several".to_owned())?;
        Ok(Self {
            target: HookTarget::Http(url),
            secrets,
        })
    }
}

/// The base64 of `v1,whsec_<base64>`.
fn signing_key(text: &str) -> Option<Secret> {
    let encoded = text.trim().strip_prefix("v1,whsec_")?;
    let key = BASE64.decode(encoded.as_bytes()).ok()?;
    (!key.is_empty()).then(|| Secret::new(encoded))
}

/// `pg-functions://<database>/<schema>/<function>`
fn function(url: &Url) -> Result<HookTarget, String> {
    let mut parts = url.path().trim_start_matches('/').split('/');
    let (schema, name, rest) = (parts.next(), parts.next(), parts.next());
    match (schema.filter(is_name), name.filter(is_name), rest) {
        (Some(schema), Some(name), None) => Ok(HookTarget::Function {
            schema: schema.to_owned(),
            name: name.to_owned(),
        }),
        _ => Err("it must be pg-functions://<database>/<schema>/<function>".to_owned()),
    }
}

/// An identifier that needs no quotes in SQL.
fn is_name(text: &&str) -> bool {
    let is_first = |byte: u8| byte.is_ascii_alphabetic() || byte == b'_';
    (1..=63).contains(&text.len())
        && text.bytes().next().is_some_and(is_first)
        && text
            .bytes()
            .all(|byte| is_first(byte) || byte.is_ascii_digit() || byte == b'$')
}

fn is_loopback(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default();
    matches!(
        host,
        "localhost" | "127.0.0.1" | "[::1]" | "host.docker.internal"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(uri: &str, secrets: &str) -> Result<Hook, String> {
        Hook::parse(uri, Some(&Secret::new(secrets)))
    }

    #[test]
    fn functions_are_named_by_schema_and_name() {
        let hook = parse("pg-functions://postgres/public/custom_hook", "").expect("good");

        let expected = HookTarget::Function {
            schema: "public".to_owned(),
            name: "custom_hook".to_owned(),
        };
        assert_eq!(hook.target, expected);
    }

    #[test]
    fn secrets_are_kept_without_their_prefix() {
        let hook = parse("https://a.test/hook", "v1,whsec_AAAA|v1,whsec_BBBB").expect("good");

        let secrets: Vec<_> = hook.secrets.iter().map(Secret::expose).collect();
        assert_eq!(secrets, ["AAAA", "BBBB"]);
    }

    #[test]
    fn plain_http_is_for_this_machine() {
        for host in [
            "localhost:9",
            "127.0.0.1",
            "[::1]:80",
            "host.docker.internal",
        ] {
            parse(&format!("http://{host}/x"), "v1,whsec_AAAA").expect(host);
        }
        parse("http://a.test/x", "v1,whsec_AAAA").expect_err("it would be read on the way");
    }

    #[test]
    fn invalid_hooks_are_rejected() {
        for (uri, secrets) in [
            ("", ""),
            ("no uri", ""),
            ("ftp://a.test", ""),
            ("pg-functions://postgres/public", ""),
            ("pg-functions://postgres/public/a/b", ""),
            ("pg-functions://postgres/public/a%22b", ""),
            ("pg-functions://postgres/public/1st", ""),
            ("https://a.test", ""),
            ("https://a.test", "whsec_AAAA"),
            ("https://a.test", "v1,whsec_"),
            ("https://a.test", "v1,whsec_AAAA|nothing"),
            ("https://a.test", "v1,whsec_not base64"),
        ] {
            parse(uri, secrets).expect_err(uri);
        }
    }
}
