//! Cookies as far as isolation needs them: names, paths and domains, never values.

use http::HeaderValue;

/// How names of session cookies begin.
const SESSION: &str = "sb-";

/// Whether a name could be a session cookie of some project.
pub(super) fn is_session(name: &str) -> bool {
    name.get(..SESSION.len())
        .is_some_and(|start| start.eq_ignore_ascii_case(SESSION))
}

/// Whether a `Cookie` line may contain a session cookie; cheaper than parsing it.
pub(super) fn has_session(line: &HeaderValue) -> bool {
    line.as_bytes()
        .windows(SESSION.len())
        .any(|part| part.eq_ignore_ascii_case(SESSION.as_bytes()))
}

/// Whether a name belongs to a session of this key: the key itself, a chunk (`.0`), or a companion
/// (`-code-verifier`).
pub(super) fn is_companion(key: &str, name: &str) -> bool {
    let rest = name.strip_prefix(key).filter(|_| !key.is_empty());
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '-']))
}

/// A `Cookie` line without session cookies that are not `is_own`; `None` if nothing is left.
pub(super) fn without_foreign(
    line: &HeaderValue,
    is_own: impl Fn(&str) -> bool,
) -> Option<HeaderValue> {
    let items: Vec<&[u8]> = line.as_bytes().split(|byte| *byte == b';').collect();
    let kept: Vec<&[u8]> = items
        .iter()
        .copied()
        .filter(|item| {
            let name = name_of(item);
            !is_session(&name) || is_own(&name)
        })
        .map(<[u8]>::trim_ascii)
        .collect();
    match kept.len() {
        0 => None,
        count if count == items.len() => Some(line.clone()),
        _ => HeaderValue::from_bytes(&kept.join(&b"; "[..])).ok(),
    }
}

/// The part before the first `=`. Without one it is the value of a cookie without a name, which looks
/// the same to who reads it.
fn name_of(item: &[u8]) -> String {
    let name = item.split(|byte| *byte == b'=').next().unwrap_or_default();
    String::from_utf8_lossy(name.trim_ascii()).into_owned()
}

/// What a `Set-Cookie` line would change.
pub(super) struct NewCookie {
    /// Empty if the line names none.
    pub(super) name: String,
    /// All paths that browsers accept; the last one counts.
    pub(super) paths: Vec<String>,
    /// All domains, in lower case and without a leading dot.
    pub(super) domains: Vec<String>,
}

impl NewCookie {
    pub(super) fn parse(line: &[u8]) -> Self {
        let text = String::from_utf8_lossy(line);
        let mut parts = text.split(';');
        let pair = parts.next().unwrap_or_default();
        let name = pair.split_once('=').map_or("", |(name, _)| name.trim());
        let mut cookie = Self {
            name: name.to_owned(),
            paths: Vec::new(),
            domains: Vec::new(),
        };
        for part in parts {
            let (attribute, value) = part.split_once('=').unwrap_or((part, ""));
            let value = value.trim();
            match attribute.trim().to_ascii_lowercase().as_str() {
                // Others are ignored by browsers, which take the path of the request.
                "path" if value.starts_with('/') => cookie.paths.push(value.to_owned()),
                "domain" if !value.is_empty() => {
                    let domain = value.strip_prefix('.').unwrap_or(value);
                    cookie.domains.push(domain.to_ascii_lowercase());
                }
                _ => {}
            }
        }
        cookie
    }
}
