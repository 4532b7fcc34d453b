//! Requests of the clients as bytes, and the state they keep from responses.

use anyhow::Context as _;

use super::{sides::Side, users};
use crate::{load::LoadClient, random::Random};

/// The kind of request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Operation {
    Refresh,
    GetUser,
    SignIn,
    SignUp,
    Recover,
    Verify,
    ListUsers,
    /// A page anywhere in the list.
    Leaf,
    /// One user, by their e-mail address.
    Search,
}

impl Operation {
    pub(crate) fn what(self) -> &'static str {
        match self {
            Self::Refresh => "token refresh",
            Self::GetUser => "GET /user",
            Self::SignIn => "password sign-in",
            Self::SignUp => "sign-up",
            Self::Recover => "recover",
            Self::Verify => "verify a code",
            Self::ListUsers => "list of users, page 1",
            Self::Leaf => "list of users, any page",
            Self::Search => "list of users, filter",
        }
    }
}

/// One client: some users who take turns, and their tokens.
pub(crate) struct ScriptedClient {
    operation: Operation,
    users: Vec<UserState>,
    turn: usize,
    heads: Heads,
    request: Vec<u8>,
}

struct UserState {
    number: u64,
    refresh_token: String,
    access_token: String,
}

/// Headers that all requests to a side share.
#[derive(Clone)]
struct Heads {
    prefix: &'static str,
    common: String,
    /// Of an administrator.
    admin_key: String,
}

impl ScriptedClient {
    /// No request was sent yet, so all tokens are the first ones.
    pub(crate) fn new(
        side: &Side,
        operation: Operation,
        users: impl IntoIterator<Item = u64>,
    ) -> Self {
        let user = |number| UserState {
            number,
            refresh_token: users::first_token(number),
            access_token: String::new(),
        };
        Self {
            operation,
            users: users.into_iter().map(user).collect(),
            turn: 0,
            heads: Heads::of(side),
            request: Vec::new(),
        }
    }

    /// The same users with another operation.
    pub(crate) fn with_operation(mut self, operation: Operation) -> Self {
        self.operation = operation;
        self
    }

    /// The number of users.
    pub(crate) fn count(&self) -> u64 {
        self.users.len() as u64
    }

    /// Of the current user.
    pub(crate) fn refresh_token(&self) -> &str {
        &self.users[self.turn].refresh_token
    }
}

impl LoadClient for ScriptedClient {
    fn next_request(&mut self) -> &[u8] {
        let user = &self.users[self.turn];
        let email = users::email(user.number);
        let admin_path;
        let (path, bearer, body) = match self.operation {
            Operation::Refresh => (
                "POST /token?grant_type=refresh_token",
                None,
                format!(r#"{{"refresh_token":"{}"}}"#, user.refresh_token),
            ),
            Operation::GetUser => ("GET /user", Some(&user.access_token), String::new()),
            Operation::SignIn => (
                "POST /token?grant_type=password",
                None,
                format!(
                    r#"{{"email":"{email}","password":"{}","gotrue_meta_security":{{}}}}"#,
                    users::PASSWORD
                ),
            ),
            Operation::SignUp => (
                "POST /signup",
                None,
                format!(
                    r#"{{"email":"new{email}","password":"{}","data":{{}}}}"#,
                    users::PASSWORD
                ),
            ),
            Operation::Recover => ("POST /recover", None, format!(r#"{{"email":"{email}"}}"#)),
            Operation::Verify => (
                "POST /verify",
                None,
                format!(
                    r#"{{"type":"recovery","email":"{email}","token":"{}"}}"#,
                    users::CODE
                ),
            ),
            Operation::ListUsers => (
                "GET /admin/users?page=1&per_page=50",
                Some(&self.heads.admin_key),
                String::new(),
            ),
            Operation::Leaf | Operation::Search => {
                admin_path = match self.operation {
                    Operation::Leaf => {
                        format!("GET /admin/users?page={}", user.number.div_ceil(50))
                    }
                    _ => format!("GET /admin/users?filter={email}"),
                };
                let key = Some(&self.heads.admin_key);
                (admin_path.as_str(), key, String::new())
            }
        };
        self.request = self.heads.request(path, bearer.map(String::as_str), &body);
        &self.request
    }

    /// Then it is the next user's turn.
    fn handle_response(&mut self, body: &[u8]) -> anyhow::Result<()> {
        let user = &mut self.users[self.turn];
        let text = || String::from_utf8_lossy(&body[..body.len().min(300)]).into_owned();
        if self.operation == Operation::Refresh {
            let tokens = (field(body, "refresh_token"), field(body, "access_token"));
            let (Some(refresh_token), Some(access_token)) = tokens else {
                anyhow::bail!("a response without tokens: {}", text());
            };
            user.refresh_token = refresh_token.to_owned();
            user.access_token = access_token.to_owned();
        }
        if self.operation == Operation::GetUser {
            let id = field(body, "id").context("a response without an id")?;
            anyhow::ensure!(
                id == users::user_id(user.number),
                "it is another user: {}",
                text()
            );
        }
        self.turn = (self.turn + 1) % self.users.len();
        Ok(())
    }
}

/// The first value of that name, which holds nothing that would be escaped.
fn field<'a>(body: &'a [u8], name: &str) -> Option<&'a str> {
    let body = std::str::from_utf8(body).ok()?;
    let (_, after) = body.split_once(&format!("\"{name}\":\""))?;
    after.split('"').next()
}

impl Heads {
    /// The headers that auth-js sends.
    fn of(side: &Side) -> Self {
        let Side { port, key, .. } = side;
        Self {
            prefix: side.prefix,
            common: format!(
                " HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\nconnection: keep-alive\r\n\
                 apikey: {key}\r\nx-client-info: supabase-js-node/2.97.0\r\n\
                 x-supabase-api-version: 2024-01-01\r\naccept: */*\r\naccept-language: *\r\n\
                 sec-fetch-mode: cors\r\nuser-agent: node\r\n"
            ),
            admin_key: side.admin_key.clone(),
        }
    }

