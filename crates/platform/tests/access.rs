//! Every endpoint with every kind of operator. The endpoints come from the access table, which a unit test
//! compares with the routes, so that none can be forgotten.

mod support;

use plinth_platform::{
    BranchRequest, TokenLimits, TokenRequest,
    api::{Access, Needs, access_table},
    members::{Capability, MemberScope, Role},
};
use plinth_project::{ProjectName, ProjectRef};
use serde_json::{Value, json};
use support::{
    TestPlatform,
    operators::{Answer, Proven, session_claims, sign},
};
use uuid::Uuid;

/// Where a role is held.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Level {
    Instance,
    Organization,
    Project,
}

/// What the contract says (console contract F12), written down a second time.
fn may(role: Role, capability: Capability) -> bool {
    let allowed: &[Role] = match capability {
        Capability::SignedIn | Capability::ReadRows => &Role::ALL,
        Capability::Observe => &[Role::Reader, Role::Developer, Role::Admin, Role::Owner],
        Capability::WriteRows => &[Role::Editor, Role::Developer, Role::Admin, Role::Owner],
        Capability::Develop => &[Role::Developer, Role::Admin, Role::Owner],
        Capability::Admin => &[Role::Admin, Role::Owner],
        Capability::Owner => &[Role::Owner],
    };
    allowed.contains(&role)
}

fn is_allowed(row: &Access, role: Role, level: Level) -> bool {
    match row.needs {
        Needs::Nothing | Needs::Enrolling | Needs::SignedIn | Needs::SeesOrganization => true,
        Needs::OnProject(_) if removes_member(row) => may(role, Capability::Admin),
        Needs::InOrganization(_) if removes_member(row) => {
            level != Level::Project && may(role, Capability::Admin)
        }
        Needs::OnProject(capability) | Needs::OnBranch(capability) => may(role, capability),
        Needs::InOrganization(capability) => level != Level::Project && may(role, capability),
        // Everybody may leave; others are removed by admins, which the handler checks.
        Needs::OnInstance(Capability::SignedIn) if removes_member(row) => {
            level == Level::Instance && may(role, Capability::Admin)
        }
        Needs::OnInstance(capability) => level == Level::Instance && may(role, capability),
        Needs::Somewhere(capability) => may(role, capability),
        Needs::ControlSocket => false,
    }
}

fn removes_member(row: &Access) -> bool {
    row.method == "DELETE" && row.route.ends_with("/members/{user}")
}

/// Without a body these change something large at once; for those who may, other tests call them.
const AT_ONCE: [(&str, &str); 6] = [
    ("DELETE", "/v1/projects/{ref}"),
    ("DELETE", "/v1/branches/{id}"),
    ("POST", "/v1/projects/{ref}/pause"),
    ("POST", "/v1/projects/{ref}/restore"),
    ("POST", "/platform/projects/{ref}/database/reset"),
    ("POST", "/platform/projects/{ref}/storage/check"),
];

struct Scene {
    app: TestPlatform,
    project: ProjectRef,
    branch: ProjectRef,
    organization: String,
}

impl Scene {
    async fn new() -> Self {
        let app = TestPlatform::start().await;
        let organization = app
            .platform
            .create_organization("O'Brien \"& Co\" 😀")
            .await;
        let organization = organization.expect("an organization").slug;
        let row = app
            .platform
            .create_project(&plinth_platform::ProjectRequest {
                name: "Shop".to_owned(),
                organization: Some(organization.clone()),
                ..Default::default()
            })
            .await
            .expect("a project");
        let request = BranchRequest {
            name: "preview".to_owned(),
            ..BranchRequest::default()
        };
        let name = ProjectName::Ref(row.reference.clone());
        let branch = app.platform.create_branch(&name, &request).await;
        Self {
            branch: branch.expect("a branch").reference,
            project: row.reference,
            organization,
            app,
        }
    }

