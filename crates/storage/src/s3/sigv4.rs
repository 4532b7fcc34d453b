//! Signature Version 4: what is signed, and with which key (storage contract §6.1).
//!
//! Pure computation; [`super::authenticate`] decides who may sign.

use aws_lc_rs::{
    constant_time::verify_slices_are_equal,
    digest::{SHA256, digest},
    hmac,
};
use http::{HeaderMap, HeaderValue};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use plinth_project::SentHeaders;
use plinth_token::Secret;
use time::{OffsetDateTime, PrimitiveDateTime, macros::format_description};

use super::query::Query;
use crate::hex::hex;

/// The only algorithm.
pub(super) const ALGORITHM: &str = "AWS4-HMAC-SHA256";
const SERVICE: &str = "s3";
const TERMINATOR: &str = "aws4_request";

/// Everything but the unreserved characters of RFC 3986.
const UNRESERVED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'_')
    .remove(b'.')
    .remove(b'~');

/// The scope of a signature: `20260102/local/s3/aws4_request`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Scope {
    date: String,
    pub(super) region: String,
}

impl Scope {
    /// Parses `<access key>/<date>/<region>/s3/aws4_request`.
    pub(super) fn parse(credential: &str) -> Option<(String, Self)> {
        let mut parts = credential.rsplitn(5, '/');
        let mut next = || parts.next();
        let (terminator, service, region, date) = (next()?, next()?, next()?, next()?);
        let access_key = next().filter(|key| !key.is_empty())?;
        let is_date = date.len() == 8 && date.bytes().all(|byte| byte.is_ascii_digit());
        let scope = Self {
            date: date.to_owned(),
            region: region.to_owned(),
        };
        let is_ours = terminator == TERMINATOR && service == SERVICE && is_date;
        is_ours.then(|| (access_key.to_owned(), scope))
    }

    /// Whether it is of the same day as that time.
    pub(super) fn matches_date_of(&self, time: &str) -> bool {
        time.starts_with(&self.date)
    }

    /// The signing key of this scope.
    pub(super) fn key(&self, secret: &Secret) -> hmac::Key {
        let mut key = format!("AWS4{}", secret.expose()).into_bytes();
        for step in [&self.date, &self.region, SERVICE, TERMINATOR] {
            key = sign_bytes(&hmac::Key::new(hmac::HMAC_SHA256, &key), step.as_bytes());
        }
        hmac::Key::new(hmac::HMAC_SHA256, &key)
    }

    pub(super) fn text(&self) -> String {
        format!("{}/{}/{SERVICE}/{TERMINATOR}", self.date, self.region)
    }
}

/// The canonical request.
pub(super) struct Canonical<'a> {
    pub(super) method: &'a str,
    /// As it was sent.
    pub(super) path: &'a str,
    pub(super) query: &'a Query,
    pub(super) headers: &'a HeaderMap,
    /// Headers that the edge has replaced, as the client sent them.
    pub(super) sent: Option<&'a SentHeaders>,
    /// The host that the client may have used.
    pub(super) host: &'a str,
    /// In lower case.
    pub(super) signed_headers: &'a [String],
    pub(super) payload: &'a str,
}

impl Canonical<'_> {
    fn text(&self) -> String {
        let headers: String = self
            .signed_headers
            .iter()
            .map(|name| format!("{name}:{}\n", self.header(name)))
            .collect();
        [
            self.method,
            self.path,
            &canonical_query(self.query),
            &headers,
            &self.signed_headers.join(";"),
            self.payload,
        ]
        .join("\n")
    }

    /// All values of that name, with normalized spaces.
    fn header(&self, name: &str) -> String {
        if name == "host" {
            return self.host.to_owned();
        }
        // A proxy that rewrites `Accept-Encoding` sends the original along.
        let original = format!("x-original-{name}");
        let name = if name == "accept-encoding" && self.headers.contains_key(&original) {
            &original
        } else {
            name
        };
        match self.sent.filter(|sent| sent.contains(name)) {
            Some(sent) => canonical_values(sent.values(name)),
            None => canonical_values(self.headers.get_all(name).iter()),
        }
    }

    /// The string to sign.
    pub(super) fn string_to_sign(&self, time: &str, scope: &Scope) -> String {
        let hash = hex_sha256(self.text().as_bytes());
        format!("{ALGORITHM}\n{time}\n{}\n{hash}", scope.text())
    }
}

