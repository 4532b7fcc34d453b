//! `GET /admin/users` at large offsets: the same pages as with `offset`, at the cost of the first.

use std::time::Duration;

use serde_json::Value;

use crate::support::{Api, Requests, Sql};

const NEWEST_FIRST: &str = "created_at desc";
const OLDEST_FIRST: &str = "created_at asc";

/// Without the indexes of the search: filling them takes a hundred times as long as the rows.
async fn start() -> Api {
    let api = Api::start(&[]).await;
    let indexes = "auth.users_email_search_idx, auth.users_full_name_search_idx";
    api.execute(&format!("drop index {indexes}")).await;
    api
}

/// `count` users, three per second; the newest an hour old.
async fn with_users(count: u32) -> Api {
    let api = start().await;
    add_users(
        &api,
        count,
        "now() - interval '1 h' - n / 3 * interval '1 s'",
    )
    .await;
    api.execute("analyze auth.users").await;
    api
}

/// `count` more users; `created_at` may use `n`.
async fn add_users(api: &Api, count: u32, created_at: &str) {
    api.execute(&format!(
        "insert into auth.users (instance_id, id, aud, role, email, created_at, updated_at)
         select '00000000-0000-0000-0000-000000000000', gen_random_uuid(), 'authenticated',
           'authenticated', gen_random_uuid() || '@mail.dev', {created_at}, now()
         from generate_series(1, {count}) n"
    ))
    .await;
}

async fn page(api: &Api, sort: &str, size: usize, number: usize) -> Vec<String> {
    let sort = sort.replace(' ', "%20");
    let path = format!("/admin/users?page={number}&per_page={size}&sort={sort}");
    let reply = api.get(&path).service_role().await.ok();
    let users = reply["users"].as_array().expect("a list");
    let id = |user: &Value| user["id"].as_str().expect("a text").to_owned();
    users.iter().map(id).collect()
}

/// Reads all pages in order.
async fn walk(api: &Api, sort: &str, size: usize) -> Vec<String> {
    let mut seen = Vec::new();
    for number in 1.. {
        let ids = page(api, sort, size, number).await;
        if ids.is_empty() {
            break;
        }
        seen.extend(ids);
    }
    seen
}

/// All users, from the database.
async fn all(api: &Api, sort: &str) -> Vec<String> {
    let direction = sort.trim_start_matches("created_at ");
    let sql = format!(
        "select jsonb_agg(id order by created_at {direction}, id {direction})
         from auth.users where aud = 'authenticated'"
    );
    let ids = api.value(&sql, &[]).await;
    serde_json::from_value(ids).expect("a list of ids")
}

/// Checks that the pages contain all users in order, without printing a long difference.
async fn check_walk(api: &Api, sort: &str, size: usize) {
    let (seen, all) = (walk(api, sort, size).await, all(api, sort).await);
    let first = seen.iter().zip(&all).position(|(one, other)| one != other);
    let lengths = (seen.len(), all.len());
    assert_eq!(first, None, "{sort}, pages of {size}, {lengths:?} rows");
    assert_eq!(lengths.0, lengths.1, "{sort}, pages of {size}");
}

async fn check_page(api: &Api, sort: &str, size: usize, number: usize) {
    let expected = all(api, sort).await.into_iter();
    let expected: Vec<String> = expected.skip((number - 1) * size).take(size).collect();
    let seen = page(api, sort, size, number).await;
    assert!(seen == expected, "{sort}, page {number} of {size}");
}

#[tokio::test]
async fn all_pages_together_have_every_user_once() {
    let api = with_users(12_000).await;

    for sort in [NEWEST_FIRST, OLDEST_FIRST] {
        for size in [50, 333, 1000, 10_000] {
            check_walk(&api, sort, size).await;
        }
    }
}

#[tokio::test]
async fn a_page_may_be_asked_for_without_those_before_it() {
    let api = with_users(12_000).await;

    for sort in [NEWEST_FIRST, OLDEST_FIRST] {
        for (size, number) in [
            (50, 200),
            (50, 240),
            (50, 241),
            (7, 300),
            (1000, 12),
            (50, 2),
        ] {
            check_page(&api, sort, size, number).await;
        }
    }
}

#[tokio::test]
async fn who_signs_up_moves_all_pages() {
    let api = with_users(12_000).await;
    check_page(&api, NEWEST_FIRST, 50, 100).await;

    for number in 0..3 {
        add_users(&api, 7, "now()").await;
        api.sign_up(&format!("new{number}@mail.dev"), "correct horse")
            .await;
        for number in [2, 6, 7, 100, 240, 241] {
            check_page(&api, NEWEST_FIRST, 50, number).await;
        }
    }
    check_page(&api, OLDEST_FIRST, 50, 241).await;
    check_walk(&api, NEWEST_FIRST, 50).await;
}