    fn scope(&self, level: Level) -> MemberScope {
        match level {
            Level::Instance => MemberScope::Instance,
            Level::Organization => MemberScope::Organization(self.organization.clone()),
            Level::Project => MemberScope::Project(self.project.clone()),
        }
    }

    /// The path of a row; what it does not find is not there.
    fn uri(&self, row: &Access) -> String {
        let segments = row.route.split('/').map(|segment| match segment {
            "{ref}" => self.project.to_string(),
            "{slug}" => self.slug(row),
            "{id}" if matches!(row.needs, Needs::OnBranch(_)) => self.branch.to_string(),
            "{id}" | "{user}" => Uuid::nil().to_string(),
            segment if segment.starts_with('{') => "nothing".to_owned(),
            segment => segment.to_owned(),
        });
        let path = segments.collect::<Vec<_>>().join("/");
        if row.route == "/platform/status" {
            format!("{path}?project={}", self.project)
        } else {
            path
        }
    }

    fn slug(&self, row: &Access) -> String {
        if row.route.contains("/organizations/") {
            self.organization.clone()
        } else {
            "no-such-function".to_owned()
        }
    }

    async fn call(&self, bearer: &str, row: &Access) -> Answer {
        // No body that any of them accepts.
        let body = if row.method == "GET" {
            Value::Null
        } else {
            json!(7)
        };
        let method = if row.method == "ANY" {
            "GET"
        } else {
            row.method
        };
        self.app.call(bearer, method, &self.uri(row), body).await
    }
}

fn rows() -> impl Iterator<Item = &'static Access> {
    access_table()
        .iter()
        .filter(|row| row.needs != Needs::Nothing)
}

fn is_refused(answer: &Answer) -> bool {
    matches!(answer.status, 401 | 403)
}

#[tokio::test]
async fn each_role_may_call_what_its_capabilities_say() {
    let scene = Scene::new().await;
    let mut personas = Vec::new();
    for role in Role::ALL {
        personas.push((role, Level::Instance));
        personas.push((role, Level::Project));
    }
    for role in [Role::Admin, Role::Editor] {
        personas.push((role, Level::Organization));
    }
    let mut refused = 0;
    for (role, level) in personas {
        let email = format!("{role}-{level:?}@example.com").to_lowercase();
        let person = scene.app.member(&email, &scene.scope(level), role).await;
        for row in rows() {
            let expected = is_allowed(row, role, level);
            if expected && AT_ONCE.contains(&(row.method, row.route)) {
                continue;
            }
            let answer = scene.call(&person.token, row).await;
            let what = format!("{role} {level:?}: {} {}: {answer:?}", row.method, row.route);
            assert_eq!(!is_refused(&answer), expected, "{what}");
            assert!(answer.status < 500, "{what}");
            if !expected {
                assert_eq!((answer.status, answer.code()), (403, "forbidden"), "{what}");
                refused += 1;
            }
        }
    }
    assert!(refused > 300, "{refused}");
}

