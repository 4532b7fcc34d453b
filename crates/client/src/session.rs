//! The stored session (client contract S1–S3, S11–S13).

use std::fmt;
use std::sync::Arc;

use zeroize::Zeroize;

use crate::json::{self, Members};
use crate::user::{UnverifiedUser, User};

/// K3: a session with less remaining lifetime counts as expired when it is loaded.
pub const EXPIRY_MARGIN_MS: i64 = 90_000;

/// A user's session as issued by the server: tokens, their expiry, and the user.
///
/// It is kept as the JSON text that was received, so that unknown members survive, in their order and with their
/// digits. A session is immutable; methods that look like changes return a new one. Clones share the text,
/// which is wiped with the last of them.
///
/// Nothing in it is verified: anyone who can write to the store can change it.
#[derive(Clone)]
pub struct Session(Arc<Parts>);

struct Parts {
    json: String,
    access_token: String,
    refresh_token: String,
    expires_at_ms: Option<i64>,
}

impl Drop for Parts {
    fn drop(&mut self) {
        self.json.zeroize();
        self.access_token.zeroize();
        self.refresh_token.zeroize();
    }
}

/// Where `expires_at` is inserted into a response that lacks it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ExpiryPlace {
    /// After verifying a factor.
    First,
    /// Everywhere else.
    Last,
}

/// Why a text is not a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidSession {
    /// Treated as if nothing were stored (S3).
    #[error("the stored text is not JSON")]
    NotJson,
    /// JSON, but without the members that a session has (S3).
    #[error("the stored value is not a session")]
    Malformed,
}

impl Session {
    /// Parses a stored session. It must have `access_token`, `refresh_token` and `expires_at`, whatever their
    /// values (S3).
    ///
    /// ```
    /// let text = r#"{"access_token":"a","refresh_token":"r","expires_at":1700000000,"x":1.50}"#;
    /// let session = plinth_client::Session::from_json(text).unwrap();
    ///
    /// assert_eq!(session.expires_at(), Some(1_700_000_000));
    /// assert_eq!(session.to_json(), text);
    /// ```
    pub fn from_json(text: &str) -> Result<Self, InvalidSession> {
        let json = json::compact(text).map_err(|_| InvalidSession::NotJson)?;
        let members = Members::parse(&json).ok_or(InvalidSession::Malformed)?;
        let required = ["access_token", "refresh_token", "expires_at"];
        if required.iter().any(|name| members.get(name).is_none()) {
            return Err(InvalidSession::Malformed);
        }
        Ok(Self::from_members(&members))
    }

    /// A session from two tokens, for [`set_session`](crate::auth::Auth::set_session).
    pub(crate) fn from_tokens(
        access_token: &str,
        refresh_token: &str,
        user: &User,
        expires_at: i64,
        now_s: i64,
    ) -> Self {
        let expires_in = expires_at.saturating_sub(now_s).to_string();
        let json = json::object([
            ("access_token", json::quote(access_token).as_str()),
            ("refresh_token", &json::quote(refresh_token)),
            ("user", user.to_json()),
            ("token_type", "\"bearer\""),
            ("expires_in", &expires_in),
            ("expires_at", &expires_at.to_string()),
        ]);
        Self(Arc::new(Parts {
            json,
            access_token: access_token.to_owned(),
            refresh_token: refresh_token.to_owned(),
            expires_at_ms: Some(expires_at.saturating_mul(1000)),
        }))
    }

