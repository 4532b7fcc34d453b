//! `GET /admin/audit` (auth contract §2.13, §11).

use serde_json::{Value, json};

use crate::support::{Api, AuthCall, AuthReply, Reply, Requests};

async fn read(api: &Api, query: &str) -> Reply {
    api.get(&format!("/admin/audit{query}"))
        .service_role()
        .await
}

fn actions(reply: &Reply) -> Vec<String> {
    let body = reply.ok();
    let entries = body.as_array().expect("a list");
    let action = |entry: &Value| entry["payload"]["action"].as_str().expect("one").to_owned();
    entries.iter().map(action).collect()
}

#[tokio::test]
async fn entries_say_who_did_what_newest_first() {
    let api = Api::start(&[]).await;
    let body = json!({ "email": "ann@mail.dev", "user_metadata": { "full_name": "Ann Lea" } });
    let call = api.post("/admin/users", body).service_role();
    let user = call.client_ip("192.0.2.7").await.ok();
    api.advance(std::time::Duration::from_secs(1));
    let body = json!({ "type": "recovery", "email": "ann@mail.dev" });
    let reply = api.post("/admin/generate_link", body).service_role().await;
    reply.ok();

    let reply = read(&api, "").await;

    assert_eq!(
        actions(&reply),
        ["user_recovery_requested", "user_signedup"]
    );
    assert_eq!(reply.header("x-total-count"), Some("2"));
    let newest = &reply.ok()[0];
    assert_eq!(
        newest["payload"],
        json!({
            "actor_id": user["id"], "actor_via_sso": false, "actor_username": "ann@mail.dev",
            "actor_name": "Ann Lea", "action": "user_recovery_requested", "log_type": "user",
        })
    );
    assert!(newest["id"].is_string() && newest["created_at"].is_string());
    let oldest = &reply.ok()[1];
    assert_eq!(oldest["ip_address"], "192.0.2.7");
    assert_eq!(
        oldest["payload"],
        json!({
            "actor_id": "00000000-0000-0000-0000-000000000000", "actor_via_sso": false,
            "actor_username": "service_role", "action": "user_signedup", "log_type": "team",
            "traits": {
                "user_id": user["id"], "user_email": "ann@mail.dev", "user_phone": "",
                "provider": "email",
            },
        })
    );
}

#[tokio::test]
async fn entries_are_searched_and_come_in_pages() {
    let api = Api::start(&[]).await;
    api.sign_up("ann@mail.dev", "correct horse").await;
    api.sign_up("bob@mail.dev", "correct horse").await;

    let count = async |query: &str| actions(&read(&api, query).await).len();
    assert_eq!(count("?query=author:ANN").await, 2);
    assert_eq!(count("?query=action:login").await, 2);
    assert_eq!(count("?query=action:%25").await, 0);
    assert_eq!(count("?query=type:team").await, 2);
    assert_eq!(count("?query=type:").await, 4);
    for query in ["?query=ann", "?query=email:x", "?page=x", "?per_page=-1"] {
        read(&api, query)
            .await
            .expect_error(400, "validation_failed");
    }
    let page = read(&api, "?page=2&per_page=3&query=author:mail").await;
    assert_eq!(actions(&page).len(), 1);
    assert_eq!(page.header("x-total-count"), Some("4"));
    let link = "</admin/audit?page=2&per_page=3&query=author%3Amail>; rel=\"last\"";
    assert_eq!(page.header("link"), Some(link));
}

#[tokio::test]
async fn a_project_can_do_without() {
    let api = Api::start(&[("plinth.auth.audit_log", "false")]).await;
    api.sign_up("ann@mail.dev", "correct horse").await;

    assert_eq!(read(&api, "").await.ok(), json!([]));
}
