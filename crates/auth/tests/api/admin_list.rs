//! `GET /admin/users`: pages, filters and order (auth contract §2.13, pitfalls 14 and 32).

use serde_json::{Value, json};

use crate::support::{Api, AuthReply, Reply, Requests, Sql};

/// Users 1 to `count`, a second apart, the last the newest.
async fn with_users(settings: &[(&str, &str)], count: u32) -> Api {
    let api = Api::start(settings).await;
    api.execute(&format!(
        "insert into auth.users (instance_id, id, aud, role, email, created_at, updated_at)
         select '00000000-0000-0000-0000-000000000000', gen_random_uuid(), 'authenticated',
           'authenticated', 'user' || n || '@mail.dev', now() + n * interval '1 s', now()
         from generate_series(1, {count}) n"
    ))
    .await;
    api
}

async fn list(api: &Api, query: &str) -> Reply {
    api.get(&format!("/admin/users{query}"))
        .service_role()
        .await
}

fn emails(reply: &Reply) -> Vec<String> {
    let body = reply.ok();
    let users = body["users"].as_array().expect("a list");
    let email = |user: &Value| user["email"].as_str().expect("a text").to_owned();
    users.iter().map(email).collect()
}

#[tokio::test]
async fn no_user_is_an_empty_list() {
    let api = Api::start(&[]).await;

    let reply = list(&api, "").await;

    assert_eq!(reply.ok(), json!({ "users": [], "aud": "authenticated" }));
    assert_eq!(reply.header("x-total-count"), Some("0"));
}

#[tokio::test]
async fn pages_lead_on_to_the_last() {
    let api = with_users(&[], 5).await;

    let first = list(&api, "?page=1&per_page=2").await;
    assert_eq!(emails(&first), ["user5@mail.dev", "user4@mail.dev"]);
    assert_eq!(first.header("x-total-count"), Some("5"));
    let link = "</admin/users?page=2&per_page=2>; rel=\"next\", \
                </admin/users?page=3&per_page=2>; rel=\"last\"";
    assert_eq!(first.header("link"), Some(link));

    let last = list(&api, "?page=3&per_page=2").await;
    assert_eq!(emails(&last), ["user1@mail.dev"]);
    let link = "</admin/users?page=3&per_page=2>; rel=\"last\"";
    assert_eq!(last.header("link"), Some(link));

    let beyond = list(&api, "?page=9999999999&per_page=2").await;
    assert_eq!(emails(&beyond), [""; 0]);
    assert_eq!(beyond.header("x-total-count"), Some("5"));
}

#[tokio::test]
async fn browsers_may_read_the_headers() {
    let api = Api::start(&[]).await;

    let call = api.get("/admin/users").service_role();
    let reply = call.header("origin", "https://app.example").await;

    let exposed = reply.header("access-control-expose-headers").expect("CORS");
    assert!(exposed.contains("Link") && exposed.contains("X-Total-Count"));
}

#[tokio::test]
async fn empty_parameters_are_defaults_and_bad_ones_rejected() {
    let api = with_users(&[], 51).await;

    let reply = list(&api, "?page=&per_page=").await;
    assert_eq!(emails(&reply).len(), 50);

    for query in [
        "?page=x",
        "?page=-1",
        "?per_page=-1",
        "?per_page=0",
        "?sort=email",
        "?sort=created_at%20up",
        "?filter=%00",
    ] {
        list(&api, query)
            .await
            .expect_error(400, "validation_failed");
    }
}

#[tokio::test]
async fn rows_of_the_list_are_short() {
    let api = Api::start(&[]).await;
    api.sign_up("ann@mail.dev", "correct horse").await;

    let user = list(&api, "").await.ok()["users"][0].clone();

    assert_eq!(user["identities"], Value::Null);
    assert_eq!(user.get("factors"), None);
    assert_eq!(user["app_metadata"]["provider"], "email");
}

