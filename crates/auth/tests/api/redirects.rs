//! Which of several redirect targets is used (auth contract §1.4).

use serde_json::json;

use crate::support::{Api, AuthCall, AuthReply, PUBLIC_URL, Requests};

const SITE: &str = "http://localhost:3000";

/// The targets of a request, and the expected one.
struct Targets {
    header: &'static str,
    query: &'static str,
    referer: &'static str,
    expected: &'static str,
}

async fn check(api: &Api, targets: Targets) {
    let query = url::form_urlencoded::Serializer::new(String::new())
        .append_pair("redirect_to", targets.query)
        .finish();
    let path = format!("/recover?{query}");
    let mut call = api.post(&path, json!({ "email": "ann@mail.dev" }));
    for (name, value) in [
        ("redirect_to", targets.header),
        ("referer", targets.referer),
    ] {
        if !value.is_empty() {
            call = call.header(name, value);
        }
    }
    call.await.ok();

    let link = api.mail_to("ann@mail.dev").await.link();
    let (_, end) = link.split_once("&redirect_to=").expect("an end");
    assert_eq!(end, targets.expected, "{link}");
}

#[tokio::test]
async fn what_the_parser_makes_of_the_target_is_what_is_sent() {
    let settings = [
        ("auth.additional_redirect_urls", "https://app.test/in/**"),
        ("auth.email.max_frequency", "0s"),
    ];
    let api = Api::start(&settings).await;
    api.sign_up("ann@mail.dev", "correct horse").await;

    for (query, expected) in [
        ("https://app.test/in/ä b", "https://app.test/in/%C3%A4%20b"),
        ("https://app.test/in/x/../y", "https://app.test/in/y"),
        ("https://app.test/in/../out", SITE),
        (
            "http://localhost:3000\\@evil.test",
            "http://localhost:3000/@evil.test",
        ),
    ] {
        let query = url::form_urlencoded::byte_serialize(query.as_bytes()).collect::<String>();
        let path = format!("/recover?redirect_to={query}");
        let body = json!({ "email": "ann@mail.dev" });
        api.post(&path, body).await.ok();
        let link = api.mail_to("ann@mail.dev").await.link();

        let reply = api.get(&link).without_key().await;

        assert_eq!(reply.status, 303, "{reply:?}");
        let (target, _) = reply.location().split_once('#').expect("tokens");
        assert_eq!(target, expected, "{query}");
    }
}

#[tokio::test]
async fn the_first_that_is_allowed_wins_header_then_query_then_referer() {
    let settings = [
        ("auth.additional_redirect_urls", "https://app.test/**"),
        ("auth.email.max_frequency", "0s"),
    ];
    let api = Api::start(&settings).await;
    api.sign_up("ann@mail.dev", "correct horse").await;
    let (header, query, referer) = (
        "https://app.test/header",
        "https://app.test/query",
        "https://app.test/referer",
    );
    let evil = "https://evil.test/";

    for (header, query, referer, expected) in [
        (header, query, referer, header),
        (evil, query, referer, query),
        (evil, evil, referer, referer),
        (evil, evil, evil, SITE),
        ("", query, referer, query),
        ("", evil, referer, referer),
        ("", "", referer, referer),
        ("no URL", "", "", SITE),
        ("", "", "", SITE),
    ] {
        let targets = Targets {
            header,
            query,
            referer,
            expected,
        };
        check(&api, targets).await;
    }
}

/// A redirect carries tokens, and the project there shares this one's origin.
#[tokio::test]
async fn no_pattern_leads_into_another_project_of_the_same_host() {
    let own_host = format!("{PUBLIC_URL}/**");
    let settings = [
        ("auth.additional_redirect_urls", own_host.as_str()),
        ("auth.email.max_frequency", "0s"),
    ];
    let api = Api::start(&settings).await;
    api.sign_up("ann@mail.dev", "correct horse").await;

    for (path, is_own) in [
        ("/functions/v1/x", true),
        ("/p/other/functions/v1/x", false),
        ("/%70/other/functions/v1/x", false),
        ("/functions/../p/other", false),
        ("/console", false),
    ] {
        let target = format!("{PUBLIC_URL}{path}");
        let expected = if is_own { &target } else { SITE };
        let query = url::form_urlencoded::byte_serialize(target.as_bytes()).collect::<String>();
        let body = json!({ "email": "ann@mail.dev" });
        api.post(&format!("/recover?redirect_to={query}"), body)
            .await
            .ok();
        let link = api.mail_to("ann@mail.dev").await.link();
        let (_, end) = link.split_once("&redirect_to=").expect("an end");
        assert_eq!(end, expected, "{link}");
        // Links can be written by hand, too.
        let (start, _) = link.split_once("&redirect_to=").expect("a start");
        let by_hand = format!("{start}&redirect_to={query}");

        let reply = api.get(&by_hand).without_key().await;

        assert_eq!(reply.status, 303, "{reply:?}");
        let (location, _) = reply.location().split_once('#').expect("tokens");
        assert_eq!(location, expected, "{by_hand}");
    }
}
