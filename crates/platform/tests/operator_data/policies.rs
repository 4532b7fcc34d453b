//! Tests of policies.

use http::Method;
use serde_json::{Value, json};

use crate::{
    get, path, platform_with, post,
    support::{TestPlatform, functions::json_body},
    texts,
};

const DOCS: &str = "
    create table docs (id int primary key, owner text default 'nobody', secret boolean not null default false);
    alter table docs enable row level security;
    create policy own on docs for select to authenticated using (owner = (select auth.jwt() ->> 'sub'));
    create policy not_secret on docs as restrictive for all to authenticated using (not secret);
    create policy add on docs for insert to authenticated with check (owner = auth.jwt() ->> 'sub');
    create policy edit on docs for update to authenticated using (owner = auth.jwt() ->> 'sub') with check (true);
    create policy broken on docs for delete to authenticated using (1 / (id - 2) > 0);
    revoke all on docs from anon; grant select, insert, update, delete on docs to authenticated;
    insert into docs values (1, 'ada', false), (2, 'ada', true), (3, 'bob', false)";

async fn test(app: &TestPlatform, extra: Value) -> Value {
    let mut body = json!({
        "relation": { "name": "docs" },
        "subject": { "role": "authenticated", "claims": { "sub": "ada" }, "aal": "aal2" },
    });
    for (name, value) in extra.as_object().expect("members") {
        body[name] = value.clone();
    }
    post(app, "policies/test", body).await.ok()
}

/// The values of a policy by row.
fn values(report: &Value, policy: &str) -> Vec<(Value, Value)> {
    let policies = report["policies"].as_array().expect("a list");
    let found = policies
        .iter()
        .find(|found| found["name"] == policy)
        .expect("the policy");
    let evaluations = found["evaluations"].as_array().expect("a list");
    evaluations
        .iter()
        .map(|item| (item["row"][0].clone(), item["value"].clone()))
        .collect()
}

#[tokio::test]
async fn reading_shows_which_policy_hides_which_row() {
    let app = platform_with(DOCS).await;
    let report = test(&app, json!({ "verb": "select" })).await;
    assert_eq!(report["decision"], "allowed");
    assert_eq!(
        (&report["affected"], &report["matching"]),
        (&json!(1), &json!(3))
    );
    assert_eq!(report["visible"]["rows"], json!([["1", "ada", "f"]]));
    assert_eq!(
        report["security"],
        json!({ "enabled": true, "forced": false, "active": true, "granted": true })
    );
    assert_eq!(
        report["subject"]["claims"],
        json!({ "sub": "ada", "aal": "aal2", "role": "authenticated" })
    );
    let of = |row: &str, value: bool| (json!(row), json!(value));
    assert_eq!(
        values(&report, "own"),
        [of("1", true), of("2", true), of("3", false)]
    );
    assert_eq!(
        values(&report, "not_secret"),
        [of("1", true), of("2", false), of("3", true)]
    );
    assert!(values(&report, "add").is_empty());
    let own = &report["policies"].as_array().expect("a list")[4];
    assert_eq!(
        (&own["name"], &own["applies"]),
        (&json!("own"), &json!(true))
    );
}

#[tokio::test]
async fn writing_is_rolled_back_and_says_what_refused_it() {
    let app = platform_with(DOCS).await;
    let before = texts(&app, "select docs::text from docs order by id").await;

    let report = test(
        &app,
        json!({ "verb": "insert", "values": { "id": "9", "owner": "ada" } }),
    )
    .await;
    assert_eq!(
        (&report["decision"], &report["affected"]),
        (&json!("allowed"), &json!(1))
    );
    assert_eq!(values(&report, "add"), [(json!("9"), json!(true))]);
    // The default of a column counts.
    let report = test(&app, json!({ "verb": "insert", "values": { "id": "9" } })).await;
    assert_eq!(report["decision"], "denied_by_policy");
    assert_eq!(values(&report, "add"), [(json!("9"), json!(false))]);
    let report = test(
        &app,
        json!({ "verb": "insert", "values": { "id": "1", "owner": "ada" } }),
    )
    .await;
    assert_eq!(
        (&report["decision"], &report["error"]["sqlstate"]),
        (&json!("failed"), &json!("23505"))
    );

    let report = test(
        &app,
        json!({ "verb": "update", "values": { "owner": "ada" } }),
    )
    .await;
    assert_eq!(
        (&report["affected"], &report["matching"]),
        (&json!(1), &json!(3))
    );
    let filters = json!([{ "column": "id", "operator": "=", "value": "1" }]);
    let report = test(
        &app,
        json!({ "verb": "update", "values": { "secret": "true" }, "filters": filters }),
    )
    .await;
    assert_eq!(report["decision"], "denied_by_policy");
    let checked = values(&report, "not_secret");
    assert_eq!(
        checked,
        [(json!("1"), json!(true)), (json!("1"), json!(false))]
    );

    // An expression that fails for one row is no obstacle for the others.
    let report = test(&app, json!({ "verb": "delete" })).await;
    let policies = report["policies"].as_array().expect("a list");
    let broken = policies
        .iter()
        .find(|found| found["name"] == "broken")
        .expect("the policy");
    assert_eq!(broken["evaluations"][1]["error"], "division by zero");
    assert_eq!(broken["evaluations"][2]["value"], true);
    assert_eq!(
        texts(&app, "select docs::text from docs order by id").await,
        before
    );
}

