//! Searches for users: conditions, order, pages, totals.

use plinth_project::{SortOrder, UserPage, UserSearch, UserSort};
use serde_json::{Value, json};

use super::{PASSWORD, expect_invalid};
use crate::support::{Api, Requests, Sql};

/// Users `u0` … `u5`, the oldest first, with something of everything.
const USERS: &str = "
    insert into auth.users (instance_id, id, aud, role, email, phone, created_at, updated_at,
      email_confirmed_at, last_sign_in_at, banned_until, is_anonymous, raw_app_meta_data,
      raw_user_meta_data)
    select '00000000-0000-0000-0000-000000000000', u.id::uuid, u.aud, 'authenticated', u.email,
      u.phone, u.created_at::timestamptz, now(), u.confirmed::timestamptz,
      u.signed_in::timestamptz, u.banned::timestamptz, u.email is null, u.app::jsonb, u.meta::jsonb
    from (values
      ('a0000000-0000-4000-8000-000000000000', 'authenticated', 'ada@first.test', '491701',
        '2026-01-01', '2026-01-01', '2026-03-01', null,
        '{\"providers\": [\"email\"], \"roles\": [\"admin\", \"editor\"]}',
        '{\"full_name\": \"Ada Lovelace\", \"plan\": \"pro\"}'),
      ('a1000000-0000-4000-8000-000000000000', 'authenticated', 'bob@first.test', null,
        '2026-01-02', null, null, '2999-01-01', '{}',
        '{\"name\": \"Bob Ross\", \"seats\": 7, \"a\": {\"b.c\": 1, \"d\": \"x\"}}'),
      ('b2000000-0000-4000-8000-000000000000', 'other', 'Eve@Second.test', '4915112',
        '2026-01-03', '2026-01-03', '2026-02-01', '2001-01-01', '{}', '{\"plan\": \"free\"}'),
      ('b3000000-0000-4000-8000-000000000000', 'authenticated', null, null,
        '2026-01-04', null, '2026-02-02', null, '{}', '{}'),
      ('c4000000-0000-4000-8000-000000000000', 'authenticated', 'per%cent_@second.test', null,
        '2026-01-05', '2026-01-05', null, null, '{}', null),
      ('c5000000-0000-4000-8000-000000000000', 'authenticated', 'zoë@third.test', null,
        null, '2026-01-05', null, null, '{}',
        '{\"full_name\": \"Zo\\u00eb \\\"Q\\\"; drop table\", \"name\": \"Someone Else\"}')
    ) as u (id, aud, email, phone, created_at, confirmed, signed_in, banned, app, meta);
    insert into auth.identities (id, provider_id, user_id, identity_data, provider)
      values (gen_random_uuid(), 'g1', 'a0000000-0000-4000-8000-000000000000', '{}', 'google');
    insert into auth.mfa_factors (id, user_id, factor_type, status, created_at, updated_at) values
      (gen_random_uuid(), 'a1000000-0000-4000-8000-000000000000', 'totp', 'verified', now(), now()),
      (gen_random_uuid(), 'a0000000-0000-4000-8000-000000000000', 'totp', 'unverified', now(), now());
    analyze auth.users";

async fn with_users() -> Api {
    let api = Api::start(&[]).await;
    api.execute(USERS).await;
    api
}

async fn page(api: &Api, search: UserSearch) -> UserPage {
    let (users, call) = api.administration();
    users.search(&call, &search).await.expect("a page")
}

/// The second character of each id, in the order of the list.
fn numbers(page: &UserPage) -> String {
    let users = page.users.iter();
    users
        .map(|user| {
            let id = user.0["id"].as_str().expect("an id");
            id.chars().nth(1).expect("a character")
        })
        .collect()
}

fn some(text: &str) -> Option<String> {
    Some(text.to_owned())
}

/// Oldest first, so that expectations are easy to read; the undated one comes last.
async fn check(api: &Api, search: UserSearch, expected: &str) {
    let search = UserSearch {
        order: Some(SortOrder::Asc),
        ..search
    };
    let found = page(api, search.clone()).await;
    assert_eq!(numbers(&found), expected, "{search:?}");
    assert_eq!(found.total, Some(expected.len() as u64), "{search:?}");
    assert!(!found.is_estimate);
}

