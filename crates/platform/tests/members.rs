//! Members and invitations: who may give and take which role, and that an owner is left.

mod support;

use plinth_platform::{
    TokenRequest,
    members::{MemberScope, Role},
};
use plinth_project::{ProjectName, ProjectRef};
use plinth_testkit::until;
use serde_json::{Value, json};
use support::{
    TestPlatform,
    operators::{Answer, Person, Proven},
};
use uuid::Uuid;

const INSTANCE: &str = "/platform/members";

async fn owner(app: &TestPlatform) -> Person {
    app.member("owner@example.com", &MemberScope::Instance, Role::Owner)
        .await
}

async fn set_role(app: &TestPlatform, by: &str, path: &str, user: Uuid, role: &str) -> Answer {
    let uri = format!("{path}/{user}");
    app.call(by, "PATCH", &uri, json!({ "role": role })).await
}

async fn remove(app: &TestPlatform, by: &str, path: &str, user: Uuid) -> Answer {
    app.call(by, "DELETE", &format!("{path}/{user}"), Value::Null)
        .await
}

async fn token_of(app: &TestPlatform, person: &Person) -> String {
    let request = TokenRequest {
        name: "ci".to_owned(),
        user: Some(person.id),
        ..TokenRequest::default()
    };
    let (_, text) = app.platform.create_token(&request).await.expect("a token");
    text.expose().to_owned()
}

#[tokio::test]
async fn roles_are_given_changed_and_taken_and_all_of_it_is_written_down() {
    let app = TestPlatform::start().await;
    let owner = owner(&app).await;
    let person = app.person("o'brien+\"x\"@example.com").await;

    let body = json!({ "email": "O'Brien+\"X\"@example.com", "role": "developer" });
    app.call(&owner.token, "POST", INSTANCE, body)
        .await
        .expect(201);
    app.call(&person.token, "GET", "/v1/projects", Value::Null)
        .await
        .expect(200);
    set_role(&app, &owner.token, INSTANCE, person.id, "reader")
        .await
        .expect(200);
    let listed = app
        .call(&owner.token, "GET", INSTANCE, Value::Null)
        .await
        .expect(200);
    let found = listed.as_array().expect("a list");
    let found = found
        .iter()
        .find(|member| member["user_id"] == json!(person.id));
    let found = found.expect("listed");
    assert_eq!(found["role"], "reader");
    assert_eq!(found["source"], "instance");
    assert_eq!(found["mfa_enabled"], true);
    let as_reader = app
        .call(&person.token, "GET", INSTANCE, Value::Null)
        .await
        .expect(200);
    assert_eq!(as_reader[0]["mfa_enabled"], Value::Null, "{as_reader}");
    remove(&app, &owner.token, INSTANCE, person.id)
        .await
        .expect(200);

    let audit = app
        .call(
            &owner.token,
            "GET",
            "/platform/audit?action=member.",
            Value::Null,
        )
        .await
        .expect(200);
    let entries = audit["entries"].as_array().expect("entries");
    let seen: Vec<_> = entries
        .iter()
        .rev()
        .map(|entry| {
            (
                entry["action"].as_str().expect("an action"),
                entry["before"]["role"].as_str(),
                entry["after"]["role"].as_str(),
            )
        })
        .collect();
    assert_eq!(
        seen,
        [
            ("member.add", None, Some("developer")),
            ("member.update", Some("developer"), Some("reader")),
            ("member.remove", Some("reader"), None),
        ]
    );
    for entry in entries {
        assert_eq!(entry["target"], json!(person.id));
        assert_eq!(entry["actor"], "owner@example.com");
        assert_eq!(entry["user_id"], json!(owner.id));
        assert_eq!(entry["ip"], "192.0.2.7");
        assert_eq!(entry["request_id"], "request-1");
        assert_eq!(entry["denied"], false);
    }
}