#[tokio::test]
async fn whoever_is_no_operator_may_call_nothing() {
    let scene = Scene::new().await;
    let app = &scene.app;
    let zero = app.zero().await;
    let owner = app
        .member("owner@example.com", &MemberScope::Instance, Role::Owner)
        .await;
    let claims = |seconds| session_claims(owner.id, &owner.email, owner.session, "aal2", seconds);
    let with = |name: &str, value: Value| {
        let mut claims = claims(3600);
        claims[name] = value;
        sign(&zero, &claims)
    };
    let without = |name: &str| {
        let mut claims = claims(3600);
        claims.as_object_mut().expect("an object").remove(name);
        sign(&zero, &claims)
    };
    let shop = app.open(&ProjectName::Ref(scene.project.clone())).await;
    let service_role = app.platform.legacy_keys(&ProjectName::Platform).await;
    let service_role = service_role.expect("keys").service_role;
    let (revoked, revoked_text) = app.token("revoked").await;
    app.platform.revoke_token(&revoked).await.expect("revoked");
    let expired = TokenRequest {
        name: "expired".to_owned(),
        expires_at: Some(time::OffsetDateTime::now_utc() - time::Duration::MINUTE),
        ..TokenRequest::default()
    };
    let (_, expired_text) = app.platform.create_token(&expired).await.expect("a token");
    let forged = {
        let parts: Vec<String> = sign(&zero, &claims(3600))
            .split('.')
            .map(str::to_owned)
            .collect();
        // {"alg":"none"}
        format!("eyJhbGciOiJub25lIn0.{}.", parts[1])
    };
    // Ended: the token is genuine and not expired.
    let ended = app.person("ended@example.com").await;
    app.give(&ended, &MemberScope::Instance, Role::Owner).await;
    let banned = app.person("banned@example.com").await;
    app.give(&banned, &MemberScope::Instance, Role::Owner).await;
    let deleted = app.person("deleted@example.com").await;
    app.give(&deleted, &MemberScope::Instance, Role::Owner)
        .await;
    let of_banned = TokenRequest {
        name: "of banned".to_owned(),
        user: Some(banned.id),
        ..TokenRequest::default()
    };
    let (_, of_banned) = app
        .platform
        .create_token(&of_banned)
        .await
        .expect("a token");
    let timed_out = app.person("timed-out@example.com").await;
    app.give(&timed_out, &MemberScope::Instance, Role::Owner)
        .await;
    let tables = app.tables().await;
    tables
        .batch_execute(&format!(
            "delete from auth.sessions where id = '{}';
             update auth.users set banned_until = now() + interval '1 hour' where id = '{}';
             update auth.users set deleted_at = now() where id = '{}';
             update auth.sessions set not_after = now() where id = '{}';",
            ended.session, banned.id, deleted.id, timed_out.session
        ))
        .await
        .expect("ended");
    let unauthorized = [
        ("anonymous", String::new()),
        ("garbage", "x.y.z".to_owned()),
        ("expired token", sign(&zero, &claims(-60))),
        ("no expiry", without("exp")),
        ("no audience", without("aud")),
        ("another audience", with("aud", json!("somebody"))),
        ("no session", without("session_id")),
        ("another session", with("session_id", json!(Uuid::new_v4()))),
        ("another user", with("sub", json!(Uuid::new_v4()))),
        ("another role", with("role", json!("service_role"))),
        ("an application", with("client_id", json!(Uuid::new_v4()))),
        (
            "an impersonated user",
            with("plinth_impersonated_by", json!("ada")),
        ),
        ("of another project", sign(&shop, &claims(3600))),
        ("unsigned", forged),
        (
            "service_role of project zero",
            service_role.expose().to_owned(),
        ),
        (
            "secret key",
            "sb_secret_0123456789abcdefghijkl_01234567".to_owned(),
        ),
        ("ended session", ended.token),
        ("banned", banned.token),
        ("deleted", deleted.token),
        ("session past its end", timed_out.token),
        ("revoked token", revoked_text.expose().to_owned()),
        ("expired access token", expired_text.expose().to_owned()),
        ("token of a banned user", of_banned.expose().to_owned()),
    ];
    for (who, bearer) in &unauthorized {
        for row in rows() {
            let answer = scene.call(bearer, row).await;
            let what = format!("{who}: {} {}: {answer:?}", row.method, row.route);
            assert_eq!(answer.status, 401, "{what}");
        }
    }
    let ordinary = app
        .person_with("user@example.com", None, Proven::SecondFactor)
        .await;
    for row in rows() {
        let answer = scene.call(&ordinary.token, row).await;
        let what = format!("ordinary user: {} {}: {answer:?}", row.method, row.route);
        // A mailbox says the same to every wrong key.
        assert!(is_refused(&answer), "{what}");
    }
}

