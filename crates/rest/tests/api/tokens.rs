//! From a token to a role (rest contract §4.1).

use serde_json::{Value, json};

use crate::support::{Database, Requests, RestReply, TestApi, now, sign};

const INVALID: &str = "Bearer error=\"invalid_token\", error_description=";

fn part(json: &str) -> String {
    let alphabet = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let mut encoded = String::new();
    for chunk in json.as_bytes().chunks(3) {
        let bits = chunk
            .iter()
            .fold(0u32, |bits, byte| bits << 8 | u32::from(*byte));
        let bits = bits << (8 * (3 - chunk.len()));
        for place in 0..=chunk.len() {
            let index = bits >> (18 - 6 * place) & 63;
            encoded.push(char::from(alphabet[index as usize]));
        }
    }
    encoded
}

#[tokio::test]
async fn tokens_that_cannot_be_decoded_are_rejected() {
    let api = TestApi::library().await;
    let good = sign(&json!({ "role": "authenticated" }));
    let (signed, signature) = good.rsplit_once('.').expect("three parts");
    let (_, payload) = signed.split_once('.').expect("two parts");
    let headed = |header: &str| format!("{}.{payload}.{signature}", part(header));
    let key = "No suitable key or wrong key type";
    let crypto = "JWT cryptographic operation failed";
    let cases = [
        (
            String::new(),
            "Empty JWT is sent in Authorization header",
            None,
        ),
        ("a.b".to_owned(), "Expected 3 parts in JWT; got 2", None),
        (
            format!("{good}.x.y"),
            "Expected 3 parts in JWT; got 5",
            None,
        ),
        (
            format!("{signed}.AAAA"),
            key,
            Some("None of the keys was able to decode the JWT"),
        ),
        (
            headed(r#"{"alg":"HS256","kid":"x"}"#),
            key,
            Some("No suitable key was found to decode the JWT"),
        ),
        (
            headed(r#"{"alg":"none"}"#),
            "Wrong or unsupported encoding algorithm",
            Some("JWT is unsecured but expected 'alg' was not 'none'"),
        ),
        (format!("!.{payload}.{signature}"), crypto, None),
    ];

    for (token, message, details) in cases {
        let reply = api.get("/books").bearer(&token).await;

        let details = details.map_or(Value::Null, Value::from);
        reply.expect_error_with(401, "PGRST301", message, details, Value::Null);
        reply.expect_header("www-authenticate", &format!("{INVALID}\"{message}\""));
    }
}

#[tokio::test]
async fn claims_that_do_not_hold_are_rejected() {
    let settings = [("db-schemas", "library"), ("jwt-aud", "ours")];
    let api = TestApi::standalone(Database::shared().await, &settings).await;
    let cases = [
        (json!([]), "Parsing claims failed"),
        (json!({ "exp": now() - 40 }), "JWT expired"),
        (json!({ "nbf": now() + 40 }), "JWT not yet valid"),
        (json!({ "iat": now() + 40 }), "JWT issued at future"),
        (json!({ "aud": "theirs" }), "JWT not in audience"),
        (
            json!({ "aud": ["theirs", "others"] }),
            "JWT not in audience",
        ),
        (
            json!({ "exp": "soon" }),
            "The JWT 'exp' claim must be a number",
        ),
        (
            json!({ "nbf": "soon" }),
            "The JWT 'nbf' claim must be a number",
        ),
        (
            json!({ "iat": "soon" }),
            "The JWT 'iat' claim must be a number",
        ),
        (
            json!({ "aud": 1 }),
            "The JWT 'aud' claim must be a string or an array of strings",
        ),
        (json!({ "exp": now() - 40, "aud": "theirs" }), "JWT expired"),
    ];

    for (claims, message) in cases {
        let reply = api.get("/books").bearer(&sign(&claims)).await;

        reply.expect_error(401, "PGRST303", message);
        reply.expect_header("www-authenticate", &format!("{INVALID}\"{message}\""));
    }
}

#[tokio::test]
async fn claims_within_the_skew_hold() {
    let settings = [("db-schemas", "library"), ("jwt-aud", "ours")];
    let api = TestApi::standalone(Database::shared().await, &settings).await;

    for claims in [
        json!({ "exp": now() - 20, "nbf": now() + 20, "iat": now() + 20 }),
        json!({ "exp": null, "aud": null }),
        json!({ "aud": [] }),
        json!({ "aud": "ours" }),
        json!({ "aud": ["theirs", "ours"] }),
    ] {
        let reply = api.get("/books?limit=1").bearer(&sign(&claims)).await;
        assert_eq!(reply.status, 200, "{claims}: {reply:#?}");
    }
}

#[tokio::test]
async fn a_service_without_secret_or_anonymous_role_says_so() {
    let database = Database::shared().await;
    let no_secret = [("db-schemas", "library"), ("jwt-secret", "")];
    let no_secret = TestApi::standalone(database, &no_secret).await;
    let no_anonymous = [("db-schemas", "library"), ("db-anon-role", "")];
    let no_anonymous = TestApi::standalone(Database::shared().await, &no_anonymous).await;

    let with_token = no_secret.get("/books").role("anon").await;
    let without = no_secret.get("/books").await;
    let anonymous = no_anonymous.get("/books").await;
    let roleless = no_anonymous.get("/books").bearer(&sign(&json!({}))).await;

    with_token.expect_error(500, "PGRST300", "Server lacks JWT secret");
    assert_eq!(without.status, 200);
    for reply in [anonymous, roleless] {
        reply.expect_error(401, "PGRST302", "Anonymous access is disabled");
        reply.expect_header("www-authenticate", "Bearer");
    }
}

#[tokio::test]
async fn postgres_decides_which_roles_there_are() {
    let api = TestApi::library().await;
    let settings = [("db-schemas", "library"), ("db-anon-role", "postgres")];
    let anonymous = TestApi::standalone(Database::shared().await, &settings).await;

    let unknown = api.get("/books").role("nobody at all").await;
    let forbidden = api.get("/books").role("postgres").await;
    let as_anonymous = anonymous.get("/books").await;

    unknown.expect_error(401, "22023", "role \"nobody at all\" does not exist");
    forbidden.expect_error(403, "42501", "permission denied to set role \"postgres\"");
    as_anonymous
        .expect_error_code(401, "42501")
        .expect_header("www-authenticate", "Bearer");
}

#[tokio::test]
async fn other_schemes_carry_no_token() {
    let api = TestApi::library().await;
    let token = sign(&json!({ "role": "authenticated" }));
    let user = async |header: &str| {
        let reply = api
            .get("/rpc/context")
            .header("Authorization", header)
            .await;
        reply.json()["user"].as_str().map(str::to_owned)
    };

    assert_eq!(user("Basic dTpw").await.as_deref(), Some("anon"));
    for scheme in ["Bearer", "bearer", "BEARER"] {
        let header = format!("{scheme} {token}");
        assert_eq!(
            user(&header).await.as_deref(),
            Some("authenticated"),
            "{scheme}"
        );
    }
}

#[tokio::test]
async fn the_role_stands_where_the_settings_say() {
    let settings = [
        ("db-schemas", "library"),
        ("jwt-role-claim-key", "$.app.roles[1]"),
    ];
    let api = TestApi::standalone(Database::shared().await, &settings).await;
    let token = sign(&json!({ "app": { "roles": ["x", "authenticated"] }, "role": "postgres" }));

    let context = api.get("/rpc/context").bearer(&token).await.json();

    assert_eq!(context["user"], "authenticated");
    assert_eq!(
        context["claims"]["role"], "authenticated",
        "the effective role"
    );
}

#[tokio::test]
async fn errors_of_tokens_need_no_database() {
    // Checked before the path, the method and everything else.
    let api = TestApi::library().await;

    let reply = api.get("/no/such/path").bearer("a.b").await;

    reply.expect_error_code(401, "PGRST301");
}