    fn request(&self, path: &str, bearer: Option<&str>, body: &str) -> Vec<u8> {
        let (method, path) = path.split_once(' ').unwrap_or_default();
        let mut text = format!("{method} {}{path}{}", self.prefix, self.common);
        if let Some(bearer) = bearer {
            text.push_str(&format!("authorization: Bearer {bearer}\r\n"));
        }
        if !body.is_empty() {
            text.push_str(&format!(
                "content-type: application/json;charset=UTF-8\r\ncontent-length: {}\r\n",
                body.len()
            ));
        }
        text.push_str("\r\n");
        text.push_str(body);
        text.into_bytes()
    }
}

/// Users all over a database, none twice in a row.
pub(crate) fn spread(seed: u64, count: u64, of: u64) -> Vec<u64> {
    let mut random = Random::new(seed);
    let most = i32::try_from(of).unwrap_or(i32::MAX);
    let mut drawn = std::collections::BTreeSet::new();
    while (drawn.len() as u64) < count.min(of) {
        drawn.insert(u64::from(random.between_one_and(most).unsigned_abs()));
    }
    drawn.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn side() -> Side {
        Side {
            name: "it",
            port: 7,
            prefix: "/auth/v1",
            key: "anon".to_owned(),
            admin_key: "admin".to_owned(),
            pid: 1,
        }
    }

    #[test]
    fn each_refresh_shows_what_the_last_one_gave() {
        let mut scripted_client = ScriptedClient::new(&side(), Operation::Refresh, [1]);
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
        assert!(
            text(scripted_client.next_request()).ends_with(r#"{"refresh_token":"100000000001"}"#)
        );

        let http_response = br#"{"access_token":"a","refresh_token":"next","user":{}}"#;
        scripted_client.handle_response(http_response).unwrap();

        assert!(text(scripted_client.next_request()).ends_with(r#"{"refresh_token":"next"}"#));
        let mut scripted_client = scripted_client.with_operation(Operation::GetUser);
        let said = text(scripted_client.next_request());
        assert!(said.starts_with("GET /auth/v1/user HTTP/1.1\r\n"), "{said}");
        assert!(said.contains("authorization: Bearer a\r\n"), "{said}");
    }

    #[test]
    fn a_response_about_another_user_is_rejected() {
        let mut scripted_client = ScriptedClient::new(&side(), Operation::GetUser, [1]);
        let body = |user| format!(r#"{{"id":"{}"}}"#, users::user_id(user));
        assert!(scripted_client.handle_response(body(2).as_bytes()).is_err());
        assert!(scripted_client.handle_response(body(1).as_bytes()).is_ok());
    }

    #[test]
    fn people_are_drawn_from_all_and_only_once() {
        let drawn = spread(1, 100, 1000);
        assert_eq!(drawn.len(), 100);
        assert!(drawn.iter().all(|user| (1..=1000).contains(user)));
        assert_eq!(spread(1, 100, 50).len(), 50);
    }
}