#[tokio::test]
async fn a_missing_grant_is_told_from_a_policy() {
    let app = platform_with(DOCS).await;
    let anon = json!({ "claims": { "x": 1 } });
    let report = test(&app, json!({ "verb": "select", "subject": anon })).await;
    assert_eq!(report["subject"]["role"], "anon");
    assert_eq!(
        (&report["decision"], &report["security"]["granted"]),
        (&json!("denied_by_grant"), &json!(false))
    );
    let service = json!({ "role": "service_role" });
    let report = test(&app, json!({ "verb": "select", "subject": service })).await;
    assert_eq!(
        (&report["security"]["active"], &report["affected"]),
        (&json!(false), &json!(3))
    );
    for (body, status) in [
        (
            json!({ "verb": "select", "subject": { "role": "nobody" } }),
            422,
        ),
        (
            json!({ "verb": "select", "subject": { "aal": "aal3" } }),
            400,
        ),
        (json!({ "verb": "select", "subject": {}, "rows": 0 }), 400),
        (json!({ "verb": "update", "subject": {} }), 400),
        (json!({ "verb": "truncate", "subject": {} }), 400),
    ] {
        let mut body = body;
        body["relation"] = json!({ "name": "docs" });
        post(&app, "policies/test", body)
            .await
            .expect_status(status);
    }
}

#[tokio::test]
async fn triggers_can_be_silent() {
    let app = platform_with(&format!(
        "{DOCS}; create function refuse() returns trigger language plpgsql as $$ begin raise 'no'; end $$;
         create trigger refuse before insert on docs for each row execute function refuse()"
    ))
    .await;
    let insert = json!({ "verb": "insert", "values": { "id": "9", "owner": "ada" } });
    assert_eq!(test(&app, insert.clone()).await["error"]["message"], "no");
    let mut silent = insert;
    silent["without_triggers"] = json!(true);
    assert_eq!(test(&app, silent).await["decision"], "allowed");
    let enabled = "select tgenabled::text from pg_trigger where tgname = 'refuse'";
    assert_eq!(texts(&app, enabled).await, ["O"]);
}

#[tokio::test]
async fn cases_are_kept_run_and_exported() {
    let app = platform_with(DOCS).await;
    let case = |name: &str, verb: &str, decision: &str, affected: Value| {
        json!({
            "name": name,
            "subject": { "role": "authenticated", "claims": { "sub": "ada" } },
            "test": { "relation": { "name": "docs" }, "verb": verb, "values": { "id": "9", "owner": "bob's" } },
            "expect": { "decision": decision, "affected": affected },
        })
    };
    let made = post(
        &app,
        "policies/cases",
        case("reads one", "select", "allowed", json!(1)),
    )
    .await;
    let made = made.expect_status(201).json();
    let wrong = post(
        &app,
        "policies/cases",
        case("adds for others", "insert", "allowed", json!(null)),
    )
    .await;
    let wrong = wrong.expect_status(201).json();
    post(
        &app,
        "policies/cases",
        case("reads one", "select", "allowed", json!(1)),
    )
    .await
    .expect_status(409);
    post(
        &app,
        "policies/cases",
        case("", "select", "allowed", json!(1)),
    )
    .await
    .expect_status(400);

    let ran = post(&app, "policies/cases/run", json!({})).await.ok();
    assert_eq!((&ran["passed"], &ran["failed"]), (&json!(1), &json!(1)));
    assert_eq!(ran["results"][0]["decision"], "denied_by_policy");
    let target = path(&format!(
        "policies/cases/{}",
        wrong["id"].as_str().expect("an id")
    ));
    let right = case("adds for others", "insert", "denied_by_policy", json!(null));
    app.request(Method::PUT, &target, json_body(right))
        .await
        .expect_ok();
    assert_eq!(
        post(&app, "policies/cases/run", json!({})).await.ok()["passed"],
        2
    );
    assert_eq!(
        get(&app, "policies/cases").await.ok()["cases"]
            .as_array()
            .map(Vec::len),
        Some(2)
    );

    let reply = get(&app, "policies/cases/export").await;
    let file = reply.expect_ok().text();
    assert!(file.contains("select extensions.plan(2);"), "{file}");
    assert!(file.contains("extensions.throws_ok("), "{file}");
    assert!(
        file.contains("bob''''s"),
        "a literal within a literal: {file}"
    );
    let target = path(&format!(
        "policies/cases/{}",
        made["id"].as_str().expect("an id")
    ));
    app.request(Method::DELETE, &target, None)
        .await
        .expect_status(204);
    app.request(Method::DELETE, &target, None)
        .await
        .expect_status(404);
}
