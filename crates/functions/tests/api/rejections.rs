//! Requests that reach no worker: names, methods, credentials, sizes (functions contract §1, §4, §5).

use http::Method;
use plinth_project::ProjectKeys;
use plinth_token::credential_hash;
use serde_json::json;

use crate::support::{
    ANN, PUBLISHABLE_KEY, SECRET_KEY, TestFunctions, TestOptions, now, sign, user_token,
};

const HELLO: &str = "Deno.serve((req) => new Response(req.method));";

#[tokio::test]
async fn what_is_no_function_is_not_found() {
    let functions = TestFunctions::with(
        &[
            ("hello/index.ts", HELLO),
            ("off/index.ts", HELLO),
            ("_shared/index.ts", HELLO),
            ("empty/readme.md", ""),
        ],
        &[("functions.off.enabled", "false")],
    )
    .await;

    for path in [
        "",
        "missing",
        "off",
        "_shared",
        "empty",
        "hello%20x",
        "..%2fhello",
        "missing/hello",
    ] {
        let response = functions.get(path).send().await.unwrap();
        assert_eq!(response.status(), 404, "{path}");
        let headers = response.headers();
        assert_eq!(headers["sb-error-code"], "NOT_FOUND");
        assert_eq!(headers["access-control-allow-origin"], "*");
        assert_eq!(
            headers["access-control-allow-headers"],
            "authorization, x-client-info, apikey"
        );
        assert_eq!(headers["access-control-expose-headers"], "sb-error-code");
        let body: serde_json::Value = response.json().await.unwrap();
        assert_eq!(
            body,
            json!({ "code": "NOT_FOUND", "message": "Requested function was not found" })
        );
    }
    functions.set(&[("edge_runtime.enabled", "false")]);
    assert_eq!(functions.failure("hello").await.0, 404);
}

#[tokio::test]
async fn methods_of_the_web_pass_and_others_do_not() {
    let functions = TestFunctions::of(HELLO).await;
    let call = async |method: Method| {
        let request = functions.client.request(method, functions.url("hello"));
        request
            .header("apikey", PUBLISHABLE_KEY)
            .send()
            .await
            .unwrap()
    };

    for method in ["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"] {
        let response = call(method.parse().unwrap()).await;
        assert_eq!(response.text().await.unwrap(), method);
    }
    assert_eq!(call(Method::HEAD).await.status(), 200);
    let rejected = call("PROPFIND".parse().unwrap()).await;
    assert_eq!(rejected.status(), 405);
    assert_eq!(rejected.headers()["access-control-allow-origin"], "*");
}

#[tokio::test]
async fn any_credential_of_the_project_passes() {
    let functions = TestFunctions::of(HELLO).await;
    let call = async |headers: &[(&str, String)]| {
        let mut request = functions.client.get(functions.url("hello"));
        for (name, value) in headers {
            request = request.header(*name, value);
        }
        request.send().await.unwrap().status().as_u16()
    };
    let bearer = |text: &str| ("authorization", format!("Bearer {text}"));

    assert_eq!(call(&[bearer(&user_token(ANN))]).await, 200);
    assert_eq!(
        call(&[("authorization", format!("bEARER {}", user_token(ANN)))]).await,
        200
    );
    assert_eq!(call(&[bearer(PUBLISHABLE_KEY)]).await, 200);
    assert_eq!(call(&[bearer(SECRET_KEY)]).await, 200);
    assert_eq!(call(&[("apikey", PUBLISHABLE_KEY.to_owned())]).await, 200);
    assert_eq!(call(&[("apikey", user_token(ANN))]).await, 200);
    // A bad token is not made good by a key.
    assert_eq!(
        call(&[bearer("a.b.c"), ("apikey", PUBLISHABLE_KEY.to_owned())]).await,
        401
    );
}

