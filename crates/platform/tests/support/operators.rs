//! Operators: users of project zero with sessions, factors and roles, as the auth service makes them.

use axum::body::Body;
use http::{Method, Request};
use http_body_util::BodyExt;
use plinth_platform::{
    api,
    members::{Actor, MemberScope, Role},
};
use plinth_project::{ClientAddress, Project, ProjectName, RequestId};
use plinth_testkit::{Reply, TestServer};
use serde_json::{Value, json};
use tower::ServiceExt;
use uuid::Uuid;

use super::TestPlatform;

/// A signed-in user of project zero.
#[derive(Debug, Clone)]
pub struct Person {
    pub id: Uuid,
    pub email: String,
    pub session: Uuid,
    pub token: String,
}

/// What a session has proven.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Proven {
    /// The password; there is a second factor.
    Password,
    /// The password; there is no second factor.
    PasswordOnly,
    /// The second factor, just now.
    SecondFactor,
    /// The second factor, an hour ago.
    SecondFactorLongAgo,
}

/// A response's status and JSON body. An endless body is not read.
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub body: Value,
}

impl Answer {
    #[track_caller]
    pub fn expect(self, status: u16) -> Value {
        assert_eq!(self.status, status, "{}", self.body);
        self.body
    }

    pub fn code(&self) -> &str {
        self.body["code"].as_str().unwrap_or_default()
    }
}

impl TestPlatform {
    /// Project zero's tables.
    pub async fn tables(&self) -> tokio_postgres::Client {
        let zero = TestServer::shared().await.admin();
        let zero = zero.database(self.platform.references().platform.as_str());
        zero.connect().await.expect("project zero")
    }

    pub async fn zero(&self) -> Project {
        self.open(&ProjectName::Platform).await
    }

    /// An operator with a second factor that was given just now, without any role.
    pub async fn person(&self, email: &str) -> Person {
        self.person_with(email, Some("operator"), Proven::SecondFactor)
            .await
    }

