//! Client contract §1.14.

use plinth_client::auth::{LinkType, ProviderType, Scope};
use plinth_client::{AdminClient, AuthError, Http};
use serde_json::json;

use crate::support::{Bench, Reply};

const ID: &str = "0b30557a-9fc4-4e90-a335-87da2c7ec113";

fn admin(bench: &Bench) -> AdminClient {
    let http = Http::with_service(bench.server.clone()).with_clock(bench.clock.clone());
    AdminClient::with_http("https://abc.example.co", "service-key", http).expect("a client")
}

#[tokio::test]
async fn s79_users_are_made_read_changed_and_removed() {
    let bench = Bench::new();
    let user = || Reply::json(200, json!({ "id": ID }));
    let one = format!("/auth/v1/admin/users/{ID}");
    bench.server.on("POST /auth/v1/admin/users", [user()]);
    bench.server.on(&format!("GET {one}"), [user()]);
    bench.server.on(&format!("PUT {one}"), [user()]);
    bench
        .server
        .on(&format!("DELETE {one}"), [Reply::json(200, json!({}))]);
    let users = admin(&bench).users();

    let created = users
        .create()
        .email("a@b.c")
        .password("p")
        .email_confirmed();
    let created = created
        .app_metadata(&json!({ "plan": "x" }))
        .send()
        .await
        .unwrap();
    assert_eq!(created.id(), ID);
    let asked = bench.server.last();
    assert_eq!(asked.header("apikey"), Some("service-key"));
    assert_eq!(asked.header("authorization"), Some("Bearer service-key"));
    assert_eq!(
        asked.json(),
        json!({
            "email": "a@b.c",
            "password": "p",
            "email_confirm": true,
            "app_metadata": { "plan": "x" },
        })
    );

    users.get(ID).await.unwrap();
    users.update(ID).ban_duration("24h").send().await.unwrap();
    assert_eq!(bench.server.last().json(), json!({ "ban_duration": "24h" }));
    users.delete(ID).send().await.unwrap();
    assert_eq!(
        bench.server.last().json(),
        json!({ "should_soft_delete": false })
    );
    users.delete(ID).soft().send().await.unwrap();
    assert_eq!(
        bench.server.last().json(),
        json!({ "should_soft_delete": true })
    );
}

#[tokio::test]
async fn s79_ids_that_are_none_are_never_sent() {
    let bench = Bench::new();
    let admin = admin(&bench);
    let id = "../../logout";

    assert!(matches!(
        admin.users().get(id).await,
        Err(AuthError::InvalidInput(_))
    ));
    assert!(admin.users().update(id).send().await.is_err());
    assert!(admin.users().delete(id).send().await.is_err());
    assert!(admin.user(id).factors().list().await.is_err());
    assert!(admin.user(id).passkeys().list().await.is_err());

    assert!(bench.server.asked().is_empty());
}

#[tokio::test]
async fn s81_pages_say_how_many_there_are() {
    let bench = Bench::new();
    let page = Reply::json(
        200,
        json!({ "users": [{ "id": ID }], "aud": "authenticated" }),
    )
    .header("x-total-count", "620")
    .header(
        "link",
        r#"</x?page=13&per_page=50>; rel="next", </x?page=62>; rel="last""#,
    );
    bench.server.on("GET /auth/v1/admin/users", [page]);

    let page = admin(&bench)
        .users()
        .list()
        .page(12)
        .per_page(10)
        .send()
        .await
        .unwrap();

    assert_eq!(bench.server.last().query, "page=12&per_page=10");
    assert_eq!((page.users.len(), page.total), (1, Some(620)));
    assert_eq!((page.next_page, page.last_page), (Some(13), Some(62)));
}

