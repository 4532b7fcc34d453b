use serde_json::{Value, json};

use super::{A, CALLERS, api, ids, is_of, sent_by};
use crate::support::{Database, Requests, RestCall, Sql};

#[tokio::test]
async fn every_way_of_reading_shows_what_the_policies_allow() {
    let api = api(Database::shared().await).await;
    let paths = [
        "/notes?select=id&order=id",
        "/notes_view?select=id&order=id",
        "/rpc/search_notes?term=&select=id&order=id",
        "/notes?select=id&order=id&or=(id.gt.0,is_public.is.false)",
        "/notes?select=id,folders(name)&order=id&folders=is.null&or=(id.gt.0)",
    ];

    for (caller, visible) in CALLERS {
        for path in &paths[..4] {
            let reply = sent_by(api.get(path), caller).await;
            assert_eq!(ids(&reply), visible, "{path}");
        }
        let posted = api.post(
            "/rpc/search_notes?select=id&order=id",
            json!({ "term": "" }),
        );
        assert_eq!(ids(&sent_by(posted, caller).await), visible);
        let foreign = sent_by(api.get(paths[4]), caller).await;
        let without_folder = visible.iter().filter(|id| !is_of(**id, caller));
        assert_eq!(ids(&foreign), without_folder.copied().collect::<Vec<_>>());
        let csv = sent_by(
            api.get("/notes?select=id&order=id").accept("text/csv"),
            caller,
        )
        .await;
        let lines: Vec<String> = visible.iter().map(i64::to_string).collect();
        assert_eq!(csv.text(), format!("id\n{}", lines.join("\n")));
    }
}

#[tokio::test]
async fn counts_and_sums_are_of_visible_rows() {
    let api = api(Database::shared().await).await;

    for (caller, visible) in CALLERS {
        let exact = api.get("/notes?select=id&limit=1").prefer("count=exact");
        let estimated = api.get("/notes?select=id").prefer("count=estimated");
        let head = api.head("/notes").prefer("count=exact");
        let total = format!("/{}", visible.len());
        for call in [exact, head] {
            let reply = sent_by(call, caller).await;
            let range = reply.header("content-range").expect("a range");
            assert!(range.ends_with(&total), "{range}");
        }
        for prefer in ["count=planned", "count=estimated"] {
            let reply = sent_by(api.get("/notes?select=id&order=id").prefer(prefer), caller).await;
            assert_eq!(ids(&reply), visible, "{prefer}");
        }
        assert!(sent_by(estimated, caller).await.status.is_success());
        let number = sent_by(api.get("/rpc/note_count"), caller).await;
        number.expect_json(200, json!(visible.len()));
        let summed = sent_by(api.get("/notes?select=id.sum(),count()"), caller).await;
        let sum: i64 = visible.iter().sum();
        summed.expect_json(200, json!([{ "sum": sum, "count": visible.len() }]));
    }
}

#[tokio::test]
async fn embeds_on_both_sides_apply_the_policies_of_their_table() {
    let api = api(Database::shared().await).await;

    for (caller, visible) in CALLERS {
        let up = sent_by(api.get("/notes?select=id,folders(name)&order=id"), caller).await;
        let rows: Vec<Value> = visible
            .iter()
            .map(|id| {
                let folder = is_of(*id, caller).then(|| match caller {
                    Some(A) => json!({ "name": "of a" }),
                    _ => json!({ "name": "of b" }),
                });
                json!({ "id": id, "folders": folder })
            })
            .collect();
        up.expect_json(200, json!(rows));
        let down = sent_by(
            api.get("/folders?select=name,notes(id)&notes.order=id"),
            caller,
        )
        .await;
        let folders = match caller {
            None => json!([]),
            Some(A) => json!([{ "name": "of a", "notes": [{ "id": 1 }, { "id": 2 }] }]),
            Some(_) => json!([{ "name": "of b", "notes": [{ "id": 3 }, { "id": 4 }] }]),
        };
        down.expect_json(200, folders);
        let inner = sent_by(api.get("/notes?select=id,folders!inner()&order=id"), caller).await;
        let own = visible.iter().filter(|id| is_of(**id, caller));
        assert_eq!(ids(&inner), own.copied().collect::<Vec<_>>());
    }
}

#[tokio::test]
async fn plans_are_made_with_the_callers_policies() {
    let api = api(Database::shared().await).await;
    let accept = "application/vnd.pgrst.plan+text; options=analyze|verbose";

    for (caller, visible) in CALLERS {
        let reply = sent_by(api.get("/notes?select=id").accept(accept), caller).await;

        assert_eq!(reply.status, 200, "{reply:#?}");
        let text = reply.text();
        assert!(
            text.contains("is_public"),
            "the policy is part of it: {text}"
        );
        let removed = format!("Rows Removed by Filter: {}", 4 - visible.len());
        assert!(text.contains(&removed), "{text}");
    }
}

#[tokio::test]
async fn the_service_role_is_above_policies_by_its_own_attribute_only() {
    let db = Database::fresh().await;
    let sql = "grant usage on schema library to service_role; \
               grant select on library.notes to service_role";
    db.execute(sql).await;
    let api = api(db).await;

    let reply = api
        .get("/notes?select=id&order=id")
        .role("service_role")
        .await;

    assert_eq!(ids(&reply), [1, 2, 3, 4]);
}
