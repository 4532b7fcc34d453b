//! The `Cookie` header: parsing it, and rewriting it for inner services (C12, A10).

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use http::{HeaderMap, HeaderValue, header};
use zeroize::{Zeroize as _, Zeroizing};

use super::limits::Limits;
use super::name::{chunk_name, is_chunk_like};
use super::percent;
use super::write::Write;

/// A cookie as the browser sent it, its value decoded.
#[derive(Clone, PartialEq, Eq)]
pub struct Cookie {
    /// Its name, which is never encoded.
    pub name: String,
    /// Its value without percent escapes; as it came if they are broken.
    pub value: String,
}

/// Values are credentials: only their length is printed.
impl std::fmt::Debug for Cookie {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Cookie")
            .field("name", &self.name)
            .field("value_len", &self.value.len())
            .finish()
    }
}

/// The cookies of one request, in the order of the header, each name once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cookies {
    cookies: Vec<Cookie>,
    conflicting: Vec<String>,
}

impl Cookies {
    /// Reads a header. Of several cookies with one name the first counts.
    pub fn parse(header: &str) -> Self {
        Self::parse_starting_with(header, "")
    }

    /// Parses only cookies with this name prefix; others cost no memory.
    pub fn parse_starting_with(header: &str, prefix: &str) -> Self {
        let mut cookies = Self::default();
        let mut seen: HashMap<&str, &str> = HashMap::new();
        for (name, raw) in pairs(header).filter(|(name, _)| name.starts_with(prefix)) {
            match seen.entry(name) {
                Entry::Vacant(entry) => {
                    entry.insert(raw);
                    let value = percent::decode(raw).unwrap_or(raw.into()).into_owned();
                    cookies.cookies.push(Cookie {
                        name: name.to_owned(),
                        value,
                    });
                }
                Entry::Occupied(first) if *first.get() != raw => {
                    cookies.conflicting.push(name.to_owned());
                }
                Entry::Occupied(_) => {}
            }
        }
        cookies
    }

    /// Every cookie.
    pub fn iter(&self) -> impl Iterator<Item = &Cookie> {
        self.cookies.iter()
    }

    /// The value of the cookie of this name.
    pub fn value(&self, name: &str) -> Option<&str> {
        let mut cookies = self.cookies.iter();
        let found = cookies.find(|cookie| cookie.name == name)?;
        Some(&found.value)
    }

    /// Whether the request has a cookie of this key, readable or not.
    pub fn has_any_of(&self, key: &str) -> bool {
        self.cookies
            .iter()
            .any(|cookie| is_chunk_like(&cookie.name, key))
    }

    /// Whether the cookies of this key contradict each other, as when a sibling domain sets one of its own
    /// (A28): one name with different values, or a whole value beside the chunks of another.
    pub fn has_conflict_of(&self, key: &str) -> bool {
        let has = |name: &str| self.value(name).is_some_and(|value| !value.is_empty());
        self.conflicting.iter().any(|name| is_chunk_like(name, key))
            || has(key) && has(&chunk_name(key, 0))
    }
}

/// Values are credentials and are wiped with the request (A40).
impl Drop for Cookies {
    fn drop(&mut self) {
        for cookie in &mut self.cookies {
            cookie.value.zeroize();
        }
    }
}

impl<N: Into<String>, V: Into<String>> FromIterator<(N, V)> for Cookies {
    /// From decoded names and values; the first of each name counts.
    fn from_iter<I: IntoIterator<Item = (N, V)>>(pairs: I) -> Self {
        let mut cookies = Self::default();
        let mut seen: HashMap<String, String> = HashMap::new();
        for (name, value) in pairs {
            let (name, value) = (name.into(), value.into());
            match seen.get(&name) {
                None => {
                    seen.insert(name.clone(), value.clone());
                    cookies.cookies.push(Cookie { name, value });
                }
                Some(first) if *first != value => cookies.conflicting.push(name),
                Some(_) => {}
            }
        }
        cookies
    }
}