#[tokio::test]
async fn people_are_invited_and_links_are_made() {
    let bench = Bench::new();
    bench.server.on(
        "POST /auth/v1/invite",
        [Reply::json(200, json!({ "id": ID }))],
    );
    let link = json!({
        "id": ID,
        "action_link": "https://x.test/verify",
        "email_otp": "123456",
        "hashed_token": "h",
        "redirect_to": "app:/",
        "verification_type": "recovery",
    });
    bench.server.on(
        "POST /auth/v1/admin/generate_link",
        [Reply::json(200, link)],
    );
    let users = admin(&bench).users();

    users
        .invite("a@b.c")
        .data(&json!({ "n": 1 }))
        .redirect_to("app:/")
        .send()
        .await
        .unwrap();
    let asked = bench.server.last();
    assert_eq!(asked.query, "redirect_to=app%3A%2F");
    assert_eq!(
        asked.json(),
        json!({ "email": "a@b.c", "data": { "n": 1 } })
    );

    let email = "a@b.c".to_owned();
    let link = users
        .generate_link(LinkType::Recovery { email })
        .redirect_to("app:/")
        .send()
        .await;
    let link = link.unwrap();
    assert_eq!(
        (link.email_otp.as_str(), link.user.as_ref().unwrap().id()),
        ("123456", ID)
    );
    assert!(!format!("{link:?}").contains("123456"));
    assert_eq!(
        bench.server.last().json(),
        json!({ "type": "recovery", "email": "a@b.c", "redirect_to": "app:/" })
    );
}

#[tokio::test]
async fn s80_factors_and_passkeys_are_listed_and_removed() {
    let bench = Bench::new();
    let path = format!("/auth/v1/admin/users/{ID}");
    bench.server.on(
        &format!("GET {path}/factors"),
        [Reply::json(200, json!([{ "id": "f" }]))],
    );
    bench.server.on(
        &format!("DELETE {path}/factors/f"),
        [Reply::json(200, json!({}))],
    );
    bench.server.on(
        &format!("GET {path}/passkeys"),
        [Reply::json(200, json!([{ "id": "p" }]))],
    );
    bench
        .server
        .on(&format!("DELETE {path}/passkeys/p"), [Reply::text(204, "")]);
    let admin = admin(&bench);

    assert_eq!(admin.user(ID).factors().list().await.unwrap()[0].id, "f");
    admin.user(ID).factors().delete("f").await.unwrap();
    assert_eq!(admin.user(ID).passkeys().list().await.unwrap()[0].id, "p");
    admin.user(ID).passkeys().delete("p").await.unwrap();
}

#[tokio::test]
async fn s80_applications_are_made_read_changed_and_removed() {
    let bench = Bench::new();
    let all = "/auth/v1/admin/oauth/clients";
    let one = format!("{all}/{ID}");
    let client = || json!({ "client_id": ID, "redirect_uris": ["https://a.example/"] });
    let made = json!({ "client_id": ID, "client_secret": "hush" });
    let page = Reply::json(200, json!({ "clients": [client()] }))
        .header("x-total-count", "31")
        .header(
            "link",
            r#"</x?page=3>; rel="next", </x?page=16>; rel="last""#,
        );
    bench
        .server
        .on(&format!("POST {all}"), [Reply::json(201, made.clone())]);
    bench.server.on(&format!("GET {all}"), [page]);
    bench
        .server
        .on(&format!("GET {one}"), [Reply::json(200, client())]);
    bench
        .server
        .on(&format!("PUT {one}"), [Reply::json(200, client())]);
    bench
        .server
        .on(&format!("DELETE {one}"), [Reply::text(204, "")]);
    bench.server.on(
        &format!("POST {one}/regenerate_secret"),
        [Reply::json(200, made)],
    );
    let clients = admin(&bench).oauth_clients();

    let create = clients
        .create(["https://a.example/"])
        .name("An App")
        .public();
    let made = create.send().await.unwrap();
    assert_eq!(made.client_secret.as_deref(), Some("hush"));
    assert_eq!(
        bench.server.last().json(),
        json!({
            "redirect_uris": ["https://a.example/"],
            "client_name": "An App",
            "token_endpoint_auth_method": "none",
        })
    );

    let page = clients.list().page(2).per_page(2).send().await.unwrap();
    assert_eq!(bench.server.last().query, "page=2&per_page=2");
    assert_eq!((page.clients.len(), page.total), (1, Some(31)));
    assert_eq!((page.next_page, page.last_page), (Some(3), Some(16)));
    assert_eq!(
        clients.get(ID).await.unwrap().redirect_uris,
        ["https://a.example/"]
    );
    clients
        .update(ID)
        .logo_uri("https://a.example/i.png")
        .send()
        .await
        .unwrap();
    assert_eq!(
        bench.server.last().json(),
        json!({ "logo_uri": "https://a.example/i.png" })
    );
    let renewed = clients.regenerate_secret(ID).await.unwrap();
    assert_eq!(renewed.client_secret.as_deref(), Some("hush"));
    clients.delete(ID).await.unwrap();

    let sent = bench.server.asked().len();
    assert!(clients.get("../users").await.is_err());
    assert!(clients.update("x").send().await.is_err());
    assert_eq!(bench.server.asked().len(), sent);
}