    /// Parses a token response. It is a session only if both tokens and `expires_in` are present (S2).
    pub(crate) fn from_token_response(text: &str, now_ms: i64, place: ExpiryPlace) -> Option<Self> {
        let json = json::compact(text).ok()?;
        let mut members = Members::parse(&json)?;
        let due = ["access_token", "refresh_token", "expires_in"];
        if !due.iter().all(|name| members.is_truthy(name)) {
            return None;
        }
        let lifetime_s = members.number("expires_in").unwrap_or_default();
        let computed = (now_ms as f64 / 1000.0).round() + lifetime_s;
        let computed = serde_json::value::to_raw_value(&(computed as i64)).ok()?;
        let given = members.0.iter().position(|(name, _)| name == "expires_at");
        let is_given = members.is_truthy("expires_at");
        match (place, given) {
            (ExpiryPlace::Last, Some(_)) if is_given => {}
            (ExpiryPlace::Last, Some(at)) => members.0[at].1 = &computed,
            (ExpiryPlace::Last, None) => members.0.push(("expires_at".to_owned(), &computed)),
            (ExpiryPlace::First, Some(at)) => {
                let theirs = members.0.remove(at);
                members.0.insert(0, theirs);
            }
            (ExpiryPlace::First, None) => {
                members.0.insert(0, ("expires_at".to_owned(), &computed));
            }
        }
        Some(Self::from_members(&members))
    }

    fn from_members(members: &Members<'_>) -> Self {
        let texts = members.0.iter();
        Self(Arc::new(Parts {
            json: json::object(texts.map(|(name, value)| (name.as_str(), value.get()))),
            access_token: members.string("access_token").unwrap_or_default(),
            refresh_token: members.string("refresh_token").unwrap_or_default(),
            expires_at_ms: members.number("expires_at").map(|s| (s * 1000.0) as i64),
        }))
    }

    /// The access token. A secret.
    pub fn access_token(&self) -> &str {
        &self.0.access_token
    }

    /// The refresh token. A secret.
    pub fn refresh_token(&self) -> &str {
        &self.0.refresh_token
    }

    /// When the access token expires, in seconds since 1970, if known.
    pub fn expires_at(&self) -> Option<i64> {
        self.0.expires_at_ms.map(|ms| ms.div_euclid(1000))
    }

    /// Milliseconds until the access token expires, negative afterwards (S11).
    pub fn remaining_ms(&self, now_ms: i64) -> Option<i64> {
        self.0.expires_at_ms.map(|at| at.saturating_sub(now_ms))
    }

    /// Whether less than the margin of 90 s is left, so that it should be refreshed (S11, K3). A session without
    /// an expiry, or with 0, never expires (S12).
    pub fn is_within_margin(&self, now_ms: i64) -> bool {
        match self.0.expires_at_ms {
            None | Some(0) => false,
            Some(at) => at.saturating_sub(now_ms) < EXPIRY_MARGIN_MS,
        }
    }

    /// The same at start, where an expiry of 0 is in the past (S12).
    pub(crate) fn is_due_at_start(&self, now_ms: i64) -> bool {
        self.remaining_ms(now_ms)
            .is_some_and(|left| left < EXPIRY_MARGIN_MS)
    }

    /// Whether the access token is still valid, without any margin (S13).
    pub fn is_still_valid(&self, now_ms: i64) -> bool {
        self.0.expires_at_ms.is_some_and(|at| at > now_ms)
    }

    /// The stored user. For display only, not for authorization (S18).
    pub fn user(&self) -> Option<UnverifiedUser> {
        let members = Members::parse(&self.0.json)?;
        User::from_json(members.get("user")?).map(UnverifiedUser::new)
    }

    /// A text member such as `provider_token`.
    pub fn text_member(&self, name: &str) -> Option<String> {
        Members::parse(&self.0.json)?.string(name)
    }

    /// A member as JSON text.
    pub fn member(&self, name: &str) -> Option<&str> {
        Members::parse(&self.0.json)?.get(name)
    }

    /// The whole session as compact JSON, members in their order. Contains the tokens.
    pub fn to_json(&self) -> String {
        self.0.json.clone()
    }

    /// The same session with another user.
    pub fn with_user(&self, user: &User) -> Self {
        self.with_member("user", Some(user.to_json()))
    }