#[tokio::test]
async fn nobody_gives_or_takes_more_than_his_own_role() {
    let app = TestPlatform::start().await;
    let owner = owner(&app).await;
    let admin = app
        .member("admin@example.com", &MemberScope::Instance, Role::Admin)
        .await;
    let person = app
        .member("reader@example.com", &MemberScope::Instance, Role::Reader)
        .await;

    set_role(&app, &admin.token, INSTANCE, person.id, "admin")
        .await
        .expect(200);
    for (user, role) in [
        (person.id, "owner"),
        (admin.id, "owner"),
        (owner.id, "reader"),
    ] {
        set_role(&app, &admin.token, INSTANCE, user, role)
            .await
            .expect(403);
    }
    remove(&app, &admin.token, INSTANCE, owner.id)
        .await
        .expect(403);
    let invite = json!({ "email": "new@example.com", "role": "owner" });
    app.call(&admin.token, "POST", "/platform/invitations", invite)
        .await
        .expect(403);

    // With an access token not even the owner does.
    let token = token_of(&app, &owner).await;
    set_role(&app, &token, INSTANCE, person.id, "owner")
        .await
        .expect(403);
    set_role(&app, &token, INSTANCE, admin.id, "reader")
        .await
        .expect(403);
    remove(&app, &token, INSTANCE, admin.id).await.expect(403);
    set_role(&app, &owner.token, INSTANCE, person.id, "reader")
        .await
        .expect(200);
    set_role(&app, &token, INSTANCE, person.id, "editor")
        .await
        .expect(200);
    let (_, by_socket) = app.token("made on the machine").await;
    set_role(&app, by_socket.expose(), INSTANCE, person.id, "admin")
        .await
        .expect(403);

    let denied = app
        .call(
            &owner.token,
            "GET",
            "/platform/audit?denied=true&limit=200",
            Value::Null,
        )
        .await
        .expect(200);
    let entries = denied["entries"].as_array().expect("entries");
    assert!(entries.len() >= 9, "{denied}");
    assert!(entries.iter().any(|entry| entry["token"] == "ci"));
}

#[tokio::test]
async fn an_admin_of_a_project_reaches_no_further() {
    let app = TestPlatform::start().await;
    owner(&app).await;
    let project = app.project("Shop").await;
    let reference: ProjectRef = project.to_string().parse().expect("a ref");
    let scope = MemberScope::Project(reference.clone());
    let admin = app.member("admin@example.com", &scope, Role::Admin).await;
    let person = app.person("somebody@example.com").await;
    let invite = json!({ "email": "new@example.com", "role": "reader" });
    let add = json!({ "user_id": person.id, "role": "reader" });

    for base in ["/platform", "/platform/organizations/default"] {
        for (path, body) in [("invitations", &invite), ("members", &add)] {
            let uri = format!("{base}/{path}");
            app.call(&admin.token, "POST", &uri, body.clone())
                .await
                .expect(403);
        }
    }
    let base = format!("/platform/projects/{reference}");
    app.call(&admin.token, "POST", &format!("{base}/members"), add)
        .await
        .expect(201);
    app.call(&admin.token, "POST", &format!("{base}/invitations"), invite)
        .await
        .expect(201);
    let listed = app
        .call(&admin.token, "GET", &format!("{base}/members"), Value::Null)
        .await
        .expect(200);
    let sources: Vec<_> = listed
        .as_array()
        .expect("a list")
        .iter()
        .map(|member| (member["email"].as_str(), member["source"].as_str()))
        .collect();
    assert!(sources.contains(&(Some("owner@example.com"), Some("instance"))));
    assert!(sources.contains(&(Some("somebody@example.com"), Some("project"))));

    // The audit log shows what concerns the project, and the own actions.
    let tables = app.tables().await;
    tables
        .batch_execute("insert into platform.audit (actor, action) values ('x', 'secret.thing')")
        .await
        .expect("an entry");
    let audit = app
        .call(
            &admin.token,
            "GET",
            "/platform/audit?limit=200",
            Value::Null,
        )
        .await
        .expect(200);
    assert!(!audit.to_string().contains("secret.thing"));
    assert!(audit.to_string().contains("invitation.create"));
    let none = app
        .call(&person.token, "GET", "/platform/audit", Value::Null)
        .await
        .expect(200);
    assert_eq!(none["entries"], json!([]));

    // A role on a project is one on its branches.
    let branch = plinth_platform::BranchRequest {
        name: "preview".to_owned(),
        ..Default::default()
    };
    let branch = app
        .platform
        .create_branch(&project, &branch)
        .await
        .expect("a branch");
    let uri = format!("/v1/projects/{}", branch.reference);
    app.call(&admin.token, "GET", &uri, Value::Null)
        .await
        .expect(200);
    app.call(&person.token, "GET", &uri, Value::Null)
        .await
        .expect(200);
}