#[tokio::test]
async fn s80_providers_are_made_read_changed_and_removed() {
    let bench = Bench::new();
    let all = "/auth/v1/admin/custom-providers";
    let one = format!("{all}/custom%3Aours");
    let provider = || json!({ "identifier": "custom:ours", "enabled": true });
    let listed = json!({ "providers": [provider()] });
    bench
        .server
        .on(&format!("POST {all}"), [Reply::json(201, provider())]);
    bench
        .server
        .on(&format!("GET {all}"), [Reply::json(200, listed)]);
    bench
        .server
        .on(&format!("GET {one}"), [Reply::json(200, provider())]);
    bench
        .server
        .on(&format!("PUT {one}"), [Reply::json(200, provider())]);
    bench
        .server
        .on(&format!("DELETE {one}"), [Reply::text(204, "")]);
    let providers = admin(&bench).providers();

    let create = providers
        .create(ProviderType::Oidc, "custom:ours")
        .name("Ours");
    let create = create
        .issuer("https://id.example")
        .client_id("us")
        .client_secret("hush");
    let create = create
        .scopes(["openid", "email"])
        .attribute_mapping(&json!({ "name": "nick" }));
    assert!(create.send().await.unwrap().enabled);
    assert_eq!(
        bench.server.last().json(),
        json!({
            "provider_type": "oidc",
            "identifier": "custom:ours",
            "name": "Ours",
            "issuer": "https://id.example",
            "client_id": "us",
            "client_secret": "hush",
            "scopes": ["openid", "email"],
            "attribute_mapping": { "name": "nick" },
        })
    );

    assert_eq!(providers.list().await.unwrap().len(), 1);
    assert_eq!(bench.server.last().query, "");
    providers.list_of(ProviderType::Oauth2).await.unwrap();
    assert_eq!(bench.server.last().query, "type=oauth2");
    assert_eq!(
        providers.get("custom:ours").await.unwrap().identifier,
        "custom:ours"
    );
    providers
        .update("custom:ours")
        .enabled(false)
        .send()
        .await
        .unwrap();
    assert_eq!(bench.server.last().json(), json!({ "enabled": false }));
    providers.delete("custom:ours").await.unwrap();
}

#[tokio::test]
async fn sessions_are_ended_by_their_token() {
    let bench = Bench::new();
    bench
        .server
        .on("POST /auth/v1/logout", [Reply::text(204, "")]);

    admin(&bench)
        .sign_out("their-token", Scope::Others)
        .await
        .unwrap();

    let asked = bench.server.last();
    assert_eq!(asked.query, "scope=others");
    assert_eq!(asked.header("authorization"), Some("Bearer their-token"));
}

#[tokio::test]
async fn r1_administration_takes_headers_from_its_handle() {
    let bench = Bench::new();
    let route = format!("GET /auth/v1/admin/users/{ID}");
    bench
        .server
        .on(&route, [Reply::json(200, json!({ "id": ID }))]);
    let list = |what: &str, items| bench.server.on(&format!("{route}/{what}"), [items]);
    list("factors", Reply::json(200, json!([])));
    list("passkeys", Reply::json(200, json!([])));
    let (admin, name) = (admin(&bench), "x-request-id");

    let handle = admin.header(name, "1");
    handle.users().get(ID).await.unwrap();
    admin.users().header(name, "2").get(ID).await.unwrap();
    let user = admin.user(ID).header(name, "3");
    user.clone().factors().list().await.unwrap();
    let passkeys = user.passkeys().header(name, "4");
    passkeys.list().await.unwrap();

    let asked = bench.server.asked();
    let ids: Vec<_> = asked
        .iter()
        .filter_map(|asked| asked.header(name))
        .collect();
    assert_eq!(ids, ["1", "2", "3", "4"]);
}