#[tokio::test]
async fn an_operator_without_a_role_learns_nothing() {
    let scene = Scene::new().await;
    let nobody = scene.app.person("nobody@example.com").await;
    let other = scene.app.project("Other").await;
    let other: ProjectRef = other.to_string().parse().expect("a ref");
    let elsewhere = scene
        .app
        .member(
            "else@example.com",
            &MemberScope::Project(other.clone()),
            Role::Owner,
        )
        .await;
    for person in [&nobody, &elsewhere] {
        for row in rows() {
            let answer = scene.call(&person.token, row).await;
            let is_open = matches!(row.needs, Needs::SignedIn | Needs::Enrolling)
                || (row.route == "/v1/projects" && person.id == elsewhere.id);
            let what = format!("{}: {} {}: {answer:?}", person.email, row.method, row.route);
            assert_eq!(!is_refused(&answer), is_open, "{what}");
            assert!(!answer.body.to_string().contains("Shop"), "{what}");
        }
    }
    let projects = scene
        .app
        .call(&elsewhere.token, "GET", "/v1/projects", Value::Null)
        .await
        .expect(200);
    assert_eq!(projects.as_array().map(Vec::len), Some(1));
    assert_eq!(projects[0]["ref"], other.as_str());
    let nothing = scene
        .app
        .call(&nobody.token, "GET", "/v1/projects", Value::Null)
        .await
        .expect(200);
    assert_eq!(nothing, json!([]));
    let organizations = scene
        .app
        .call(&nobody.token, "GET", "/v1/organizations", Value::Null)
        .await
        .expect(200);
    assert_eq!(organizations, json!([]));
    // One that is not there is not found, whoever asks; one that is, is closed.
    let missing = ProjectRef::generate();
    for (project, status) in [(&missing, 404), (&scene.project, 403)] {
        let uri = format!("/v1/projects/{project}");
        let answer = scene
            .app
            .call(&nobody.token, "GET", &uri, Value::Null)
            .await;
        assert_eq!(answer.status, status);
    }
}

#[tokio::test]
async fn without_the_second_factor_there_is_only_the_enrolment() {
    let scene = Scene::new().await;
    let app = &scene.app;
    for proven in [Proven::Password, Proven::PasswordOnly] {
        let email = format!("{proven:?}@example.com").to_lowercase();
        let person = app.person_with(&email, Some("operator"), proven).await;
        app.give(&person, &MemberScope::Instance, Role::Owner).await;
        for row in rows() {
            let answer = scene.call(&person.token, row).await;
            let what = format!("{proven:?}: {} {}: {answer:?}", row.method, row.route);
            if row.needs == Needs::Enrolling {
                assert_eq!(answer.status, 200, "{what}");
                assert_eq!(answer.body["mfa"]["pending"], true);
                assert_eq!(answer.body["capabilities"], json!([]));
            } else {
                assert_eq!(
                    (answer.status, answer.code()),
                    (403, "mfa_required"),
                    "{what}"
                );
            }
        }
        // A token that says aal2 does not help: the session counts.
        let claims = session_claims(person.id, &email, person.session, "aal2", 3600);
        let claimed = sign(&app.zero().await, &claims);
        let answer = app.call(&claimed, "GET", "/v1/projects", Value::Null).await;
        assert_eq!(answer.code(), "mfa_required");
    }
    // A factor that was removed does not count any more.
    let person = app
        .member("removed@example.com", &MemberScope::Instance, Role::Owner)
        .await;
    app.call(&person.token, "GET", "/v1/projects", Value::Null)
        .await
        .expect(200);
    app.tables()
        .await
        .execute(
            "delete from auth.mfa_factors where user_id = $1",
            &[&person.id],
        )
        .await
        .expect("removed");
    let answer = app
        .call(&person.token, "GET", "/v1/projects", Value::Null)
        .await;
    assert_eq!(answer.code(), "mfa_required");
}