#[tokio::test]
async fn the_last_owner_stays_whoever_tries_and_how_many_at_once() {
    let app = TestPlatform::start().await;
    let owner = owner(&app).await;
    for role in ["admin", "reader"] {
        let answer = set_role(&app, &owner.token, INSTANCE, owner.id, role).await;
        assert_eq!((answer.status, answer.code()), (409, "last_owner"));
    }
    let answer = remove(&app, &owner.token, INSTANCE, owner.id).await;
    assert_eq!(answer.code(), "last_owner");

    let mut owners = vec![owner];
    for n in 0..4 {
        let email = format!("owner{n}@example.com");
        owners.push(
            app.member(&email, &MemberScope::Instance, Role::Owner)
                .await,
        );
    }
    // Each removes the next one, all at once; and all leave.
    let removals = (0..owners.len()).map(|n| {
        let (by, next) = (&owners[n], &owners[(n + 1) % owners.len()]);
        remove(&app, &by.token, INSTANCE, next.id)
    });
    let leaving = owners
        .iter()
        .map(|own| remove(&app, &own.token, INSTANCE, own.id));
    let answers = futures_util::future::join_all(removals.chain(leaving)).await;

    for answer in &answers {
        assert!(matches!(answer.status, 200 | 403 | 404 | 409), "{answer:?}");
    }
    let sql = "select count(*) from platform.members where role = 'owner'";
    let left: i64 = app
        .tables()
        .await
        .query_one(sql, &[])
        .await
        .expect("a row")
        .get(0);
    assert_eq!(left, 1, "{answers:?}");

    // An owner who is blocked does not count.
    let last: Uuid = {
        let sql = "select user_id from platform.members where role = 'owner'";
        app.tables()
            .await
            .query_one(sql, &[])
            .await
            .expect("a row")
            .get(0)
    };
    let last = owners.iter().find(|owner| owner.id == last).expect("one");
    let blocked = app
        .member("blocked@example.com", &MemberScope::Instance, Role::Owner)
        .await;
    let ban = "update auth.users set banned_until = now() + interval '1 day' where id = $1";
    app.tables()
        .await
        .execute(ban, &[&blocked.id])
        .await
        .expect("banned");
    let answer = remove(&app, &last.token, INSTANCE, last.id).await;
    assert_eq!(answer.code(), "last_owner");
}

#[tokio::test]
async fn the_only_owner_of_an_organization_cannot_step_down() {
    let app = TestPlatform::start().await;
    let instance = owner(&app).await;
    let scope = MemberScope::Organization("default".to_owned());
    let own = app.member("own@example.com", &scope, Role::Owner).await;
    let path = "/platform/organizations/default/members";

    let answer = set_role(&app, &own.token, path, own.id, "reader").await;
    assert_eq!((answer.status, answer.code()), (409, "last_owner"));
    let answer = remove(&app, &own.token, path, own.id).await;
    assert_eq!(answer.code(), "last_owner");

    // An owner of the instance stands above it.
    remove(&app, &instance.token, path, own.id)
        .await
        .expect(200);
}

#[tokio::test]
async fn everybody_may_leave_and_what_ended_is_closed_at_once() {
    let app = TestPlatform::start().await;
    owner(&app).await;
    let person = app
        .member("dev@example.com", &MemberScope::Instance, Role::Developer)
        .await;
    let token = token_of(&app, &person).await;
    let logs = "/platform/projects/default/logs";
    app.call(&token, "GET", logs, Value::Null).await.expect(200);

    // Not with a token, and nobody else.
    remove(&app, &token, INSTANCE, person.id).await.expect(403);
    remove(&app, &person.token, INSTANCE, person.id)
        .await
        .expect(200);

    for bearer in [&token, &person.token] {
        app.call(bearer, "GET", logs, Value::Null).await.expect(403);
    }
    remove(&app, &person.token, INSTANCE, person.id)
        .await
        .expect(403);
}

