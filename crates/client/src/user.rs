//! A user, as returned by `GET /user` and token responses.

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use serde::Deserialize;
use serde_json::{Map, Value};

use crate::json;

/// A user. Only the common members are typed; [`User::get`] returns the others.
///
/// Whether it can be trusted depends on its source: [`Auth::user`](crate::auth::Auth::user) asks the server and
/// returns this type; a stored session has an [`UnverifiedUser`].
#[derive(Clone)]
pub struct User(Arc<Parts>);

struct Parts {
    json: String,
    fields: Fields,
    value: Value,
}

struct Fields {
    id: String,
    email: Option<String>,
    phone: Option<String>,
    role: Option<String>,
    is_anonymous: bool,
    email_confirmed_at: Option<String>,
    phone_confirmed_at: Option<String>,
    new_email: Option<String>,
    factors: Vec<Factor>,
    identities: Vec<Identity>,
    created_at: Option<String>,
}

impl Fields {
    /// Members are read one by one: an unexpected type must hide neither the user nor the factors that a second
    /// step needs.
    fn read(user: &Value) -> Option<Self> {
        Some(Self {
            id: text(user, "id")?,
            email: text(user, "email"),
            phone: text(user, "phone"),
            role: text(user, "role"),
            is_anonymous: user["is_anonymous"] == true,
            email_confirmed_at: text(user, "email_confirmed_at"),
            phone_confirmed_at: text(user, "phone_confirmed_at"),
            new_email: text(user, "new_email"),
            factors: objects(user, "factors").map(Factor::read).collect(),
            identities: objects(user, "identities").map(Identity::read).collect(),
            created_at: text(user, "created_at"),
        })
    }
}

fn text(object: &Value, name: &str) -> Option<String> {
    object.get(name)?.as_str().map(str::to_owned)
}

fn objects<'a>(object: &'a Value, name: &str) -> impl Iterator<Item = &'a Value> {
    let list = object.get(name).and_then(Value::as_array);
    list.into_iter().flatten().filter(|item| item.is_object())
}

impl User {
    /// Parses a user object. `None` unless it is an object with a text `id`.
    pub fn from_json(text: &str) -> Option<Self> {
        let json = json::compact(text).ok()?;
        let value: Value = serde_json::from_str(&json).ok()?;
        let fields = Fields::read(&value)?;
        Some(Self(Arc::new(Parts {
            json,
            fields,
            value,
        })))
    }

    /// The user of a response that is either the user or an object around it.
    pub(crate) fn from_response(text: &str) -> Option<Self> {
        let members = json::Members::parse(text)?;
        match members.get("user") {
            Some(user) if user != "null" => Self::from_json(user),
            _ => Self::from_json(text),
        }
    }

    /// The user's id, a UUID.
    pub fn id(&self) -> &str {
        &self.0.fields.id
    }

    /// The e-mail address.
    pub fn email(&self) -> Option<&str> {
        self.0
            .fields
            .email
            .as_deref()
            .filter(|email| !email.is_empty())
    }

    /// The phone number, digits only.
    pub fn phone(&self) -> Option<&str> {
        self.0
            .fields
            .phone
            .as_deref()
            .filter(|phone| !phone.is_empty())
    }

    /// The Postgres role of the user's requests.
    pub fn role(&self) -> Option<&str> {
        self.0.fields.role.as_deref()
    }

    /// Whether it is an anonymous user.
    pub fn is_anonymous(&self) -> bool {
        self.0.fields.is_anonymous
    }

    /// When the e-mail address was confirmed, as RFC 3339.
    pub fn email_confirmed_at(&self) -> Option<&str> {
        self.0.fields.email_confirmed_at.as_deref()
    }

    /// When the phone number was confirmed, as RFC 3339.
    pub fn phone_confirmed_at(&self) -> Option<&str> {
        self.0.fields.phone_confirmed_at.as_deref()
    }

    /// The unconfirmed new e-mail address.
    pub fn new_email(&self) -> Option<&str> {
        self.0.fields.new_email.as_deref()
    }

    /// When the user was created, as RFC 3339.
    pub fn created_at(&self) -> Option<&str> {
        self.0.fields.created_at.as_deref()
    }

    /// Metadata that the user can change.
    pub fn user_metadata(&self) -> Option<&Map<String, Value>> {
        self.get("user_metadata")?.as_object()
    }

    /// Metadata that only the server can change: providers, and custom claims.
    pub fn app_metadata(&self) -> Option<&Map<String, Value>> {
        self.get("app_metadata")?.as_object()
    }

    /// Second factors, verified or not.
    pub fn factors(&self) -> &[Factor] {
        &self.0.fields.factors
    }

    /// The user's identities.
    pub fn identities(&self) -> &[Identity] {
        &self.0.fields.identities
    }

    /// Any member.
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.0.value.get(name)
    }

    /// The whole user as compact JSON, as the server wrote it.
    pub fn to_json(&self) -> &str {
        &self.0.json
    }
}

impl PartialEq for User {
    fn eq(&self, other: &Self) -> bool {
        self.0.json == other.0.json
    }
}

impl Eq for User {}

/// The id only: the rest is personal data.
impl fmt::Debug for User {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut user = formatter.debug_struct("User");
        user.field("id", &self.id()).finish_non_exhaustive()
    }
}