/// Names and raw values. Parts without `=` are skipped.
fn pairs(header: &str) -> impl Iterator<Item = (&str, &str)> {
    let pairs = header.split(';').filter_map(|item| item.split_once('='));
    pairs.map(|(name, value)| (trim(name), trim(value)))
}

/// Without the white space that headers allow around their parts.
fn trim(text: &str) -> &str {
    text.trim_matches([' ', '\t'])
}

/// All `Cookie` headers joined; `None` when they exceed the limit.
///
/// Non-ASCII bytes become the characters of the same code, which is how the reference's platforms read
/// headers and which [`rewrite`] reverts exactly.
pub(crate) fn joined(headers: &HeaderMap, limits: &Limits) -> Option<Zeroizing<String>> {
    let fields = || {
        headers
            .get_all(header::COOKIE)
            .iter()
            .map(HeaderValue::as_bytes)
    };
    if fields().map(<[u8]>::len).sum::<usize>() > limits.max_cookie_bytes {
        return None;
    }
    // Preallocated, so that growing leaves no copies behind. Non-ASCII bytes, which take two, are not ours.
    let length = fields().map(|field| field.len() + 2).sum();
    let mut text = Zeroizing::new(String::with_capacity(length));
    for field in fields() {
        if !text.is_empty() {
            text.push_str("; ");
        }
        match std::str::from_utf8(field) {
            Ok(field) if field.is_ascii() => text.push_str(field),
            _ => text.extend(field.iter().copied().map(char::from)),
        }
    }
    Some(text)
}