#[tokio::test]
async fn a_running_stream_ends_with_the_role() {
    let app = TestPlatform::start().await;
    owner(&app).await;
    let person = app
        .member("dev@example.com", &MemberScope::Instance, Role::Developer)
        .await;
    let router = plinth_platform::api::routes(app.platform.clone());
    let request = http::Request::builder()
        .uri("/platform/projects/default/logs/tail")
        .header("authorization", format!("Bearer {}", person.token))
        .body(axum::body::Body::empty())
        .expect("a request");
    let response = tower::ServiceExt::oneshot(router, request)
        .await
        .expect("infallible");
    assert_eq!(response.status(), 200);
    let reading = tokio::spawn(http_body_util::BodyExt::collect(response.into_body()));
    assert!(!reading.is_finished());

    let sql = "update platform.members set role = 'editor' where user_id = $1";
    app.tables()
        .await
        .execute(sql, &[&person.id])
        .await
        .expect("demoted");

    let demoted = std::time::Instant::now();
    until(async || reading.is_finished()).await;
    assert!(demoted.elapsed() <= std::time::Duration::from_secs(15));
}

async fn invite(app: &TestPlatform, by: &Person, email: &str, role: &str) -> String {
    let body = json!({ "email": email, "role": role });
    let invited = app
        .call(&by.token, "POST", "/platform/invitations", body)
        .await
        .expect(201);
    let link = invited["link"].as_str().expect("a link");
    link.split_once("#token=").expect("a token").1.to_owned()
}

async fn accept(app: &TestPlatform, bearer: &str, body: Value) -> Answer {
    app.call(bearer, "POST", "/platform/invitations/accept", body)
        .await
}

#[tokio::test]
async fn an_invitation_makes_an_account_that_can_sign_in() {
    let app = TestPlatform::start().await;
    let owner = owner(&app).await;
    let token = invite(&app, &owner, "New.Person@example.com", "developer").await;
    let shown = app
        .call(
            "",
            "POST",
            "/platform/invitations/show",
            json!({ "token": token }),
        )
        .await
        .expect(200);
    assert_eq!(shown["email"], "new.person@example.com");
    assert_eq!(shown["role"], "developer");
    assert_eq!(shown["has_account"], false);

    let mails = "select recipient, text from plinth.mailbox where template = 'invite'";
    let mail = app.tables().await.query_one(mails, &[]).await;
    let mail = mail.expect("a mail");
    assert_eq!(mail.get::<_, &str>(0), "new.person@example.com");
    let text: String = mail.get(1);
    assert!(text.contains("invitation%3Ftoken%3D"), "{text}");

    let weak = accept(&app, "", json!({ "token": token, "password": "x" })).await;
    assert_eq!(weak.status, 400, "{weak:?}");
    let body = json!({ "token": token, "password": "correct horse battery" });
    let accepted = accept(&app, "", body.clone()).await.expect(200);
    assert_eq!(accept(&app, "", body).await.status, 404, "used");

    let bearer = app
        .password_sign_in("new.person@example.com", "correct horse battery")
        .await;
    app.call(&bearer, "GET", "/platform/me", Value::Null)
        .await
        .expect(200);
    let id: Uuid = accepted["user_id"]
        .as_str()
        .expect("an id")
        .parse()
        .expect("an id");
    let sql = "select email_confirmed_at is not null, raw_app_meta_data ->> 'role',
                      length(encrypted_password) > 20
               from auth.users where id = $1 and email = 'new.person@example.com'";
    let row = app
        .tables()
        .await
        .query_one(sql, &[&id])
        .await
        .expect("an account");
    assert!(row.get::<_, bool>(0) && row.get::<_, bool>(2));
    assert_eq!(row.get::<_, &str>(1), "operator");
    let pending = app
        .call(&owner.token, "GET", "/platform/invitations", Value::Null)
        .await
        .expect(200);
    assert_eq!(pending, json!([]));
}

