//! Searches in the audit log.

use plinth_project::{AuditPage, AuditSearch};
use serde_json::json;

use super::{PASSWORD, expect_invalid};
use crate::support::{Api, Requests, Sql};

async fn page(api: &Api, search: AuditSearch) -> AuditPage {
    let (users, call) = api.administration();
    users.audit_log(&call, &search).await.expect("a page")
}

fn actions(page: &AuditPage) -> Vec<&str> {
    let entries = page.entries.iter();
    entries
        .map(|entry| entry.payload["action"].as_str().expect("an action"))
        .collect()
}

fn some(text: &str) -> Option<String> {
    Some(text.to_owned())
}

#[tokio::test]
async fn entries_are_by_or_about_a_user() {
    let api = Api::start(&[]).await;
    let ann = api.sign_up("ann@mail.dev", PASSWORD).await;
    api.sign_up("eve@mail.dev", PASSWORD).await;
    let id = ann["user"]["id"].as_str().expect("an id");
    let path = format!("/admin/users/{id}");
    let change = json!({ "user_metadata": { "a": 1 } });
    api.put(&path, change).service_role().await.ok();

    let search = AuditSearch {
        user: some(id),
        ..AuditSearch::default()
    };
    let found = page(&api, search).await;

    assert!(actions(&found).contains(&"user_modified"), "{found:?}");
    assert!(actions(&found).contains(&"user_signedup"), "{found:?}");
    assert!(!json!(found).to_string().contains("eve@mail.dev"));
    assert_eq!(found.next, None);
}

#[tokio::test]
async fn entries_are_filtered_and_paged() {
    let api = Api::start(&[]).await;
    api.execute(
        "insert into auth.audit_log_entries (id, payload, created_at, ip_address)
         select gen_random_uuid(), json_build_object('action', case n % 2 when 0 then 'login' else
             'logout' end, 'actor_username', 'user' || n || '@mail.dev', 'n', n),
           '2026-01-01'::timestamptz + (n / 2) * interval '1 h', '192.0.2.' || n
         from generate_series(1, 9) n",
    )
    .await;
    let search = AuditSearch::default;
    let count = async |search: AuditSearch| page(&api, search).await.entries.len();

    assert_eq!(count(search()).await, 9);
    assert_eq!(
        count(AuditSearch {
            action: some("login"),
            ..search()
        })
        .await,
        4
    );
    assert_eq!(
        count(AuditSearch {
            action: some("log"),
            ..search()
        })
        .await,
        0
    );
    assert_eq!(
        count(AuditSearch {
            actor: some("USER3@"),
            ..search()
        })
        .await,
        1
    );
    assert_eq!(
        count(AuditSearch {
            ip: some("192.0.2.4"),
            ..search()
        })
        .await,
        1
    );
    let range = AuditSearch {
        since: some("2026-01-01T01:00:00Z"),
        until: some("2026-01-01T02:00:00Z"),
        ..search()
    };
    assert_eq!(count(range).await, 2);

    let mut seen = Vec::new();
    let mut cursor = None;
    loop {
        let found = page(
            &api,
            AuditSearch {
                limit: Some(2),
                cursor,
                ..search()
            },
        )
        .await;
        seen.extend(found.entries.into_iter().map(|entry| entry.id));
        cursor = found.next;
        if cursor.is_none() {
            break;
        }
    }
    let all = page(&api, search()).await.entries;
    assert_eq!(
        seen,
        all.into_iter().map(|entry| entry.id).collect::<Vec<_>>()
    );

    let (users, call) = api.administration();
    for (search, part) in [
        (
            AuditSearch {
                user: some("x"),
                ..search()
            },
            "user:",
        ),
        (
            AuditSearch {
                since: some("x"),
                ..search()
            },
            "since:",
        ),
        (
            AuditSearch {
                cursor: some("x"),
                ..search()
            },
            "cursor:",
        ),
        (
            AuditSearch {
                limit: Some(0),
                ..search()
            },
            "limit:",
        ),
    ] {
        expect_invalid(users.audit_log(&call, &search).await, part);
    }
}