    /// The same session without its user, for stores that keep the user elsewhere (S9).
    pub fn without_user(&self) -> Self {
        self.with_member("user", None)
    }

    fn with_member(&self, name: &str, value: Option<&str>) -> Self {
        let members = Members::parse(&self.0.json).unwrap_or_default();
        let is_known = members.get(name).is_some();
        let kept = members.0.iter().filter_map(|(found, kept)| {
            let value = if found == name { value? } else { kept.get() };
            Some((found.as_str(), value))
        });
        let added = value.filter(|_| !is_known).map(|value| (name, value));
        Self(Arc::new(Parts {
            json: json::object(kept.chain(added)),
            access_token: self.0.access_token.clone(),
            refresh_token: self.0.refresh_token.clone(),
            expires_at_ms: self.0.expires_at_ms,
        }))
    }
}

impl PartialEq for Session {
    fn eq(&self, other: &Self) -> bool {
        self.0.json == other.0.json
    }
}

impl Eq for Session {}

/// Lengths only: tokens stay out of logs (S35).
impl fmt::Debug for Session {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Session")
            .field("access_token_length", &self.0.access_token.len())
            .field("refresh_token_length", &self.0.refresh_token.len())
            .field("json_length", &self.0.json.len())
            .field("expires_at", &self.expires_at())
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW_MS: i64 = 1_700_000_000_400;

