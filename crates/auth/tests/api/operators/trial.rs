//! Redirect targets and hooks that are tried out.

use plinth_project::{
    AdministrationError, HookTest, HookTestResult, RedirectRule, RedirectTest, RedirectTestResult,
};
use serde_json::json;

use super::{PASSWORD, expect_invalid};
use crate::support::{Api, PUBLIC_URL, Remote, Sql};

async fn redirect(api: &Api, url: &str) -> RedirectTestResult {
    let (users, call) = api.administration();
    let test = RedirectTest {
        url: url.to_owned(),
        patterns: None,
        site_url: None,
    };
    users.test_redirect(&call, &test).await.expect("a result")
}

#[tokio::test]
async fn the_rule_that_allows_a_redirect_is_named() {
    let patterns = "https://*.app.test/**,https://exact.test/a";
    let api = Api::start(&[
        ("auth.site_url", "https://site.test"),
        ("auth.additional_redirect_urls", patterns),
    ])
    .await;
    let check = async |url: &str, rule: Option<RedirectRule>, pattern: Option<&str>| {
        let result = redirect(&api, url).await;
        assert_eq!(result.is_allowed, rule.is_some(), "{url}");
        assert_eq!(result.target.is_some(), rule.is_some(), "{url}");
        assert_eq!(
            (result.rule, result.pattern.as_deref()),
            (rule, pattern),
            "{url}"
        );
    };

    check("https://site.test/any", Some(RedirectRule::SiteUrl), None).await;
    check(
        "http://127.0.0.1:5000/x",
        Some(RedirectRule::Loopback),
        None,
    )
    .await;
    check(
        &format!("{PUBLIC_URL}/sign-in"),
        Some(RedirectRule::AccountPages),
        None,
    )
    .await;
    let wide = Some("https://*.app.test/**");
    check("https://a.app.test/b/c", Some(RedirectRule::Pattern), wide).await;
    check(
        "https://exact.test/a",
        Some(RedirectRule::Pattern),
        Some("https://exact.test/a"),
    )
    .await;
    for url in [
        "https://evil.test",
        "javascript:alert(1)",
        "",
        "no url",
        "https://site.test\r\n",
    ] {
        check(url, None, None).await;
    }
}

#[tokio::test]
async fn unsaved_patterns_are_tried_out() {
    let api = Api::start(&[]).await;
    let (users, call) = api.administration();
    let test = |url: &str| RedirectTest {
        url: url.to_owned(),
        patterns: Some(vec!["[".to_owned(), "myapp://**".to_owned()]),
        site_url: Some("https://new.test".to_owned()),
    };

    let app = users
        .test_redirect(&call, &test("myapp://cb"))
        .await
        .expect("a result");
    assert_eq!(app.pattern.as_deref(), Some("myapp://**"));
    assert_eq!(app.malformed, ["["]);
    let site = users
        .test_redirect(&call, &test("https://new.test/x"))
        .await;
    assert_eq!(site.expect("a result").rule, Some(RedirectRule::SiteUrl));
    let bad = RedirectTest {
        site_url: Some("nonsense".to_owned()),
        ..test("x")
    };
    expect_invalid(users.test_redirect(&call, &bad).await, "site_url:");
    let many = RedirectTest {
        patterns: Some(vec![String::new(); 1001]),
        ..test("x")
    };
    expect_invalid(users.test_redirect(&call, &many).await, "patterns:");
}

async fn hook(api: &Api, test: HookTest) -> HookTestResult {
    let (users, call) = api.administration();
    users.test_hook(&call, &test).await.expect("a result")
}

fn of(name: &str, uri: Option<&str>) -> HookTest {
    HookTest {
        hook: name.to_owned(),
        uri: uri.map(str::to_owned),
        secrets: Some("v1,whsec_c2VjcmV0LW9uZQ==".to_owned()),
        payload: None,
    }
}

const FUNCTION: &str = "pg-functions://postgres/public/hook";

/// Creates `public.hook`, which notes its calls in a table.
async fn with_function(body: &str) -> Api {
    let api = Api::start(&[]).await;
    api.execute(&format!(
        "create table public.hook_calls (event jsonb);
         grant insert on public.hook_calls to supabase_auth_admin;
         create function public.hook(event jsonb) returns jsonb language plpgsql as $body$
         begin
           insert into public.hook_calls values (event);
           {body}
         end $body$;
         grant execute on function public.hook to supabase_auth_admin;"
    ))
    .await;
    api
}