/// The user of a stored session. For display only, never for authorization, because anyone who can
/// write to the store can change it (S18).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnverifiedUser(User);

impl UnverifiedUser {
    pub(crate) fn new(user: User) -> Self {
        Self(user)
    }

    /// Trusts the store.
    pub fn trust(self) -> User {
        self.0
    }
}

impl Deref for UnverifiedUser {
    type Target = User;

    fn deref(&self) -> &User {
        &self.0
    }
}

/// A second factor.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct Factor {
    /// A UUID.
    pub id: String,
    /// The name given by the user.
    pub friendly_name: Option<String>,
    /// `totp`, `phone`, `webauthn`, or one that this version does not know.
    pub factor_type: String,
    /// `verified` or `unverified`.
    pub status: String,
    /// The number of a phone factor.
    pub phone: Option<String>,
    /// As RFC 3339.
    pub created_at: Option<String>,
    /// As RFC 3339.
    pub updated_at: Option<String>,
}

impl Factor {
    fn read(factor: &Value) -> Self {
        let required = |name| text(factor, name).unwrap_or_default();
        Self {
            id: required("id"),
            friendly_name: text(factor, "friendly_name"),
            factor_type: required("factor_type"),
            status: required("status"),
            phone: text(factor, "phone"),
            created_at: text(factor, "created_at"),
            updated_at: text(factor, "updated_at"),
        }
    }

    /// Whether it is verified.
    pub fn is_verified(&self) -> bool {
        self.status == "verified"
    }
}

/// An identity: one way in which a user can sign in.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct Identity {
    /// The row's id: what [`unlink_identity`](crate::auth::Auth::unlink_identity) takes.
    pub identity_id: String,
    /// The user's id at the provider.
    pub id: String,
    /// The user it belongs to.
    pub user_id: String,
    /// `email`, `phone`, `github`, …
    pub provider: String,
    /// The provider's data about the user.
    pub identity_data: Option<Map<String, Value>>,
    /// As RFC 3339.
    pub created_at: Option<String>,
    /// As RFC 3339.
    pub last_sign_in_at: Option<String>,
}

impl Identity {
    fn read(identity: &Value) -> Self {
        let required = |name| text(identity, name).unwrap_or_default();
        Self {
            identity_id: required("identity_id"),
            id: required("id"),
            user_id: required("user_id"),
            provider: required("provider"),
            identity_data: identity["identity_data"].as_object().cloned(),
            created_at: text(identity, "created_at"),
            last_sign_in_at: text(identity, "last_sign_in_at"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_shows_its_members_and_keeps_its_text() {
        let text = r#"{"id":"u","email":"","phone":"1","app_metadata":{"provider":"email"},"factors":[{"id":"f","factor_type":"totp","status":"verified"}],"later":true}"#;

        let user = User::from_json(text).unwrap();

        assert_eq!(user.to_json(), text);
        assert_eq!((user.email(), user.phone()), (None, Some("1")));
        assert_eq!(user.app_metadata().unwrap()["provider"], "email");
        assert!(user.factors()[0].is_verified());
        assert_eq!(user.get("later"), Some(&Value::Bool(true)));
        assert!(user.identities().is_empty());
    }

    #[test]
    fn a_member_of_another_type_does_not_hide_the_user() {
        let user = User::from_json(r#"{"id":"u","email":"a@b.c","factors":"none"}"#).unwrap();

        assert_eq!((user.id(), user.email()), ("u", Some("a@b.c")));
        assert!(user.factors().is_empty());
    }

    #[test]
    fn a_member_of_another_type_hides_no_factor_and_no_identity() {
        for odd in [
            r#""is_anonymous":null"#,
            r#""phone":7"#,
            r#""created_at":{}"#,
            r#""identities":"none""#,
        ] {
            let text = format!(r#"{{"id":"u",{odd},"factors":[{{"status":"verified"}}]}}"#);
            let user = User::from_json(&text).unwrap();
            assert!(user.factors().iter().any(Factor::is_verified), "{text}");
            assert!(!user.is_anonymous());
        }

        let text = r#"{"id":"u","factors":[null,7,{"id":"f","phone":7,"status":"verified"}],
            "identities":[{"provider":"github","identity_data":"x"},"email"]}"#;
        let user = User::from_json(text).unwrap();
        assert_eq!(user.factors().len(), 1);
        assert!(user.factors()[0].is_verified());
        assert_eq!(user.identities()[0].provider, "github");
    }

    #[test]
    fn what_has_no_id_is_no_user() {
        for text in ["null", "{}", r#"{"id":7}"#, "[]", "x"] {
            assert!(User::from_json(text).is_none(), "{text}");
        }
    }

    #[test]
    fn a_user_is_found_bare_or_wrapped() {
        assert_eq!(User::from_response(r#"{"id":"a"}"#).unwrap().id(), "a");
        assert_eq!(
            User::from_response(r#"{"user":{"id":"b"}}"#).unwrap().id(),
            "b"
        );
        assert_eq!(
            User::from_response(r#"{"user":null,"id":"c"}"#)
                .unwrap()
                .id(),
            "c"
        );
    }

    #[test]
    fn debug_shows_the_id_only() {
        let user = User::from_json(r#"{"id":"u","email":"ada@example.com"}"#).unwrap();

        assert!(!format!("{user:?}").contains("ada"));
    }
}