#[tokio::test]
async fn an_invitation_is_for_one_address_and_one_use() {
    let app = TestPlatform::start().await;
    let owner = owner(&app).await;
    let invited = app
        .person_with("invited@example.com", None, Proven::PasswordOnly)
        .await;
    let other = app.person("other@example.com").await;
    let token = invite(&app, &owner, &invited.email, "editor").await;

    // The account is somebody's: a password does not take it over.
    let answer = accept(
        &app,
        "",
        json!({ "token": token, "password": "correct horse battery" }),
    )
    .await;
    assert_eq!(answer.status, 409, "{answer:?}");
    accept(&app, &other.token, json!({ "token": token }))
        .await
        .expect(403);
    accept(&app, "", json!({ "token": token }))
        .await
        .expect(400);
    accept(&app, "x.y.z", json!({ "token": token }))
        .await
        .expect(401);
    let both = futures_util::future::join_all(
        (0..4).map(|_| accept(&app, &invited.token, json!({ "token": token }))),
    )
    .await;
    let accepted = both.iter().filter(|answer| answer.status == 200).count();
    assert_eq!(accepted, 1, "{both:?}");

    // Another one for the same address replaces the first; a revoked one is not valid.
    let first = invite(&app, &owner, "new@example.com", "reader").await;
    let second = invite(&app, &owner, "new@example.com", "reader").await;
    let body = |token: &str| json!({ "token": token, "password": "correct horse battery" });
    accept(&app, "", body(&first)).await.expect(404);
    let pending = app
        .call(&owner.token, "GET", "/platform/invitations", Value::Null)
        .await
        .expect(200);
    assert_eq!(pending.as_array().map(Vec::len), Some(1));
    let uri = format!(
        "/platform/invitations/{}",
        pending[0]["id"].as_str().expect("an id")
    );
    app.call(&owner.token, "DELETE", &uri, Value::Null)
        .await
        .expect(200);
    app.call(&owner.token, "DELETE", &uri, Value::Null)
        .await
        .expect(404);
    accept(&app, "", body(&second)).await.expect(404);

    // One that is older than a week, and one of somebody who may not invite any more.
    let old = invite(&app, &owner, "old@example.com", "reader").await;
    let expire =
        "update platform.invitations set expires_at = now() where email = 'old@example.com'";
    app.tables()
        .await
        .batch_execute(expire)
        .await
        .expect("expired");
    accept(&app, "", body(&old)).await.expect(404);
    let admin = app
        .member("admin@example.com", &MemberScope::Instance, Role::Admin)
        .await;
    let of_admin = invite(&app, &admin, "late@example.com", "reader").await;
    set_role(&app, &owner.token, INSTANCE, admin.id, "reader")
        .await
        .expect(200);
    accept(&app, "", body(&of_admin)).await.expect(404);
    let audit = app
        .call(
            &owner.token,
            "GET",
            "/platform/audit?limit=200",
            Value::Null,
        )
        .await
        .expect(200);
    for secret in [&token, &first, &second, "correct horse battery"] {
        assert!(!audit.to_string().contains(secret));
    }
}

#[tokio::test]
async fn an_invitation_ends_with_the_rights_of_its_author() {
    let app = TestPlatform::start().await;
    let owner = owner(&app).await;
    let admin = app
        .member("admin@example.com", &MemberScope::Instance, Role::Admin)
        .await;
    let body = |token: &str| json!({ "token": token, "password": "correct horse battery" });

    let prepared = invite(&app, &admin, "me2@example.com", "admin").await;
    let ban = "update auth.users set banned_until = now() + interval '1 day' where id = $1";
    app.tables()
        .await
        .execute(ban, &[&admin.id])
        .await
        .expect("banned");
    accept(&app, "", body(&prepared)).await.expect(404);

    let (token, text) = app.token("leaked").await;
    let request = json!({ "email": "me3@example.com", "role": "developer" });
    let invited = app
        .call(text.expose(), "POST", "/platform/invitations", request)
        .await
        .expect(201);
    let link = invited["link"].as_str().expect("a link");
    let by_token = link.split_once("#token=").expect("a token").1;
    app.platform.revoke_token(&token).await.expect("revoked");
    accept(&app, "", body(by_token)).await.expect(404);

    let good = invite(&app, &owner, "good@example.com", "reader").await;
    accept(&app, "", body(&good)).await.expect(200);
}