#[tokio::test]
async fn each_condition_narrows() {
    let api = with_users().await;
    let search = UserSearch::default;
    check(&api, search(), "012345").await;
    let q = |text: &str| UserSearch {
        q: some(text),
        ..search()
    };
    check(&api, q("first.test"), "01").await;
    check(&api, q("ADA"), "0").await;
    check(&api, q("lovel"), "0").await;
    check(&api, q("ross"), "1").await;
    check(&api, q("second"), "24").await;
    check(&api, q("+49 170"), "0").await;
    check(&api, q("a0000000-0000"), "0").await;
    check(&api, q("r%c"), "4").await;
    check(&api, q("%"), "4").await;
    check(&api, q("_@"), "4").await;
    check(&api, q("zoë"), "5").await;
    check(&api, q("\"Q\"; drop"), "5").await;
    check(&api, q("someone"), "").await;
    check(&api, q("nobody at all"), "").await;
    check(&api, q("  "), "012345").await;

    let email = |text: &str| UserSearch {
        email: some(text),
        ..search()
    };
    check(&api, email("eve@sec"), "2").await;
    check(&api, email("lovelace"), "").await;
    let name = |text: &str| UserSearch {
        name: some(text),
        ..search()
    };
    check(&api, name("bob ross"), "1").await;
    check(&api, name("first.test"), "").await;
    let phone = |text: &str| UserSearch {
        phone: some(text),
        ..search()
    };
    check(&api, phone("+49"), "02").await;
    check(&api, phone("49151"), "2").await;
    let id = |text: &str| UserSearch {
        id: some(text),
        ..search()
    };
    check(&api, id("a"), "01").await;
    check(&api, id("B2"), "2").await;

    let metadata = |text: &str| UserSearch {
        metadata: some(text),
        ..search()
    };
    check(&api, metadata("user.plan=pro"), "0").await;
    check(&api, metadata("user.seats=7"), "1").await;
    check(&api, metadata("user.a.d=x"), "1").await;
    check(&api, metadata("app.roles=editor"), "0").await;
    check(&api, metadata("app.roles=[\"admin\"]"), "0").await;
    check(&api, metadata("user.plan='; drop table auth.users --"), "").await;
}

#[tokio::test]
async fn states_are_filtered() {
    let api = with_users().await;
    let search = UserSearch::default;
    check(
        &api,
        UserSearch {
            confirmed: Some(true),
            ..search()
        },
        "0245",
    )
    .await;
    check(
        &api,
        UserSearch {
            confirmed: Some(false),
            ..search()
        },
        "13",
    )
    .await;
    check(
        &api,
        UserSearch {
            banned: Some(true),
            ..search()
        },
        "1",
    )
    .await;
    check(
        &api,
        UserSearch {
            banned: Some(false),
            ..search()
        },
        "02345",
    )
    .await;
    check(
        &api,
        UserSearch {
            anonymous: Some(true),
            ..search()
        },
        "3",
    )
    .await;
    check(
        &api,
        UserSearch {
            anonymous: Some(false),
            ..search()
        },
        "01245",
    )
    .await;
    check(
        &api,
        UserSearch {
            mfa: Some(true),
            ..search()
        },
        "1",
    )
    .await;
    check(
        &api,
        UserSearch {
            mfa: Some(false),
            ..search()
        },
        "02345",
    )
    .await;
    check(
        &api,
        UserSearch {
            provider: some("google"),
            ..search()
        },
        "0",
    )
    .await;
    check(
        &api,
        UserSearch {
            provider: some("x'y"),
            ..search()
        },
        "",
    )
    .await;
    let since = UserSearch {
        signed_in_since: some("2026-02-01T00:00:00Z"),
        signed_in_until: some("2026-03-01T00:00:00Z"),
        ..search()
    };
    check(&api, since, "23").await;
    let both = UserSearch {
        q: some("test"),
        confirmed: Some(true),
        phone: some("49"),
        ..search()
    };
    check(&api, both, "02").await;
}