#[tokio::test]
async fn an_error_has_its_reason_under_every_name_that_clients_look_for() {
    let functions = TestFunctions::of("throw new Error('never started');").await;
    let expired = sign(&json!({ "role": "anon", "exp": now() - 3600 }));
    let forged = format!("{}x", user_token(ANN));
    let legacy = sign(&json!({ "role": "anon", "iss": "supabase" }));
    let mut keys = ProjectKeys::clone(&functions.project.keys());
    keys.disabled_legacy = vec![credential_hash(&legacy)];
    functions.project.replace_keys(keys);
    let bearer = |text: &str| vec![("authorization", format!("Bearer {text}"))];
    let api_key = |text: &str| vec![("apikey", text.to_owned())];
    let cases = [
        (
            vec![],
            "UNAUTHORIZED_NO_AUTH_HEADER",
            "Missing authorization header",
        ),
        (
            bearer("nonsense"),
            "UNAUTHORIZED_INVALID_JWT_FORMAT",
            "Invalid JWT format",
        ),
        (
            vec![("authorization", "Basic YTpi".to_owned())],
            "UNAUTHORIZED_INVALID_JWT_FORMAT",
            "Invalid JWT format",
        ),
        (
            bearer("sb_secret_unknown"),
            "UNAUTHORIZED_INVALID_JWT_FORMAT",
            "Invalid API key",
        ),
        (bearer(&expired), "UNAUTHORIZED_LEGACY_JWT", "Invalid JWT"),
        (bearer(&forged), "UNAUTHORIZED_LEGACY_JWT", "Invalid JWT"),
        (
            bearer("eyJhbGciOiJFUzI1NiJ9.e30.AAAA"),
            "UNAUTHORIZED_ASYMMETRIC_JWT",
            "Invalid JWT",
        ),
        (
            bearer("eyJhbGciOiJub25lIn0.e30.AAAA"),
            "UNAUTHORIZED_UNSUPPORTED_TOKEN_ALGORITHM",
            "Unsupported JWT algorithm none",
        ),
        // A wrong key has the text that it has in all services, whatever it looks like.
        (
            api_key("sb_publishable_unknown"),
            "UNAUTHORIZED_INVALID_JWT_FORMAT",
            "Invalid API key",
        ),
        (
            api_key("nonsense"),
            "UNAUTHORIZED_INVALID_JWT_FORMAT",
            "Invalid API key",
        ),
        (
            api_key(&expired),
            "UNAUTHORIZED_INVALID_JWT_FORMAT",
            "Invalid API key",
        ),
        (
            api_key(&forged),
            "UNAUTHORIZED_INVALID_JWT_FORMAT",
            "Invalid API key",
        ),
        (
            api_key(&legacy),
            "UNAUTHORIZED_LEGACY_JWT",
            "Legacy API keys are disabled",
        ),
        (
            bearer(&legacy),
            "UNAUTHORIZED_LEGACY_JWT",
            "Legacy API keys are disabled",
        ),
    ];

    for (headers, code, message) in cases {
        let mut request = functions.client.get(functions.url("hello"));
        for (name, value) in &headers {
            request = request.header(*name, value);
        }
        let response = request.send().await.unwrap();
        assert_eq!(response.status(), 401, "{headers:?}");
        assert_eq!(response.headers()["sb-error-code"], code, "{headers:?}");
        assert_eq!(response.headers()["access-control-allow-origin"], "*");
        assert!(!response.headers().contains_key("x-relay-error"));
        let body: serde_json::Value = response.json().await.unwrap();
        assert_eq!(
            body,
            json!({ "code": code, "message": message, "msg": message }),
            "{headers:?}"
        );
    }
    assert!(functions.processes().is_empty(), "no process was started");
}

#[tokio::test]
async fn errors_are_the_relays_where_that_is_requested() {
    let settings = [("plinth.functions.relay_error_header", "true")];
    let functions = TestFunctions::with(&[("hello/index.ts", HELLO)], &settings).await;

    let rejected = functions
        .client
        .get(functions.url("hello"))
        .send()
        .await
        .unwrap();
    assert_eq!(rejected.headers()["x-relay-error"], "true");
    let missing = functions
        .client
        .get(functions.url("missing"))
        .send()
        .await
        .unwrap();
    assert!(!missing.headers().contains_key("x-relay-error"));
}

#[tokio::test]
async fn options_needs_no_credential_and_neither_does_a_function_that_says_so() {
    let functions = TestFunctions::with(
        &[("hello/index.ts", HELLO), ("open/index.ts", HELLO)],
        &[("functions.open.verify_jwt", "false")],
    )
    .await;

    let preflight = functions
        .client
        .request(Method::OPTIONS, functions.url("hello"));
    assert_eq!(
        preflight.send().await.unwrap().text().await.unwrap(),
        "OPTIONS"
    );
    let open = functions.client.get(functions.url("open"));
    assert_eq!(open.send().await.unwrap().text().await.unwrap(), "GET");
    // A preflight to what does not start can be read, too.
    functions.write("broken/index.ts", "syntax error here");
    functions.set(&[("functions.broken.verify_jwt", "true")]);
    let broken = functions
        .client
        .request(Method::OPTIONS, functions.url("broken"))
        .send()
        .await
        .unwrap();
    assert_eq!(
        (
            broken.status().as_u16(),
            broken.headers()["access-control-allow-origin"].as_bytes()
        ),
        (503, &b"*"[..])
    );
}

#[tokio::test]
async fn a_body_that_says_it_is_too_large_is_not_read() {
    let settings = [("plinth.functions.max_body", "1KiB")];
    let functions = TestFunctions::with(&[("hello/index.ts", HELLO)], &settings).await;

    let rejected = functions
        .post("hello")
        .body(vec![0; 1025])
        .send()
        .await
        .unwrap();
    assert_eq!(rejected.status(), 413);
    assert_eq!(rejected.headers()["sb-error-code"], "PAYLOAD_TOO_LARGE");
    let taken = functions
        .post("hello")
        .body(vec![0; 1024])
        .send()
        .await
        .unwrap();
    assert_eq!(taken.status(), 200);
}

#[tokio::test]
async fn without_the_runtime_functions_say_what_is_missing() {
    let functions = TestFunctions::start(TestOptions {
        files: &[("hello/index.ts", HELLO)],
        has_no_deno: true,
        ..TestOptions::default()
    })
    .await;

    let (status, body) = functions.failure("hello").await;

    assert_eq!((status, &body["code"]), (503, &json!("BOOT_ERROR")));
    let message = body["message"].as_str().unwrap();
    assert!(
        message.contains("Deno, which runs functions, is not installed"),
        "{message}"
    );
    assert_eq!(functions.failure("missing").await.0, 404);
}