/// Whoever has the link chose the password; whether mail arrives there nobody knows.
#[tokio::test]
async fn an_address_that_nobody_proved_gets_no_role_by_its_name() {
    let app = TestPlatform::start().await;
    let owner = owner(&app).await;
    let scope = MemberScope::Organization("default".to_owned());
    let admin = app.member("admin@example.com", &scope, Role::Admin).await;
    let request = json!({ "email": "ceo@example.com", "role": "reader" });
    let uri = "/platform/organizations/default/invitations";
    let invited = app
        .call(&admin.token, "POST", uri, request)
        .await
        .expect(201);
    let link = invited["link"].as_str().expect("a link");
    let token = link.split_once("#token=").expect("a token").1;
    let body = json!({ "token": token, "password": "correct horse battery" });
    let accepted = accept(&app, "", body).await.expect(200);

    let by_address = json!({ "email": "ceo@example.com", "role": "admin" });
    app.call(&owner.token, "POST", INSTANCE, by_address)
        .await
        .expect(409);

    let by_id = json!({ "user_id": accepted["user_id"], "role": "reader" });
    app.call(&owner.token, "POST", INSTANCE, by_id)
        .await
        .expect(201);
}

#[tokio::test]
async fn wrong_bodies_and_odd_names_get_clear_answers() {
    let app = TestPlatform::start().await;
    let owner = owner(&app).await;
    let bodies = [
        json!(null),
        json!([]),
        json!({}),
        json!({ "role": "root", "email": "a@b.c" }),
        json!({ "role": "reader" }),
        json!({ "role": "reader", "email": "no address" }),
        json!({ "role": "reader", "email": "a\u{0}@b.c" }),
        json!({ "role": "reader", "email": "a@b.c", "user_id": Uuid::nil() }),
        json!({ "role": ["reader"], "email": {} }),
        json!({ "role": "reader", "email": "a".repeat(100_000) }),
    ];
    for body in bodies {
        for path in [INSTANCE, "/platform/invitations"] {
            // Unknown members are ignored.
            if path == "/platform/invitations" && body.get("user_id").is_some() {
                continue;
            }
            let answer = app.call(&owner.token, "POST", path, body.clone()).await;
            assert!(
                matches!(answer.status, 400 | 404),
                "{path} {body}: {answer:?}"
            );
            assert!(answer.body["message"].is_string());
        }
    }
    for path in ["not-a-uuid", "%00", "%F0%9F%98%80", "'", "..%2f"] {
        let uri = format!("{INSTANCE}/{path}");
        let answer = app
            .call(&owner.token, "PATCH", &uri, json!({ "role": "reader" }))
            .await;
        assert!(matches!(answer.status, 400 | 404), "{path}: {answer:?}");
    }
    for slug in ["%00", "%F0%9F%98%80", "'; drop table x", "no-such"] {
        let uri = format!("/platform/organizations/{slug}/members").replace(' ', "%20");
        let answer = app.call(&owner.token, "GET", &uri, Value::Null).await;
        assert!(matches!(answer.status, 400 | 404), "{slug}: {answer:?}");
    }
    for query in [
        "since=yesterday",
        "cursor=x",
        "user=1",
        "limit=-5",
        "project=%00",
        "denied=7",
    ] {
        let uri = format!("/platform/audit?{query}");
        let answer = app.call(&owner.token, "GET", &uri, Value::Null).await;
        assert!(answer.status < 500, "{query}: {answer:?}");
    }
    // Control characters in names of people are no reason to fail.
    let odd = app.person("odd@example.com").await;
    let rename = r#"update auth.users set raw_user_meta_data = '{"name": "a\u0007\u202e😀\"'';--"}' where id = $1"#;
    app.tables()
        .await
        .execute(rename, &[&odd.id])
        .await
        .expect("renamed");
    app.give(&odd, &MemberScope::Instance, Role::Reader).await;
    let listed = app
        .call(&owner.token, "GET", INSTANCE, Value::Null)
        .await
        .expect(200);
    assert!(listed.to_string().contains("😀"));
    app.call(&odd.token, "GET", "/v1/profile", Value::Null)
        .await
        .expect(200);
}

