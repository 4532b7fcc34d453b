//! Users, sessions and the audit log, as operators see them.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Which users are listed: those for whom every condition holds.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct UserSearch {
    /// A part of the address or the name, or the beginning of the number or the id.
    pub q: Option<String>,
    /// A part of the address.
    pub email: Option<String>,
    /// The beginning of the number, with or without `+`.
    pub phone: Option<String>,
    /// The beginning of the id.
    pub id: Option<String>,
    /// A part of `full_name` or `name` in the user's metadata.
    pub name: Option<String>,
    /// A value in the metadata: `user.plan=pro` or `app.roles=admin`. The value is a text, JSON,
    /// or an element of a list.
    pub metadata: Option<String>,
    /// Whether the address or the number is confirmed.
    pub confirmed: Option<bool>,
    /// Whether the user is banned now.
    pub banned: Option<bool>,
    /// Whether the user is anonymous.
    pub anonymous: Option<bool>,
    /// Whether the user has a verified second factor.
    pub mfa: Option<bool>,
    /// A provider of one of the user's identities, such as `email` or `google`.
    pub provider: Option<String>,
    /// Last sign-in not before this time (RFC 3339).
    pub signed_in_since: Option<String>,
    /// Last sign-in before this time (RFC 3339).
    pub signed_in_until: Option<String>,
    /// What the list is sorted by.
    pub sort: Option<UserSort>,
    /// In which direction; newest or first letters first by default.
    pub order: Option<SortOrder>,
    /// `next` of the page before.
    pub cursor: Option<String>,
    /// Users per page, 50 by default and 200 at most.
    pub limit: Option<i64>,
    /// Whether to count; the default is to count for a first page.
    pub count: Option<bool>,
}

/// What a list of users is sorted by. Users without a value come last.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum UserSort {
    /// The age of the account.
    #[default]
    CreatedAt,
    /// The last sign-in. Reads all users that the other conditions leave.
    LastSignInAt,
    /// The address.
    Email,
    /// The number.
    Phone,
}

/// A direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SortOrder {
    /// Smallest or oldest first.
    Asc,
    /// Greatest or newest first.
    Desc,
}

/// A user, with the members that `/auth/v1/admin/users/{id}` has.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct UserObject(pub Map<String, Value>);

/// A page of users.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct UserPage {
    /// The users.
    pub users: Vec<UserObject>,
    /// The cursor of the next page; null on the last one.
    pub next: Option<String>,
    /// How many users the search finds; null if they were not counted.
    pub total: Option<u64>,
    /// Whether the total is PostgreSQL's estimate, as above 50 000.
    pub is_estimate: bool,
}

/// A user with what is not part of the user object.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct UserDetails {
    /// The user.
    pub user: UserObject,
    /// Whether the user has a password.
    pub has_password: bool,
    /// Whether the account comes from single sign-on.
    pub is_sso_user: bool,
    /// Whether the user is banned now.
    pub is_banned: bool,
    /// How many sessions the user has.
    pub sessions: u64,
    /// How many passkeys the user has.
    pub passkeys: u64,
}

/// Sessions of a user.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct UserSessions {
    /// Newest first, 200 at most.
    pub sessions: Vec<UserSession>,
}

/// A session.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct UserSession {
    /// Its id, which access tokens name.
    pub id: String,
    /// When the user signed in.
    pub created_at: String,
    /// When it was last refreshed.
    pub refreshed_at: Option<String>,
    /// When it ends whatever happens.
    pub not_after: Option<String>,
    /// `aal1` or `aal2`.
    pub aal: String,
    /// How the user authenticated.
    pub methods: Vec<String>,
    /// The client.
    pub user_agent: String,
    /// Its address.
    pub ip: Option<String>,
    /// The application that acts for the user.
    pub oauth_client_id: Option<String>,
    /// Whether an operator got it in place of the user.
    pub is_impersonation: bool,
}

/// Which entries of the audit log are listed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct AuditSearch {
    /// Entries that this user made, or that are about this user.
    pub user: Option<String>,
    /// A part of the actor's address, number or name.
    pub actor: Option<String>,
    /// The action, such as `login`.
    pub action: Option<String>,
    /// The client's address.
    pub ip: Option<String>,
    /// Not before this time (RFC 3339).
    pub since: Option<String>,
    /// Before this time (RFC 3339).
    pub until: Option<String>,
    /// `next` of the page before.
    pub cursor: Option<String>,
    /// Entries per page, 50 by default and 200 at most.
    pub limit: Option<i64>,
}

/// A page of the audit log.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AuditPage {
    /// Newest first.
    pub entries: Vec<AuditEntry>,
    /// The cursor of the next page; null on the last one.
    pub next: Option<String>,
}

/// An entry of the audit log.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AuditEntry {
    /// Its id.
    pub id: String,
    /// When.
    pub created_at: String,
    /// The client's address.
    pub ip_address: String,
    /// Actor, action and details, as they are stored.
    pub payload: Value,
}

/// A session in place of a user.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
pub struct Impersonation {
    /// Marked with the operator's name.
    pub access_token: String,
    /// Always `bearer`.
    pub token_type: String,
    /// In seconds.
    pub expires_in: i64,
    /// In seconds since 1970.
    pub expires_at: i64,
    /// A text that clients need and that cannot be exchanged.
    pub refresh_token: String,
    /// The session, which can be ended like any other.
    pub session_id: String,
    /// The site with the session in its fragment, as after a sign-in by link.
    pub url: String,
    /// The user.
    pub user: UserObject,
}