    pub async fn person_with(&self, email: &str, role: Option<&str>, proven: Proven) -> Person {
        let id = Uuid::new_v4();
        let metadata = role.map_or(json!({}), |role| json!({ "role": role }));
        let tables = self.tables().await;
        tables
            .execute(
                "insert into auth.users (id, aud, role, email, raw_app_meta_data, raw_user_meta_data,
                                         email_confirmed_at, encrypted_password, created_at, updated_at)
                 values ($1, 'authenticated', 'authenticated', $2, $3, '{}', now(), 'x', now(), now())",
                &[&id, &email, &metadata],
            )
            .await
            .expect("a user");
        if proven != Proven::PasswordOnly {
            tables
                .execute(
                    "insert into auth.mfa_factors
                        (id, user_id, factor_type, status, created_at, updated_at, secret)
                     values ($1, $2, 'totp', 'verified', now(), now(), '')",
                    &[&Uuid::new_v4(), &id],
                )
                .await
                .expect("a factor");
        }
        self.sign_in(id, email, proven).await
    }

    /// Another session of a user.
    pub async fn sign_in(&self, id: Uuid, email: &str, proven: Proven) -> Person {
        let session = Uuid::new_v4();
        let (aal, minutes) = match proven {
            Proven::Password | Proven::PasswordOnly => ("aal1", None),
            Proven::SecondFactor => ("aal2", Some(0)),
            Proven::SecondFactorLongAgo => ("aal2", Some(60)),
        };
        let tables = self.tables().await;
        tables
            .execute(
                "insert into auth.sessions (id, user_id, created_at, updated_at, aal)
                 values ($1, $2, now(), now(), $3::text::auth.aal_level)",
                &[&session, &id, &aal],
            )
            .await
            .expect("a session");
        let methods = [Some(("password", 0)), minutes.map(|ago| ("totp", ago))];
        for (method, ago) in methods.into_iter().flatten() {
            tables
                .execute(
                    "insert into auth.mfa_amr_claims
                        (id, session_id, authentication_method, created_at, updated_at)
                     values ($1, $2, $3, now(), now() - make_interval(mins => $4))",
                    &[&Uuid::new_v4(), &session, &method, &ago],
                )
                .await
                .expect("a method");
        }
        let claims = session_claims(id, email, session, aal, 3600);
        Person {
            id,
            email: email.to_owned(),
            session,
            token: sign(&self.zero().await, &claims),
        }
    }

    /// A member with a fresh second factor.
    pub async fn member(&self, email: &str, scope: &MemberScope, role: Role) -> Person {
        let person = self.person(email).await;
        self.give(&person, scope, role).await;
        person
    }

    pub async fn give(&self, person: &Person, scope: &MemberScope, role: Role) {
        let owner = Actor {
            user: None,
            token: None,
            name: "test".to_owned(),
        };
        self.platform
            .change_member(&owner, scope, person.id, Some(role), true)
            .await
            .expect("a membership");
    }

    /// A request to project zero's auth service.
    pub async fn auth(&self, bearer: &str, method: Method, path: &str, body: &Value) -> Reply {
        let zero = self.zero().await;
        let keys = self.platform.legacy_keys(&ProjectName::Platform).await;
        let anon = keys.expect("keys").anon;
        let routes = plinth_auth::routes(plinth_auth::AuthService::local());
        let router = plinth_testkit::behind_gateway(routes, &zero, super::now);
        let call = plinth_testkit::Call::new(router, method, path)
            .header("apikey", anon.expose())
            .json(body);
        if bearer.is_empty() {
            call.await
        } else {
            call.bearer(bearer).await
        }
    }

    /// Signs in at project zero's auth service; the access token.
    pub async fn password_sign_in(&self, email: &str, password: &str) -> String {
        let body = json!({ "email": email, "password": password });
        let path = "/token?grant_type=password";
        let signed_in = self.auth("", Method::POST, path, &body).await.ok();
        let token = signed_in["access_token"].as_str();
        token.expect("an access token").to_owned()
    }

    /// A request over TCP; `bearer` may be empty.
    pub async fn call(&self, bearer: &str, method: &str, uri: &str, body: Value) -> Answer {
        let mut request = Request::builder()
            .method(Method::from_bytes(method.as_bytes()).expect("a method"))
            .uri(uri)
            .header("content-type", "application/json");
        if !bearer.is_empty() {
            request = request.header("authorization", format!("Bearer {bearer}"));
        }
        let text = if body.is_null() {
            String::new()
        } else {
            body.to_string()
        };
        self.send_raw(request.body(Body::from(text)).expect("a request"))
            .await
    }

    pub async fn send_raw(&self, mut request: Request<Body>) -> Answer {
        let ip = "192.0.2.7".parse().expect("an address");
        request.extensions_mut().insert(ClientAddress {
            ip,
            peer: ip,
            is_forwarded: false,
        });
        request
            .extensions_mut()
            .insert(RequestId("request-1".into()));
        let router = api::routes(self.platform.clone());
        let response = router.oneshot(request).await.expect("infallible");
        let status = response.status().as_u16();
        let kind = response.headers().get("content-type");
        let is_endless = kind.is_some_and(|kind| kind == "text/event-stream");
        let body = if is_endless {
            Value::Null
        } else {
            let bytes = response.into_body().collect().await.expect("a body");
            let bytes = bytes.to_bytes();
            serde_json::from_slice(&bytes)
                .unwrap_or_else(|_| Value::String(String::from_utf8_lossy(&bytes).into_owned()))
        };
        Answer { status, body }
    }
}

pub fn session_claims(id: Uuid, email: &str, session: Uuid, aal: &str, seconds: i64) -> Value {
    let now = super::now();
    json!({
        "iss": "http://127.0.0.1:54321/p/platform/auth/v1",
        "aud": "authenticated",
        "role": "authenticated",
        "sub": id,
        "email": email,
        "session_id": session,
        "aal": aal,
        "amr": [{ "method": "password", "timestamp": now }],
        "app_metadata": { "role": "operator" },
        "iat": now,
        "exp": now + seconds,
    })
}

/// Signs with a project's own key.
pub fn sign(project: &Project, claims: &Value) -> String {
    project.keys().keyset.sign(claims).expect("signed")
}