#[tokio::test]
async fn order_is_by_age() {
    let api = with_users(&[], 3).await;

    let oldest = list(&api, "?sort=created_at%20asc&per_page=1").await;
    assert_eq!(emails(&oldest), ["user1@mail.dev"]);
    let newest = list(&api, "?sort=created_at%20desc&per_page=1").await;
    assert_eq!(emails(&newest), ["user3@mail.dev"]);
    let link = oldest.header("link").expect("a link");
    assert!(link.starts_with("</admin/users?page=2&per_page=1&sort=created_at+asc>"));
}

#[tokio::test]
async fn a_filter_is_part_of_an_address_or_a_name() {
    let api = with_users(&[], 12).await;
    api.execute(
        "update auth.users set raw_user_meta_data = '{\"full_name\": \"Ann Over_Lea\"}'
         where email = 'user7@mail.dev'",
    )
    .await;

    let ones = list(&api, "?filter=user1").await;
    assert_eq!(ones.header("x-total-count"), Some("4"));
    assert_eq!(emails(&ones).len(), 4);
    assert_eq!(
        emails(&list(&api, "?filter=ann%20over_").await),
        ["user7@mail.dev"]
    );
    for nothing in ["USER1", "user_", "%25", "\\", "'"] {
        let query = format!("?filter={}", nothing.replace('\\', "%5C"));
        assert_eq!(emails(&list(&api, &query).await), [""; 0], "{nothing}");
    }
}

#[tokio::test]
async fn letters_of_all_languages_and_short_texts_are_found() {
    let api = with_users(&[], 3).await;
    api.execute(
        "update auth.users set raw_user_meta_data = '{\"full_name\": \"Jürgen Groß\"}'
         where email = 'user2@mail.dev'",
    )
    .await;

    for part in [
        "j%C3%BCrgen",
        "J%C3%9CRGEN%20gro",
        "rgen",
        "%C3%9F",
        "ge",
        "r2@",
    ] {
        let found = list(&api, &format!("?filter={part}")).await;
        assert_eq!(emails(&found), ["user2@mail.dev"], "{part}");
        assert_eq!(found.header("x-total-count"), Some("1"), "{part}");
    }
}

/// Search terms that every address contains are not looked up.
#[tokio::test]
async fn users_are_found_once_it_is_known_what_is_common() {
    let api = with_users(&[], 3).await;
    api.execute(
        "insert into auth.users (id, aud, email, raw_user_meta_data)
         select gen_random_uuid(), 'authenticated', 'person' || n || '@mail.dev',
             jsonb_build_object('full_name', 'Person Number ' || n)
         from generate_series(1000, 2999) as n;
         analyze auth.users",
    )
    .await;

    for (part, expected) in [
        ("person1234@mail.dev", vec!["person1234@mail.dev"]),
        ("N%20NUMBER%202345", vec!["person2345@mail.dev"]),
        ("user2@mail.dev", vec!["user2@mail.dev"]),
        ("ser2@mail.dev%20", vec![]),
    ] {
        let found = list(&api, &format!("?filter={part}")).await;
        assert_eq!(emails(&found), expected, "{part}");
        let total = expected.len().to_string();
        assert_eq!(found.header("x-total-count"), Some(&*total), "{part}");
    }
    let everybody = list(&api, "?filter=@mail.dev").await;
    assert_eq!(everybody.header("x-total-count"), Some("2003"));
}

/// Every search would scan all users that are not in the index yet.
#[tokio::test]
async fn no_request_waits_for_a_position_in_the_index() {
    let api = with_users(&[], 1).await;

    let at_once = "select count(*) from pg_class
                   where relname in ('users_email_search_idx', 'users_full_name_search_idx')
                       and 'fastupdate=off' = any (reloptions)";

    assert_eq!(api.count(at_once).await, 2);
}

#[tokio::test]
async fn users_are_found_without_the_index_of_our_own_schema() {
    let api = with_users(&[], 3).await;
    api.execute("drop function auth.search_pieces(text) cascade")
        .await;

    let found = list(&api, "?filter=user2").await;

    assert_eq!(emails(&found), ["user2@mail.dev"]);
}