#[tokio::test]
async fn what_reveals_or_destroys_needs_a_fresh_second_factor() {
    let scene = Scene::new().await;
    let app = &scene.app;
    let person = app
        .person_with(
            "old@example.com",
            Some("operator"),
            Proven::SecondFactorLongAgo,
        )
        .await;
    app.give(&person, &MemberScope::Instance, Role::Owner).await;
    let mut sensitive = 0;
    for row in rows().filter(|row| row.needs != Needs::ControlSocket) {
        if !row.is_sensitive && AT_ONCE.contains(&(row.method, row.route)) {
            continue;
        }
        let answer = scene.call(&person.token, row).await;
        let is_asked = answer.code() == "step_up_required";
        let what = format!("{} {}: {answer:?}", row.method, row.route);
        assert_eq!(is_asked, row.is_sensitive, "{what}");
        sensitive += usize::from(row.is_sensitive);
    }
    assert!(sensitive > 25, "{sensitive}");
    let reveal = format!("/v1/projects/{}/api-keys?reveal=true", scene.project);
    let answer = app.call(&person.token, "GET", &reveal, Value::Null).await;
    assert_eq!(answer.code(), "step_up_required");

    // A younger access token of the same session proves nothing new.
    let claims = session_claims(person.id, &person.email, person.session, "aal2", 3600);
    let refreshed = sign(&app.zero().await, &claims);
    let answer = app.call(&refreshed, "GET", &reveal, Value::Null).await;
    assert_eq!(answer.code(), "step_up_required");

    // Another password does not either, but the second factor does.
    let verify = |method: &'static str| {
        let (app, session) = (app, person.session);
        async move {
            let sql = "update auth.mfa_amr_claims set updated_at = now()
                       where session_id = $1 and authentication_method = $2";
            let tables = app.tables().await;
            tables
                .execute(sql, &[&session, &method])
                .await
                .expect("verified")
        }
    };
    assert_eq!(verify("password").await, 1);
    let answer = app.call(&person.token, "GET", &reveal, Value::Null).await;
    assert_eq!(answer.code(), "step_up_required");
    assert_eq!(verify("totp").await, 1);
    let keys = app
        .call(&person.token, "GET", &reveal, Value::Null)
        .await
        .expect(200);
    assert!(keys.to_string().contains("sb_secret_"));
}

/// A stolen session must not be able to make itself fresh.
#[tokio::test]
async fn a_stale_session_replaces_no_second_factor() {
    let app = TestPlatform::start().await;
    let person = app
        .person_with(
            "ada@example.com",
            Some("operator"),
            Proven::SecondFactorLongAgo,
        )
        .await;
    let enrol = json!({ "factor_type": "totp", "friendly_name": "thief" });
    let sql = "select id::text from auth.mfa_factors where user_id = $1";
    let row = app.tables().await.query_one(sql, &[&person.id]).await;
    let factor: String = row.expect("a factor").get(0);
    let remove = format!("/factors/{factor}");
    let nothing = json!({});

    let refused = app
        .auth(&person.token, http::Method::POST, "/factors", &enrol)
        .await;
    assert_eq!(refused.status, 403, "{refused:?}");
    let refused = app
        .auth(&person.token, http::Method::DELETE, &remove, &nothing)
        .await;
    assert!(refused.status.is_client_error(), "{refused:?}");

    let fresh = app
        .sign_in(person.id, &person.email, Proven::SecondFactor)
        .await;
    app.auth(&fresh.token, http::Method::POST, "/factors", &enrol)
        .await
        .expect_status(200);
    app.auth(&fresh.token, http::Method::DELETE, &remove, &nothing)
        .await
        .expect_status(200);
}

#[tokio::test]
async fn in_project_zero_every_change_needs_a_fresh_second_factor() {
    let app = TestPlatform::start().await;
    let stale = app
        .person_with(
            "ada@example.com",
            Some("operator"),
            Proven::SecondFactorLongAgo,
        )
        .await;
    app.give(&stale, &MemberScope::Instance, Role::Owner).await;
    let reference = app.reference(&ProjectName::Platform).await;
    let body = json!({ "file_name": "20260101000000_x.sql", "sql": "select 1" });
    let calls = [
        ("POST", "/platform/projects/platform/migrations".to_owned()),
        (
            "POST",
            format!("/v1/projects/{reference}/database/migrations"),
        ),
        ("POST", format!("/platform/projects/{reference}/seed")),
        ("GET", "/platform/projects/platform/mailbox".to_owned()),
    ];
    for (method, uri) in &calls {
        let answer = app.call(&stale.token, method, uri, body.clone()).await;
        assert_eq!(answer.code(), "step_up_required", "{uri}: {answer:?}");
    }
    let fresh = app
        .sign_in(stale.id, &stale.email, Proven::SecondFactor)
        .await;
    let (_, mailbox) = &calls[3];
    app.call(&fresh.token, "GET", mailbox, Value::Null)
        .await
        .expect(200);
    app.call(
        &stale.token,
        "POST",
        "/platform/projects/default/migrations",
        body,
    )
    .await
    .expect(201);
}