fn canonical_values<'a>(values: impl Iterator<Item = &'a HeaderValue>) -> String {
    let values = values.map(|value| {
        let text = String::from_utf8_lossy(value.as_bytes());
        text.split_ascii_whitespace().collect::<Vec<_>>().join(" ")
    });
    values.collect::<Vec<_>>().join(",")
}

/// Sorted by encoded name and value; without the signature itself.
fn canonical_query(query: &Query) -> String {
    let encode = |text: &str| utf8_percent_encode(text, UNRESERVED).to_string();
    let mut pairs: Vec<_> = query
        .pairs()
        .filter(|(name, _)| !name.eq_ignore_ascii_case("X-Amz-Signature"))
        .map(|(name, value)| (encode(name), encode(value)))
        .collect();
    pairs.sort();
    let pairs = pairs.iter().map(|(name, value)| format!("{name}={value}"));
    pairs.collect::<Vec<_>>().join("&")
}

/// `20260102T030405Z`
pub(super) fn parse_time(text: &str) -> Option<OffsetDateTime> {
    let format = format_description!("[year][month][day]T[hour][minute][second]Z");
    let time = PrimitiveDateTime::parse(text, format).ok()?;
    Some(time.assume_utc())
}

/// The inverse of [`parse_time`].
pub(super) fn render_time(time: OffsetDateTime) -> Option<String> {
    time.format(format_description!(
        "[year][month][day]T[hour][minute][second]Z"
    ))
    .ok()
}

/// A signature in hexadecimal digits.
pub(super) fn sign(key: &hmac::Key, text: &str) -> String {
    hex(&sign_bytes(key, text.as_bytes()))
}

/// Compares in constant time.
pub(super) fn constant_time_eq(computed: &str, given: &str) -> bool {
    verify_slices_are_equal(computed.as_bytes(), given.as_bytes()).is_ok()
}

pub(super) fn hex_sha256(bytes: &[u8]) -> String {
    hex(digest(&SHA256, bytes).as_ref())
}

fn sign_bytes(key: &hmac::Key, bytes: &[u8]) -> Vec<u8> {
    hmac::sign(key, bytes).as_ref().to_vec()
}

/// Verifies the chunks of one body: each signature covers the one before it.
#[derive(Clone)]
pub(super) struct ChunkSigner {
    key: hmac::Key,
    time: String,
    scope: String,
    previous: String,
}

impl ChunkSigner {
    /// `seed` is the signature of the request itself.
    pub(super) fn new(key: hmac::Key, time: &str, scope: &Scope, seed: &str) -> Self {
        Self {
            key,
            time: time.to_owned(),
            scope: scope.text(),
            previous: seed.to_owned(),
        }
    }

    /// Whether that is the signature of the next chunk, which has this hash.
    pub(super) fn accepts_chunk(&mut self, hash: &str, signature: &str) -> bool {
        let empty = hex_sha256(b"");
        self.accepts(
            "AWS4-HMAC-SHA256-PAYLOAD",
            &format!("{empty}\n{hash}"),
            signature,
        )
    }

    /// Whether that is the signature of the trailer.
    pub(super) fn accepts_trailer(&mut self, trailer: &str, signature: &str) -> bool {
        let hash = hex_sha256(trailer.as_bytes());
        self.accepts("AWS4-HMAC-SHA256-TRAILER", &hash, signature)
    }

    fn accepts(&mut self, kind: &str, rest: &str, signature: &str) -> bool {
        let Self {
            key,
            time,
            scope,
            previous,
        } = self;
        let computed = sign(key, &format!("{kind}\n{time}\n{scope}\n{previous}\n{rest}"));
        let is_good = constant_time_eq(&computed, signature);
        self.previous = computed;
        is_good
    }

    /// What a client would send.
    #[cfg(test)]
    pub(super) fn sign_chunk(&mut self, bytes: &[u8]) -> String {
        self.accepts_chunk(&hex_sha256(bytes), "");
        self.previous.clone()
    }

    #[cfg(test)]
    pub(super) fn sign_trailer(&mut self, trailer: &str) -> String {
        self.accepts_trailer(trailer, "");
        self.previous.clone()
    }
}