#[tokio::test]
async fn the_audit_log_is_read_by_pages_and_exported() {
    let app = TestPlatform::start().await;
    let owner = owner(&app).await;
    let tables = app.tables().await;
    tables
        .batch_execute(
            "insert into platform.audit (actor, action, target, before, after)
             select 'x', 'test.' || n, n::text, '{\"a\": 1}', '{\"a\": 2}' from generate_series(1, 2500) n",
        )
        .await
        .expect("entries");

    let mut seen = Vec::new();
    let mut cursor = String::new();
    loop {
        let uri = format!("/platform/audit?action=test.&limit=200{cursor}");
        let page = app
            .call(&owner.token, "GET", &uri, Value::Null)
            .await
            .expect(200);
        let entries = page["entries"].as_array().expect("entries");
        seen.extend(
            entries
                .iter()
                .map(|entry| entry["id"].as_i64().expect("an id")),
        );
        match page["next"].as_i64() {
            Some(next) => cursor = format!("&cursor={next}"),
            None => break,
        }
    }
    assert_eq!(seen.len(), 2500);
    assert!(seen.is_sorted_by(|a, b| a > b), "newest first, none twice");

    let export = app
        .call(
            &owner.token,
            "GET",
            "/platform/audit/export?action=test.",
            Value::Null,
        )
        .await
        .expect(200);
    let lines: Vec<Value> = export
        .as_str()
        .expect("text")
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect();
    assert_eq!(lines.len(), 2500);
    assert_eq!(lines[0]["after"], json!({ "a": 2 }));
}

#[tokio::test]
async fn a_hundred_operators_work_at_once() {
    let app = TestPlatform::start().await;
    owner(&app).await;
    let mut people = Vec::new();
    for n in 0..100 {
        let role = Role::ALL[n % 4];
        let email = format!("person{n}@example.com");
        people.push((app.member(&email, &MemberScope::Instance, role).await, role));
    }
    let router = plinth_platform::api::routes(app.platform.clone());
    let calls = people.iter().flat_map(|(person, role)| {
        let router = router.clone();
        let uris = [
            "/platform/me",
            "/v1/projects",
            "/platform/projects/default/logs",
        ];
        uris.map(move |uri| {
            let request = http::Request::builder()
                .uri(uri)
                .header("authorization", format!("Bearer {}", person.token))
                .body(axum::body::Body::empty())
                .expect("a request");
            let expected = match (uri, role) {
                ("/platform/projects/default/logs", Role::Editor) => 403,
                _ => 200,
            };
            let calling = tower::ServiceExt::oneshot(router.clone(), request);
            async move {
                (
                    calling.await.expect("infallible").status().as_u16(),
                    expected,
                    uri,
                )
            }
        })
    });

    let answers = futures_util::future::join_all(calls).await;

    assert_eq!(answers.len(), 300);
    for (status, expected, uri) in answers {
        assert_eq!(status, expected, "{uri}");
    }
}

#[tokio::test]
async fn an_operator_makes_tokens_for_himself_alone() {
    let app = TestPlatform::start().await;
    let owner = owner(&app).await;
    let reader = app
        .member("reader@example.com", &MemberScope::Instance, Role::Reader)
        .await;
    let made = app
        .call(
            &reader.token,
            "POST",
            "/platform/tokens",
            json!({ "name": "mine 😀 '\"" }),
        )
        .await
        .expect(201);
    let text = made["token"].as_str().expect("a token");

    let me = app
        .call(text, "GET", "/platform/me", Value::Null)
        .await
        .expect(200);
    assert_eq!(me["credential"], "token");
    assert_eq!(me["role"], "reader");
    assert_eq!(me["user"]["email"], "reader@example.com");
    // Without the scope for it, a token makes no token.
    app.call(text, "POST", "/platform/tokens", json!({ "name": "more" }))
        .await
        .expect(403);
    let id = made["id"].as_str().expect("an id");
    let others = app
        .member("other@example.com", &MemberScope::Instance, Role::Admin)
        .await;
    let uri = format!("/platform/tokens/{id}");
    app.call(&others.token, "DELETE", &uri, Value::Null)
        .await
        .expect(404);
    let seen = app
        .call(&owner.token, "GET", "/platform/tokens", Value::Null)
        .await
        .expect(200);
    assert!(seen.to_string().contains(id));
    app.call(&reader.token, "DELETE", &uri, Value::Null)
        .await
        .expect(200);
    app.call(text, "GET", "/platform/me", Value::Null)
        .await
        .expect(401);
    let zero = format!(
        "/platform/projects/{}",
        app.reference(&ProjectName::Platform).await
    );
    let (_, machine) = app.token("made on the machine").await;
    app.call(machine.expose(), "GET", &zero, Value::Null)
        .await
        .expect(403);
    app.call(&others.token, "GET", &zero, Value::Null)
        .await
        .expect(403);
    app.call(&owner.token, "GET", &zero, Value::Null)
        .await
        .expect(200);
}