#[tokio::test]
async fn deleted_users_do_not_appear_on_later_pages() {
    let api = with_users(12_000).await;
    check_page(&api, NEWEST_FIRST, 50, 100).await;

    let ids = all(&api, NEWEST_FIRST).await;
    for id in [&ids[3], &ids[600], &ids[5000]] {
        let path = format!("/admin/users/{id}");
        let call = api.call(http::Method::DELETE, &path).service_role();
        assert_eq!(call.await.status, 200);
    }
    check_walk(&api, NEWEST_FIRST, 50).await;

    api.execute("delete from auth.users where id::text < '1'")
        .await;
    check_walk(&api, OLDEST_FIRST, 1000).await;
    check_walk(&api, NEWEST_FIRST, 1000).await;
}

#[tokio::test]
async fn users_created_meanwhile_appear_on_later_pages() {
    let api = with_users(12_000).await;
    check_page(&api, NEWEST_FIRST, 50, 100).await;

    add_users(&api, 40, "now() - interval '1 h' - n * interval '80 s'").await;
    check_walk(&api, NEWEST_FIRST, 50).await;
    add_users(&api, 900, "now() - interval '90 min'").await;
    check_walk(&api, OLDEST_FIRST, 50).await;
}

#[tokio::test]
async fn when_rows_are_counted_anew_every_page_is_right_again() {
    let api = with_users(14_000).await;
    check_page(&api, NEWEST_FIRST, 50, 100).await;

    api.execute("delete from auth.users where id::text < '2'")
        .await;
    api.advance(Duration::from_secs(30));

    check_page(&api, NEWEST_FIRST, 50, 200).await;
    check_page(&api, OLDEST_FIRST, 50, 200).await;
}

#[tokio::test]
async fn rows_change_places_unnoticed_for_ten_minutes_at_most() {
    let api = with_users(12_000).await;
    check_page(&api, NEWEST_FIRST, 50, 100).await;

    api.execute(
        "update auth.users set created_at = created_at - interval '50 min'
         where created_at > now() - interval '70 min' and id::text < '2'",
    )
    .await;
    api.advance(Duration::from_secs(600));

    check_page(&api, NEWEST_FIRST, 50, 150).await;
}

#[tokio::test]
async fn rows_of_seeds_without_a_time_are_the_newest() {
    let api = with_users(12_000).await;
    add_users(&api, 70, "null").await;

    for (sort, size) in [
        (NEWEST_FIRST, 50),
        (OLDEST_FIRST, 50),
        (NEWEST_FIRST, 1000),
        (OLDEST_FIRST, 1000),
    ] {
        check_walk(&api, sort, size).await;
    }
    check_page(&api, OLDEST_FIRST, 50, 242).await;
    check_page(&api, NEWEST_FIRST, 50, 242).await;
}

#[tokio::test]
async fn a_list_of_people_who_all_came_just_now_has_pages_too() {
    let api = start().await;
    add_users(&api, 11_000, "now() + n * interval '1 ms'").await;

    check_page(&api, NEWEST_FIRST, 50, 100).await;
    api.advance(Duration::from_secs(60));
    check_page(&api, NEWEST_FIRST, 50, 100).await;
}

#[tokio::test]
async fn many_may_go_far_at_once() {
    let api = with_users(12_000).await;

    let pages = (0..20).map(|number| page(&api, NEWEST_FIRST, 50, 100 + number));
    let pages: Vec<Vec<String>> = futures_util::future::join_all(pages).await;

    let expected = all(&api, NEWEST_FIRST).await;
    assert!(pages.concat() == expected[99 * 50..119 * 50]);
}

/// How many rows of users were read. Counted reliably when the connections are closed.
async fn rows_read(api: &Api) -> i64 {
    api.execute(
        "do $$ begin
           perform pg_terminate_backend(pid, 10000) from pg_stat_activity
             where datname = current_database() and pid <> pg_backend_pid()
               and backend_type = 'client backend';
         end $$",
    )
    .await;
    api.count(
        "select (seq_tup_read + idx_tup_fetch)::bigint from pg_stat_user_tables
         where relid = 'auth.users'::regclass",
    )
    .await
}

#[tokio::test]
async fn a_page_far_down_reads_few_rows() {
    let api = with_users(45_000).await;
    for sort in [NEWEST_FIRST, OLDEST_FIRST] {
        check_page(&api, sort, 50, 900).await;
        check_page(&api, sort, 1000, 45).await;
    }
    let before = rows_read(&api).await;

    for number in [700, 880, 870, 899, 900, 320] {
        assert_eq!(page(&api, NEWEST_FIRST, 50, number).await.len(), 50);
        assert_eq!(page(&api, OLDEST_FIRST, 50, number).await.len(), 50);
    }

    let read = rows_read(&api).await - before;
    assert!(read < 12 * 700, "{read} rows for twelve pages");
    assert!(
        read > 12 * 50,
        "only {read} rows: they are counted elsewhere"
    );
}