#[tokio::test]
async fn what_status_reveals_is_written_down() {
    let app = TestPlatform::start().await;
    let owner = app
        .member("owner@example.com", &MemberScope::Instance, Role::Owner)
        .await;
    let reader = app
        .member("reader@example.com", &MemberScope::Instance, Role::Reader)
        .await;
    let status = app
        .call(&reader.token, "GET", "/platform/status", Value::Null)
        .await
        .expect(200);
    for name in ["DB_URL", "SECRET_KEY", "SERVICE_ROLE_KEY", "JWT_SECRET"] {
        assert_eq!(status.get(name), None, "{name}");
    }

    let status = app
        .call(&owner.token, "GET", "/platform/status", Value::Null)
        .await
        .expect(200);

    assert!(status["SECRET_KEY"].is_string());
    let audit = app
        .call(
            &owner.token,
            "GET",
            "/platform/audit?action=key.reveal",
            Value::Null,
        )
        .await
        .expect(200);
    assert_eq!(audit["entries"].as_array().map(Vec::len), Some(1));
    assert_eq!(audit["entries"][0]["actor"], "owner@example.com");
    assert!(
        !audit
            .to_string()
            .contains(status["SECRET_KEY"].as_str().expect("a key"))
    );
}

#[tokio::test]
async fn a_token_does_no_more_than_its_user_and_its_limits() {
    let scene = Scene::new().await;
    let app = &scene.app;
    let scope = scene.scope(Level::Project);
    let editor = app.member("editor@example.com", &scope, Role::Editor).await;
    let owner = app
        .member("owner@example.com", &MemberScope::Instance, Role::Owner)
        .await;
    let make = async |user: Uuid, limits: TokenLimits| {
        let request = TokenRequest {
            name: "ci".to_owned(),
            user: Some(user),
            limits,
            ..TokenRequest::default()
        };
        let (_, text) = app.platform.create_token(&request).await.expect("a token");
        text.expose().to_owned()
    };
    let of_editor = make(editor.id, TokenLimits::default()).await;
    let scoped = TokenLimits {
        scopes: Some(vec!["edge_functions_read".to_owned()]),
        ..TokenLimits::default()
    };
    let scoped = make(owner.id, scoped).await;
    let read_only = TokenLimits {
        read_only: true,
        ..TokenLimits::default()
    };
    let read_only = make(owner.id, read_only).await;
    for row in rows() {
        let may_be_called = |answer: &Answer| !is_refused(answer);
        let answer = scene.call(&of_editor, row).await;
        let what = format!("{} {}: {answer:?}", row.method, row.route);
        let expected = is_allowed(row, Role::Editor, Level::Project);
        assert!(!may_be_called(&answer) || expected, "{what}");

        let answer = scene.call(&scoped, row).await;
        let what = format!("scoped: {} {}: {answer:?}", row.method, row.route);
        let is_functions = row.method == "GET" && row.route.contains("/functions");
        let is_own = matches!(
            row.route,
            "/v1/profile" | "/platform/me" | "/platform/tokens" | "/platform/tokens/{id}"
        ) && row.method != "POST";
        assert_eq!(may_be_called(&answer), is_functions || is_own, "{what}");

        if row.method != "GET" {
            let answer = scene.call(&read_only, row).await;
            let what = format!("read-only: {} {}: {answer:?}", row.method, row.route);
            let is_harmless = row.route.ends_with("/network-bans/retrieve")
                || row.route == "/platform/tokens/{id}";
            assert_eq!(may_be_called(&answer), is_harmless, "{what}");
        }
    }

    // Rights are those of now: the token of somebody who was demoted is demoted.
    let uri = format!("/v1/projects/{}/secrets", scene.project);
    let of_owner = make(owner.id, TokenLimits::default()).await;
    app.call(&of_owner, "GET", &uri, Value::Null)
        .await
        .expect(200);
    app.tables()
        .await
        .execute(
            "delete from platform.members where user_id = $1",
            &[&owner.id],
        )
        .await
        .expect("removed");
    app.call(&of_owner, "GET", &uri, Value::Null)
        .await
        .expect(403);
}