    fn expiring_at(expires_at: &str) -> Session {
        let text =
            format!(r#"{{"access_token":"a","refresh_token":"r","expires_at":{expires_at}}}"#);
        Session::from_json(&text).unwrap()
    }

    #[test]
    fn members_order_and_digits_survive_a_round_trip() {
        let text = r#"{"weak_password":null,"refresh_token":"r","expires_in":3.60e3,"expires_at":1700003600,"access_token":"a","token_type":"bearer","user":{"z":1,"id":"u","a":"é/"}}"#;

        let session = Session::from_json(text).unwrap();

        assert_eq!(session.to_json(), text);
        assert_eq!(
            (session.access_token(), session.refresh_token()),
            ("a", "r")
        );
        assert_eq!(session.user().unwrap().id(), "u");
    }

    #[test]
    fn presence_makes_a_session_and_not_truth() {
        let valid = r#"{"access_token":null,"refresh_token":"","expires_at":0}"#;
        assert!(Session::from_json(valid).is_ok());

        let rejected = |text: &str| Session::from_json(text).unwrap_err();
        assert_eq!(rejected("not json"), InvalidSession::NotJson);
        for text in [
            "1",
            "null",
            "[]",
            "\"x\"",
            "{}",
            r#"{"access_token":"a","expires_at":1}"#,
        ] {
            assert_eq!(rejected(text), InvalidSession::Malformed, "{text}");
        }
    }

    #[test]
    fn a_token_response_needs_tokens_and_a_lifetime() {
        let read = |text: &str| Session::from_token_response(text, NOW_MS, ExpiryPlace::Last);

        let session = read(r#"{"access_token":"a", "refresh_token":"r", "expires_in":3600}"#);
        assert_eq!(
            session.unwrap().to_json(),
            r#"{"access_token":"a","refresh_token":"r","expires_in":3600,"expires_at":1700003600}"#
        );
        let kept = r#"{"expires_at":5,"access_token":"a","refresh_token":"r","expires_in":1}"#;
        assert_eq!(read(kept).unwrap().to_json(), kept);
        for text in [
            r#"{"access_token":"","refresh_token":"r","expires_in":3600}"#,
            r#"{"access_token":"a","refresh_token":"r","expires_in":0}"#,
            r#"{"access_token":"a","expires_in":3600}"#,
            r#"{"id":"user"}"#,
            "[]",
        ] {
            assert!(read(text).is_none(), "{text}");
        }
    }

    #[test]
    fn after_a_factor_the_end_stands_first_and_the_servers_value_wins() {
        let read = |text: &str| Session::from_token_response(text, NOW_MS, ExpiryPlace::First);

        let added = read(r#"{"access_token":"a","refresh_token":"r","expires_in":60}"#).unwrap();
        assert_eq!(
            added.to_json(),
            r#"{"expires_at":1700000060,"access_token":"a","refresh_token":"r","expires_in":60}"#
        );
        let theirs =
            read(r#"{"access_token":"a","refresh_token":"r","expires_in":60,"expires_at":7}"#);
        assert_eq!(
            theirs.unwrap().to_json(),
            r#"{"expires_at":7,"access_token":"a","refresh_token":"r","expires_in":60}"#
        );
    }

    #[test]
    fn k3_the_margin_is_ninety_seconds_and_strict() {
        assert_eq!(EXPIRY_MARGIN_MS, 90_000);
        let session = expiring_at("1700000090");

        assert!(!session.is_within_margin(1_700_000_000_000));
        assert!(session.is_within_margin(1_700_000_000_001));
        assert!(!session.is_within_margin(1_699_999_999_000));
    }

    #[test]
    fn without_an_end_a_session_does_not_expire() {
        for expires_at in ["null", "0", "\"soon\""] {
            assert!(
                !expiring_at(expires_at).is_within_margin(i64::MAX),
                "{expires_at}"
            );
        }
        assert_eq!(expiring_at("null").remaining_ms(5), None);
        assert_eq!(expiring_at("0").remaining_ms(5), Some(-5));
    }

    #[test]
    fn validity_has_no_margin() {
        let session = expiring_at("1700000000");

        assert!(session.is_still_valid(1_699_999_999_999));
        assert!(!session.is_still_valid(1_700_000_000_000));
        assert!(!expiring_at("null").is_still_valid(0));
    }

    #[test]
    fn another_user_takes_the_place_of_the_first() {
        let session = Session::from_json(
            r#"{"access_token":"a","user":{"id":"x"},"refresh_token":"r","expires_at":1}"#,
        );
        let session = session.unwrap();
        let user = User::from_json(r#"{"id":"y"}"#).unwrap();

        let replaced = session.with_user(&user);
        let removed = session.without_user();

        assert_eq!(
            replaced.to_json(),
            r#"{"access_token":"a","user":{"id":"y"},"refresh_token":"r","expires_at":1}"#
        );
        assert_eq!(
            removed.to_json(),
            r#"{"access_token":"a","refresh_token":"r","expires_at":1}"#
        );
        assert_eq!(
            removed.with_user(&user).to_json(),
            r#"{"access_token":"a","refresh_token":"r","expires_at":1,"user":{"id":"y"}}"#
        );
        assert!(removed.user().is_none());
    }

    #[test]
    fn debug_shows_lengths_only() {
        let session = Session::from_json(
            r#"{"access_token":"secret-a","refresh_token":"secret-r","expires_at":1}"#,
        );

        let printed = format!("{:?}", session.unwrap());

        assert!(printed.contains("access_token_length: 8"), "{printed}");
        assert!(!printed.contains("secret"), "{printed}");
    }

    proptest::proptest! {
        #[test]
        fn expiry_never_panics_and_is_monotonic(expires_at: i64, now_ms: i64, later in 0..i64::MAX) {
            let session = expiring_at(&expires_at.to_string());
            let then = now_ms.saturating_add(later);

            // Once within the margin, always within it; once invalid, always invalid.
            assert!(!session.is_within_margin(now_ms) || session.is_within_margin(then));
            assert!(session.is_still_valid(now_ms) || !session.is_still_valid(then));
        }

        #[test]
        fn the_margin_is_where_the_arithmetic_says(left_ms in -200_000i64..400_000) {
            let session = expiring_at("1700000000");

            let is_within = session.is_within_margin(1_700_000_000_000 - left_ms);

            assert_eq!(is_within, left_ms < EXPIRY_MARGIN_MS);
        }
    }
}