#[tokio::test]
async fn rows_of_seeds_are_listed_and_others_audiences_are_not() {
    let api = Api::start(&[]).await;
    api.execute(
        "insert into auth.users (id, aud, email) values
           (gen_random_uuid(), 'authenticated', 'seed@mail.dev'),
           (gen_random_uuid(), 'other', 'other@mail.dev')",
    )
    .await;

    let reply = list(&api, "").await;
    assert_eq!(emails(&reply), ["seed@mail.dev"]);
    let user = &reply.ok()["users"][0];
    assert_eq!(user["phone"], "");
    assert_eq!(user["user_metadata"], json!({}));

    let call = api.get("/admin/users").service_role();
    let reply = call.header("x-jwt-aud", "other").await;
    assert_eq!(emails(&reply), ["other@mail.dev"]);
    assert_eq!(reply.ok()["aud"], "other");
}

#[tokio::test]
async fn pages_fit_together_where_many_were_made_at_once() {
    let api = with_users(&[], 20).await;
    api.execute("update auth.users set created_at = now()")
        .await;

    let mut seen = Vec::new();
    for page in 1..=4 {
        let query = format!("?page={page}&per_page=5");
        seen.extend(emails(&list(&api, &query).await));
    }

    seen.sort();
    seen.dedup();
    assert_eq!(seen.len(), 20);
}

#[tokio::test]
async fn a_cursor_goes_on_where_the_last_page_ended() {
    let api = with_users(&[("plinth.auth.cursor_pagination", "true")], 5).await;

    let first = list(&api, "?limit=2").await;
    assert_eq!(emails(&first), ["user5@mail.dev", "user4@mail.dev"]);
    assert_eq!(first.header("x-total-count"), None);
    let pagination = first.ok()["pagination"].clone();
    assert_eq!(pagination["has_more"], true);
    let cursor = pagination["next_cursor"].as_str().expect("a cursor");
    let link = format!("</admin/users?cursor={cursor}&limit=2>; rel=\"next\"");
    assert_eq!(first.header("link"), Some(link.as_str()));

    let second = list(&api, &format!("?cursor={cursor}&limit=3")).await;
    let rest = ["user3@mail.dev", "user2@mail.dev", "user1@mail.dev"];
    assert_eq!(emails(&second), rest);
    assert_eq!(second.ok()["pagination"], json!({ "has_more": false }));
    assert_eq!(second.header("link"), None);

    list(&api, "?cursor=x")
        .await
        .expect_error(400, "validation_failed");
    list(&api, "?limit=0")
        .await
        .expect_error(400, "validation_failed");
    let paged = list(&api, "?page=1").await;
    assert_eq!(paged.header("x-total-count"), Some("5"));
    assert_eq!(paged.ok().get("pagination"), None);
}

#[tokio::test]
async fn a_large_table_is_not_counted_each_time_and_still_leads_on() {
    let api = with_users(&[], 10_000).await;
    let full = list(&api, "?per_page=5000&page=2").await;
    assert_eq!(full.header("x-total-count"), Some("10000"));
    let link = full.header("link").expect("a link");
    assert!(!link.contains("rel=\"next\""), "{link}");

    api.execute(
        "insert into auth.users (id, aud, email) values
           (gen_random_uuid(), 'authenticated', 'seed@mail.dev')",
    )
    .await;

    // The total may be some seconds old; that there is another page is always visible.
    let full = list(&api, "?per_page=5000&page=2").await;
    assert_eq!(full.header("x-total-count"), Some("10001"));
    let link = full.header("link").expect("a link");
    assert!(
        link.contains("page=3&per_page=5000>; rel=\"next\""),
        "{link}"
    );
    api.advance(std::time::Duration::from_secs(60));
    let first = list(&api, "?per_page=1").await;
    assert_eq!(first.header("x-total-count"), Some("10001"));
}