/// The header that the browser will send after these writes; other cookies stay byte for byte. `None` when
/// no cookie is left.
pub(crate) fn rewrite(joined: &str, writes: &[Write]) -> Option<HeaderValue> {
    let written: HashMap<&str, &Write> = writes.iter().map(|write| (&*write.name, write)).collect();
    let is_kept = |item: &&str| {
        let name = item.split('=').next().unwrap_or_default();
        !written.contains_key(trim(name))
    };
    let cached = joined
        .split(';')
        .filter(is_kept)
        .map(trim)
        .filter(|item| !item.is_empty())
        .map(|item| {
            item.chars()
                .map(|char| u8::try_from(char).unwrap_or(b'?'))
                .collect()
        });
    let set = writes
        .iter()
        .filter(|write| !write.is_removal)
        .map(|write| format!("{}={}", write.name, write.wire_value()).into_bytes());
    let cookies: Vec<Vec<u8>> = cached.chain(set).collect();
    let joined = Zeroizing::new(cookies.join(&b"; "[..]));
    let mut value = HeaderValue::from_bytes(&joined)
        .ok()
        .filter(|value| !value.is_empty())?;
    value.set_sensitive(true);
    Some(value)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::cookie::{Changes, CookieOptions, Encoding, Side};

    #[test]
    fn only_wanted_names_are_kept_and_conflicts_are_noticed() {
        let header = "k.0=a; theme=x; theme=y; k.0=b; k=c; k=c";
        let cookies = Cookies::parse_starting_with(header, "k");

        assert_eq!(
            cookies,
            Cookies {
                cookies: vec![
                    Cookie {
                        name: "k.0".to_owned(),
                        value: "a".to_owned()
                    },
                    Cookie {
                        name: "k".to_owned(),
                        value: "c".to_owned()
                    },
                ],
                conflicting: vec!["k.0".to_owned()],
            }
        );
        assert!(cookies.has_conflict_of("k") && !cookies.has_conflict_of("theme"));
    }

    #[test]
    fn a_whole_value_beside_chunks_is_a_conflict() {
        let has_conflict = |header: &str| Cookies::parse(header).has_conflict_of("k");

        assert!(has_conflict("k.0=a; k.1=b; k=c"));
        assert!(!has_conflict("k.0=a; k.1=b; k="));
        assert!(!has_conflict("k.0=a; k.1=b; k-code-verifier=c"));
        assert!(!has_conflict("k=a; k=a"));
    }

    #[test]
    fn several_headers_are_one_and_too_long_ones_none() {
        let mut headers = HeaderMap::new();
        headers.append(header::COOKIE, HeaderValue::from_static("a=1"));
        headers.append(header::COOKIE, HeaderValue::from_static("b=2"));
        let at_most = |max_cookie_bytes| Limits {
            max_cookie_bytes,
            ..Limits::default()
        };

        assert_eq!(joined(&headers, &at_most(6)).unwrap().as_str(), "a=1; b=2");
        assert_eq!(joined(&headers, &at_most(5)), None);
        let none = joined(&HeaderMap::new(), &at_most(5));
        assert_eq!(none.unwrap().as_str(), "");
    }

    #[test]
    fn others_cookies_pass_byte_for_byte() {
        let mut headers = HeaderMap::new();
        let sent = HeaderValue::from_bytes(b"theme=d\xe4rk; k=base64-e30; x").unwrap();
        headers.insert(header::COOKIE, sent);
        let text = joined(&headers, &Limits::default()).unwrap();
        let request = Cookies::parse_starting_with(&text, "k");
        let options = CookieOptions::default();
        let plan =
            |changes: &Changes| changes.plan(&request, &options, Encoding::Raw, Side::Server);

        let mut changes = Changes::default();
        changes.set("k", "{\"a\":1}");
        let rewritten = rewrite(&text, &plan(&changes)).unwrap();
        assert_eq!(
            rewritten.as_bytes(),
            b"theme=d\xe4rk; x; k=%7B%22a%22%3A1%7D"
        );

        changes.remove("k");
        assert_eq!(
            rewrite(&text, &plan(&changes)).unwrap().as_bytes(),
            b"theme=d\xe4rk; x"
        );
        assert_eq!(rewrite("k=base64-e30", &plan(&changes)), None);
    }

    /// Any header content, including non-ASCII.
    fn header_byte() -> impl Strategy<Value = u8> {
        prop_oneof![
            1 => Just(b'\t'),
            1 => prop_oneof![Just(b'='), Just(b';'), Just(b'%'), Just(b'"')],
            4 => b' '..=b'~',
            4 => 0x80..=0xffu8,
        ]
    }

    proptest! {
        #[test]
        fn any_headers_may_be_read_and_rewritten(
            fields in proptest::collection::vec(
                proptest::collection::vec(header_byte(), 0..120), 0..5),
        ) {
            let mut headers = HeaderMap::new();
            for field in &fields {
                headers.append(header::COOKIE, HeaderValue::from_bytes(field).unwrap());
            }
            let text = joined(&headers, &Limits::default()).unwrap();
            let cookies = Cookies::parse(&text);
            let names = cookies.iter().map(|cookie| cookie.name.as_str());
            prop_assert_eq!(
                names.collect::<std::collections::HashSet<_>>().len(),
                cookies.iter().count(),
            );
            let mut changes = Changes::default();
            changes.set("k", "1");
            let options = CookieOptions::default();
            let writes = changes.plan(&cookies, &options, Encoding::Raw, Side::Browser);

            headers.insert(header::COOKIE, rewrite(&text, &writes).unwrap());
            let text = joined(&headers, &Limits::default()).unwrap();
            let after = Cookies::parse(&text);
            prop_assert_eq!(after.value("k"), Some("1"));
            let others = |cookies: &Cookies| -> Vec<(String, String)> {
                let all = cookies.iter().filter(|cookie| !cookie.name.starts_with('k'));
                all.map(|cookie| (cookie.name.clone(), cookie.value.clone())).collect()
            };
            prop_assert_eq!(others(&after), others(&cookies));
        }
    }
}