#[tokio::test]
async fn every_order_has_pages_without_gaps() {
    let api = with_users().await;
    let cases = [
        (UserSort::CreatedAt, SortOrder::Desc, "432105"),
        (UserSort::CreatedAt, SortOrder::Asc, "012345"),
        (UserSort::LastSignInAt, SortOrder::Desc, "032541"),
        (UserSort::LastSignInAt, SortOrder::Asc, "230145"),
        (UserSort::Email, SortOrder::Asc, "012453"),
        (UserSort::Phone, SortOrder::Desc, "025431"),
    ];
    for (sort, order, expected) in cases {
        for limit in [1, 2, 5] {
            let mut seen = String::new();
            let mut cursor = None;
            loop {
                let search = UserSearch {
                    sort: Some(sort),
                    order: Some(order),
                    limit: Some(limit),
                    cursor: cursor.clone(),
                    ..UserSearch::default()
                };
                let found = page(&api, search).await;
                assert!(found.users.len() as i64 <= limit);
                assert_eq!(found.total.is_some(), cursor.is_none());
                seen.push_str(&numbers(&found));
                cursor = found.next;
                if cursor.is_none() {
                    break;
                }
            }
            assert_eq!(seen, expected, "{sort:?} {order:?} {limit}");
        }
    }
}

#[tokio::test]
async fn users_look_like_those_of_the_admin_api() {
    let api = Api::start(&[]).await;
    let session = api.sign_up("ann@mail.dev", PASSWORD).await;
    let id = session["user"]["id"].as_str().expect("an id");
    let expected = api
        .get(&format!("/admin/users/{id}"))
        .service_role()
        .await
        .ok();

    let found = page(&api, UserSearch::default()).await;

    let users: Vec<Value> = found.users.into_iter().map(|user| user.0.into()).collect();
    assert_eq!(users, [expected]);
    assert!(!json!(users).to_string().contains("encrypted_password"));
}

#[tokio::test]
async fn a_wrong_search_is_rejected() {
    let api = with_users().await;
    let (users, call) = api.administration();
    let first = UserSearch {
        limit: Some(2),
        ..UserSearch::default()
    };
    let cursor = page(&api, first).await.next;
    let search = UserSearch::default;
    let cases = [
        (
            UserSearch {
                id: some("xyz"),
                ..search()
            },
            "id:",
        ),
        (
            UserSearch {
                phone: some("abc"),
                ..search()
            },
            "phone:",
        ),
        (
            UserSearch {
                metadata: some("plan=pro"),
                ..search()
            },
            "metadata:",
        ),
        (
            UserSearch {
                signed_in_since: some("yesterday"),
                ..search()
            },
            "signed_in_since:",
        ),
        (
            UserSearch {
                limit: Some(0),
                ..search()
            },
            "limit:",
        ),
        (
            UserSearch {
                limit: Some(201),
                ..search()
            },
            "limit:",
        ),
        (
            UserSearch {
                limit: Some(-1),
                ..search()
            },
            "limit:",
        ),
        (
            UserSearch {
                cursor: some("e30"),
                ..search()
            },
            "cursor:",
        ),
        (
            UserSearch {
                q: Some("x".repeat(301)),
                ..search()
            },
            "q,",
        ),
        (
            UserSearch {
                cursor,
                sort: Some(UserSort::Email),
                ..search()
            },
            "cursor:",
        ),
    ];
    for (search, part) in cases {
        expect_invalid(users.search(&call, &search).await, part);
    }
    let nul = UserSearch {
        q: some("a\0b"),
        ..search()
    };
    assert!(users.search(&call, &nul).await.is_err());
}

/// An estimate is at least what was counted.
#[tokio::test]
async fn large_numbers_are_estimated() {
    let api = Api::start(&[]).await;
    // Without the indexes of pieces, which would take most of the test's time.
    api.execute(
        "drop index auth.users_email_search_idx, auth.users_full_name_search_idx,
           auth.users_name_search_idx;
         insert into auth.users (instance_id, id, aud, role, email, created_at, updated_at)
         select '00000000-0000-0000-0000-000000000000', gen_random_uuid(), 'authenticated',
           'authenticated', 'user' || n || '@many.test', now() - n * interval '1 s', now()
         from generate_series(1, 50100) n;
         analyze auth.users",
    )
    .await;

    let all = page(&api, UserSearch::default()).await;
    assert!(all.is_estimate);
    let total = all.total.expect("a total");
    assert!((50_001..60_000).contains(&total), "{total}");
    let few = UserSearch {
        q: some("user5010"),
        ..UserSearch::default()
    };
    let few = page(&api, few).await;
    assert_eq!((few.total, few.is_estimate), (Some(2), false));
    let uncounted = UserSearch {
        count: Some(false),
        ..UserSearch::default()
    };
    assert_eq!(page(&api, uncounted).await.total, None);
}
