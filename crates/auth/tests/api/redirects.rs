//! Where people end, of several places that a request names (auth contract §1.4).

use serde_json::json;

use crate::support::Api;

const SITE: &str = "http://localhost:3000";

/// What a request may name, and where its link then ends.
struct Wishes {
    header: &'static str,
    query: &'static str,
    referer: &'static str,
    expected: &'static str,
}

async fn check(api: &Api, wishes: Wishes) {
    let query = url::form_urlencoded::Serializer::new(String::new())
        .append_pair("redirect_to", wishes.query)
        .finish();
    let path = format!("/recover?{query}");
    let mut call = api.post(&path, json!({ "email": "ann@mail.dev" }));
    for (name, value) in [("redirect_to", wishes.header), ("referer", wishes.referer)] {
        if !value.is_empty() {
            call = call.header(name, value);
        }
    }
    call.await.ok();

    let link = api.mail_to("ann@mail.dev").await.link();
    let (_, end) = link.split_once("&redirect_to=").expect("an end");
    assert_eq!(end, wishes.expected, "{link}");
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
        let wishes = Wishes {
            header,
            query,
            referer,
            expected,
        };
        check(&api, wishes).await;
    }
}