#[tokio::test]
async fn a_function_is_called_and_its_writes_are_rolled_back() {
    let api = with_function("return jsonb_build_object('claims', event->'claims');").await;

    let result = hook(&api, of("custom_access_token", Some(FUNCTION))).await;

    assert!(result.is_ok, "{result:?}");
    assert_eq!(result.payload["metadata"]["name"], "customize-access-token");
    assert_eq!(result.payload["claims"]["email"], "ada@example.com");
    let response = result.response.expect("a response");
    assert_eq!(response["claims"], result.payload["claims"]);
    assert_eq!(api.count("select count(*) from public.hook_calls").await, 0);

    let own = HookTest {
        payload: json!({ "claims": {} }).as_object().cloned(),
        ..of("custom_access_token", Some(FUNCTION))
    };
    let incomplete = hook(&api, own).await;
    let error = incomplete.error.expect("an error");
    assert!(error.message.contains("sub is required"), "{error:?}");
}

#[tokio::test]
async fn every_hook_has_a_sample() {
    let api = with_function("return '{}';").await;
    for name in [
        "send_email",
        "send_sms",
        "mfa_verification_attempt",
        "password_verification_attempt",
        "before_user_created",
        "after_user_created",
    ] {
        let result = hook(&api, of(name, Some(FUNCTION))).await;
        assert!(result.is_ok, "{name}: {result:?}");
        assert!(result.payload["metadata"]["uuid"].is_string());
    }
}

#[tokio::test]
async fn an_http_hook_is_called_signed() {
    let api = Api::start(&[]).await;
    let remote = Remote::start(200, r#"{"decision":"reject","message":"no"}"#).await;
    let uri = format!("http://127.0.0.1:{}/hook", remote.port());

    let result = hook(&api, of("password_verification_attempt", Some(&uri))).await;

    assert_eq!(
        result.response,
        Some(json!({ "decision": "reject", "message": "no" }))
    );
    let received = remote.received();
    assert_eq!(received.len(), 1);
    assert!(received[0].header("webhook-signature").is_some());
}

#[tokio::test]
async fn errors_are_results_and_mistakes_are_rejected() {
    let api = with_function("raise exception 'broken %', 7;").await;
    let failed = hook(&api, of("send_email", Some(FUNCTION))).await;
    let error = failed.error.expect("an error");
    assert_eq!(error.status, 500);
    assert!(format!("{error:?}").contains("broken 7"), "{error:?}");
    let missing = hook(
        &api,
        of("send_email", Some("pg-functions://postgres/public/none")),
    )
    .await;
    assert!(!missing.is_ok);

    let (users, call) = api.administration();
    let off = users.test_hook(&call, &of("send_email", None)).await;
    assert!(matches!(off, Err(AdministrationError::Conflict(_))));
    expect_invalid(users.test_hook(&call, &of("nothing", None)).await, "hook:");
    for uri in [
        "",
        "ftp://a.test",
        "pg-functions://postgres/public/a\"b",
        "http://a.test/x",
    ] {
        let test = of("send_email", Some(uri));
        expect_invalid(users.test_hook(&call, &test).await, "uri:");
    }
}

#[tokio::test]
async fn the_last_calls_are_kept_without_their_payloads() {
    let uri = ("auth.hook.before_user_created.uri", FUNCTION);
    let api = Api::start(&[("auth.hook.before_user_created.enabled", "true"), uri]).await;
    api.execute(
        "create function public.hook(event jsonb) returns jsonb language sql as $$ select '{}'::jsonb $$;
         grant execute on function public.hook to supabase_auth_admin",
    )
    .await;
    api.sign_up("ann@mail.dev", PASSWORD).await;
    hook(
        &api,
        of("send_sms", Some("pg-functions://postgres/public/none")),
    )
    .await;

    let (users, call) = api.administration();
    let calls = users.hook_calls(&call).await.expect("a list").calls;

    let seen: Vec<(&str, &str, bool)> = calls
        .iter()
        .map(|call| {
            (
                call.hook.as_str(),
                call.target.as_str(),
                call.error.is_some(),
            )
        })
        .collect();
    let expected = [
        ("send-sms", "public.none", true),
        ("before-user-created", "public.hook", false),
    ];
    assert_eq!(seen, expected);
    assert!(!json!(calls).to_string().contains("ann@mail.dev"));
}
