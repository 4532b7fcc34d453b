//! Password rules, and hashes of other systems (auth contract §8.3).

use serde_json::{Value, json};

use crate::support::{Api, AuthReply, Remote, Reply, Requests, Sql, USUAL_HASHES};

const HIBP: (&str, &str) = ("plinth.auth.password.hibp.enabled", "true");

/// SHA-1 of `password` is `5BAA6` and this.
const REST: &str = "1E4C9B93F3F0682250B6CF8331B7EE68FD8";

async fn with_leaks(remote: &Remote, more: &[(&str, &str)]) -> Api {
    let url = ("plinth.auth.password.hibp.url", remote.url.as_str());
    let settings: Vec<_> = [HIBP, url].iter().chain(more).copied().collect();
    Api::start(&settings).await
}

async fn sign_up(api: &Api, password: &str) -> Reply {
    let body = json!({ "email": "ann@mail.dev", "password": password });
    api.post("/signup", body).await
}

#[tokio::test]
async fn a_leaked_password_is_rejected_without_revealing_it() {
    let remote = Remote::start(200, &format!("{REST}:3\r\nFFFF:1\r\n")).await;
    let api = with_leaks(&remote, &[]).await;

    let reply = sign_up(&api, "password").await;

    reply.expect_error(422, "weak_password");
    assert_eq!(reply.json()["weak_password"]["reasons"], json!(["pwned"]));
    let received = remote.received();
    assert_eq!(received.len(), 1);
    assert_eq!(received[0].path, "/range/5BAA6");
    assert_eq!(received[0].header("add-padding"), Some("true"));
    assert_eq!(received[0].header("user-agent"), Some("plinth"));
    sign_up(&api, "another password").await.ok();
}

#[tokio::test]
async fn padding_is_no_leak() {
    let remote = Remote::start(200, &format!("{REST}:0\r\n")).await;
    let api = with_leaks(&remote, &[]).await;
    sign_up(&api, "password").await.ok();
}

#[tokio::test]
async fn an_outage_counts_as_the_project_wants() {
    let remote = Remote::start(503, "").await;
    let open = with_leaks(&remote, &[]).await;
    sign_up(&open, "password").await.ok();

    let closed = ("plinth.auth.password.hibp.fail_closed", "true");
    let closed = with_leaks(&remote, &[closed]).await;
    sign_up(&closed, "password")
        .await
        .expect_error(500, "unexpected_failure");
    assert_eq!(closed.count("select count(*) from auth.users").await, 0);
}

#[tokio::test]
async fn all_reasons_are_named_at_once() {
    let remote = Remote::start(200, "").await;
    let rules = ("auth.password_requirements", "letters_digits");
    let length = ("auth.minimum_password_length", "8");
    let api = with_leaks(&remote, &[rules, length]).await;

    let reply = sign_up(&api, "abc").await;

    reply.expect_error(422, "weak_password");
    let body = reply.json();
    assert_eq!(
        body["weak_password"]["reasons"],
        json!(["length", "characters"])
    );
    let message = body["message"].as_str().expect("a text");
    assert!(
        message.starts_with(
            "Password should be at least 8 characters. Password should contain at least one \
             character of each: "
        ),
        "{message}"
    );
    sign_up(&api, &"a1".repeat(37))
        .await
        .expect_error(400, "validation_failed");
}

#[tokio::test]
async fn hashes_of_other_systems_sign_in_and_are_renewed() {
    let argon =
        "$argon2id$v=19$m=256,t=2,p=1$c29tZXNhbHQ$nf65EOgLrQMR/uIPnA4rEsF5h7TKyQwu9U1bMCHGi/4";
    let firebase = "$fbscrypt$v=1,n=14,r=8,p=1,ss=Bw==,\
        sk=jxspr8Ki0RYycVU8zykbdLGjFQ3McFUH0uiiTvC8pVMXAn210wjLNmdZJzxUECKbm0QsEmYUSDzZvpjeJ9WmXA==\
        $42xEC+ixf3L2lw==\
        $lSrfV15cpx95/sZS2W9c9Kp6i/LVgQNDNC/qzrCnh1SAyZvqmZqAjTdn3aoItz+VHjoZilo78198JAdRuid5lQ==";
    let api = Api::start(&[USUAL_HASHES]).await;
    for (email, hash, password) in [
        ("argon@mail.dev", argon, "password"),
        ("firebase@mail.dev", firebase, "user1password"),
    ] {
        let body = json!({ "email": email, "password_hash": hash, "email_confirm": true });
        api.post("/admin/users", body).service_role().await.ok();
        let grant = "/token?grant_type=password";
        let wrong = json!({ "email": email, "password": "wrong" });
        api.post(grant, wrong)
            .await
            .expect_error(400, "invalid_credentials");
        let right = json!({ "email": email, "password": password });
        api.post(grant, right.clone()).await.ok();

        let sql = "select to_jsonb(encrypted_password) from auth.users where email = $1";
        let stored: Value = api.value(sql, &[&email]).await;
        assert!(
            stored.as_str().expect("a hash").starts_with("$2a$10$"),
            "{stored}"
        );
        api.post(grant, right).await.ok();
    }
    let body = json!({ "email": "x@mail.dev", "password_hash": "$argon2d$v=19$m=8,t=1,p=1$a$b" });
    let reply = api.post("/admin/users", body).service_role().await;
    reply.expect_error(400, "validation_failed");
}