#[tokio::test]
async fn no_header_makes_a_request_one_of_the_control_socket() {
    let scene = Scene::new().await;
    let only_there: Vec<&Access> = rows()
        .filter(|row| row.needs == Needs::ControlSocket)
        .collect();
    assert_eq!(only_there.len(), 2);
    let owner = scene
        .app
        .member("owner@example.com", &MemberScope::Instance, Role::Owner)
        .await;
    for row in only_there {
        for bearer in ["", owner.token.as_str()] {
            let mut request = http::Request::builder()
                .method(row.method)
                .uri(scene.uri(row))
                .header("x-control-socket", "1")
                .header("host", "localhost")
                .header("x-forwarded-for", "127.0.0.1")
                .header("forwarded", "for=unix:/run/control.sock");
            if !bearer.is_empty() {
                request = request.header("authorization", format!("Bearer {bearer}"));
            }
            let request = request.body(axum::body::Body::empty()).expect("a request");
            let answer = scene.app.send_raw(request).await;
            assert!(is_refused(&answer), "{} {answer:?}", row.route);
        }
    }
}

/// The rows that matter most, so that the table cannot change them unnoticed.
#[test]
fn the_table_says_who_may_do_what_matters_most() {
    use Capability::{Admin, Develop, Observe};
    let check = |method: &str, route: &str, needs: Needs, is_sensitive: bool| {
        let row = access_table()
            .iter()
            .find(|row| row.method == method && row.route == route);
        let row = row.unwrap_or_else(|| panic!("{method} {route}"));
        assert_eq!(
            (row.needs, row.is_sensitive),
            (needs, is_sensitive),
            "{route}"
        );
    };
    let admin = Needs::OnProject(Admin);
    check("POST", "/v1/projects/{ref}/api-keys", admin, true);
    check("DELETE", "/v1/projects/{ref}/api-keys/{id}", admin, true);
    check("DELETE", "/v1/projects/{ref}", admin, true);
    check("GET", "/platform/projects/{ref}/database", admin, true);
    check("POST", "/platform/projects/{ref}/keys/rotate", admin, true);
    check("POST", "/platform/projects/{ref}/bearer-jwt", admin, true);
    check(
        "POST",
        "/platform/projects/{ref}/database/reset",
        admin,
        true,
    );
    check("POST", "/platform/projects/{ref}/members", admin, true);
    check("POST", "/platform/members", Needs::OnInstance(Admin), true);
    check("POST", "/platform/tokens", Needs::SignedIn, true);
    check(
        "GET",
        "/v1/projects/{ref}/secrets",
        Needs::OnProject(Develop),
        false,
    );
    check(
        "GET",
        "/platform/projects/{ref}/logs",
        Needs::OnProject(Observe),
        false,
    );
    check("GET", "/platform/me", Needs::Enrolling, false);
    let open: Vec<&str> = access_table()
        .iter()
        .filter(|row| row.needs == Needs::Nothing)
        .map(|row| row.route)
        .collect();
    assert_eq!(
        open,
        [
            "/platform/setup",
            "/platform/setup",
            "/platform/invitations/show",
            "/platform/invitations/accept"
        ]
    );
}
