//! The Rust in `docs/rust-client.md` and `docs/sessions.md`, compiled. Every block of those pages
//! stands here line by line, inside what it takes for granted; the test below finds them.

#![allow(
    dead_code,
    unused_imports,
    unused_mut,
    unused_variables,
    clippy::redundant_closure,
    clippy::unwrap_used,
    reason = "nothing here runs, except the test"
)]

mod client {
    use std::error::Error;

    use futures_util::{StreamExt, TryStreamExt};
    use plinth_client::auth::{
        Auth, EmailOtp, ErrorCode, Otp, PasswordRequest, Provider, SignOutReason,
    };
    use plinth_client::rest::Count;
    use plinth_client::{AuthError, AuthEvent, Client, ManualClock, Session, User};
    use serde_json::{Value, json};

    type Done = Result<(), Box<dyn Error>>;

    #[rustfmt::skip]
    fn clients() -> Done {
        use plinth_client::{Client, FileStore};

        let client = Client::from_env()?;                         // SUPABASE_URL, SUPABASE_PUBLISHABLE_KEY
        let client = Client::new("http://localhost:54321", "sb_publishable_…")?;
        let client = Client::builder("https://abc.example.co", "sb_publishable_…")
            .session_store(FileStore::new("/home/ada/.config/my-tool/session"))
            .timeout(std::time::Duration::from_secs(20))
            .build()?;
        Ok(())
    }

    #[rustfmt::skip]
    fn keyring() -> Done {
        use plinth_client::KeyringStore;

        let client = Client::builder("https://abc.example.co", "sb_publishable_…")
            .session_store(KeyringStore::new("com.example.my-tool"))
            .build()?;
        Ok(())
    }

    fn token_of_this_request() -> String {
        String::new()
    }

    #[rustfmt::skip]
    fn third_party(url: &str, key: &str) -> Done {
        let client = Client::builder(url, key).access_token(|| async { Some(token_of_this_request()) })?;
        Ok(())
    }

    fn open_browser(url: &str) {}

    #[rustfmt::skip]
    async fn signing_in(
        client: Client,
        (email, token): (String, String),
        url_that_the_browser_came_back_to: String,
    ) -> Done {
        let auth = client.auth();

        auth.sign_up().email("ada@example.com").password("…").send().await?;
        auth.sign_in_with_password().email("ada@example.com").password("…").send().await?;

        auth.sign_in_with_otp().email("ada@example.com").send().await?;          // a link and a code
        auth.verify_otp(Otp::Email { email, token, kind: EmailOtp::Email }).send().await?;

        let start = auth.sign_in_with_oauth(Provider::Github).redirect_to("http://127.0.0.1:7777/").build().await?;
        open_browser(&start.url);
        auth.session_from_redirect(&url_that_the_browser_came_back_to).await?;   // only codes, never tokens
        Ok(())
    }

    #[rustfmt::skip]
    async fn limits(auth: &Auth) -> Done {
        use std::time::Duration;

        let sign_in = auth.sign_in_with_password().email("ada@example.com").password("…");
        sign_in.timeout(Duration::from_secs(5)).send().await?;
        let user = auth.timeout(Duration::from_secs(5)).header("x-request-id", "7").user().await?;
        Ok(())
    }

    fn show_sign_in(reason: SignOutReason) {}
    fn ask_for_a_new_password() {}
    fn show_account(session: Option<Session>) {}

    #[rustfmt::skip]
    async fn events(auth: &Auth) {
        let mut events = auth.events();
        while let Some((event, session)) = events.next().await {
            match event {
                AuthEvent::SignedOut { reason } => show_sign_in(reason),
                AuthEvent::PasswordRecovery => ask_for_a_new_password(),
                _ => show_account(session),
            }
        }
    }

    #[rustfmt::skip]
    async fn second_factors(auth: &Auth, code_from_the_user: String) -> Done {
        if auth.mfa().assurance_level().await?.needs_second_factor() {
            let factor = auth.mfa().factors().await?.totp[0].id.clone();
            auth.mfa().challenge_and_verify(&factor, &code_from_the_user).await?;
        }
        Ok(())
    }

    #[derive(serde::Deserialize)]
    struct Author {
        name: String,
    }

    #[rustfmt::skip]
    async fn database(client: Client, new_todo: Value, todo: Value) -> Done {
        #[derive(serde::Deserialize)]
        struct Todo { id: i64, title: String, author: Author }

        let todos = client
            .from("todos")
            .select("id, title, author(name)")
            .eq("is_done", false)
            .in_("priority", ["high", "urgent"])
            .order("created_at").desc()
            .range(0..=19)
            .count(Count::Exact)
            .execute_as::<Vec<Todo>>()
            .await?;
        println!("{} of {:?}", todos.data.len(), todos.count);

        client.from("todos").insert(&new_todo).returning("*").single().execute_as::<Todo>().await?;
        client.from("todos").upsert(&todo).on_conflict("id").execute().await?;
        client.from("todos").update(&json!({ "is_done": true })).eq("id", 7).execute().await?;
        client.from("todos").delete().eq("id", 7).execute().await?;
        client.rpc("add", &json!({ "a": 1, "b": 2 })).execute_as::<i64>().await?;
        Ok(())
    }

    fn greet(user: User) {}
    fn try_later() {}
    fn wrong_password() {}
    fn explain(reasons: Vec<String>) {}
    fn show(error: AuthError) {}

    #[rustfmt::skip]
    async fn errors(sign_in: PasswordRequest) {
        match sign_in.send().await {
            Ok(signed_in) => greet(signed_in.user),
            Err(error) if error.is_retryable() => try_later(),
            Err(error) if error.code() == Some(ErrorCode::InvalidCredentials) => wrong_password(),
            Err(AuthError::WeakPassword { reasons, .. }) => explain(reasons),
            Err(error) => show(error),
        }
    }

    #[rustfmt::skip]
    fn testing(router: axum::Router) -> Done {
        let client = Client::builder("http://test", "key")
            .http_service(router)
            .clock(ManualClock::at(1_700_000_000_000))
            .build()?;
        Ok(())
    }

    #[rustfmt::skip]
    async fn files(
        client: Client,
        bytes: Vec<u8>,
        pieces: impl futures_util::Stream<Item = std::io::Result<axum::body::Bytes>> + Send + 'static,
    ) -> Done {
        use std::time::Duration;

        use plinth_client::storage::{SortBy, Transform, UploadBody};

        let photos = client.storage().from("photos");

        photos.upload("2024/sea.jpg", bytes).content_type("image/jpeg").send().await?;
        photos.upload("2024/sea.jpg", UploadBody::file("sea.jpg")).upsert(true).send().await?;
        photos.upload("2024/sea.raw", UploadBody::stream(pieces)).metadata(&json!({ "f": 2.8 })).send().await?;

        let bytes = photos.download("2024/sea.jpg").send().await?;
        let mut pieces = photos.download("2024/sea.raw").stream().await?;    // a Stream of Bytes
        let start = photos.download("2024/sea.raw").range(..1024).send().await?;
        let small = photos.download("2024/sea.jpg").transform(Transform::new().width(128)).send().await?;

        let link = photos.signed_url("2024/sea.jpg", Duration::from_secs(3600)).download("sea.jpg").send().await?;
        let link = photos.public_url("2024/sea.jpg").build()?;

        for file in photos.list("2024").sort_by(SortBy::CreatedAt).desc().send().await? {
            println!("{}", file.name);
        }
        let mut pages = photos.list_v2().prefix("2024/").stream();           // a Stream of pages
        Ok(())
    }

    #[rustfmt::skip]
    async fn films(client: Client) -> Done {
        use std::path::PathBuf;

        fn show(_sent: u64, _total: u64) {}
        fn remember(_token: &str) {}
        let films = client.storage().from("films");

        let upload = films.upload_resumable("sea.mp4", PathBuf::from("sea.mp4"));
        let mut upload = upload.progress(|sent, total| show(sent, total)).start().await?;
        remember(upload.token().as_str());      // for `.resume(token)` in another run of the program
        upload.finish().await?;
        Ok(())
    }

    #[derive(serde::Deserialize)]
    struct Greeting {
        greeting: String,
    }

    #[rustfmt::skip]
    async fn functions(client: Client, bytes: Vec<u8>) -> Done {
        fn show(_value: Value) {}
        fn keep(_bytes: axum::body::Bytes) {}

        use http::Method;
        use plinth_client::functions::{Form, FunctionData, Region};

        let functions = client.functions();

        let greeting: Greeting = functions.invoke("hello").json(&json!({ "name": "Ann" })).send_as().await?;
        let task: Value = functions.invoke("tasks/7?full=1").method(Method::GET).send_as().await?;

        let form = Form::new().text("title", "The sea").file("photo", "sea.jpg", "image/jpeg", bytes);
        let reply = functions.invoke("photos").multipart(&form).region(Region::EuWest1).send().await?;
        match reply.data {
            FunctionData::Json(value) => show(value),
            FunctionData::Bytes(bytes) => keep(bytes),
            other => println!("{other:?}"),
        }

        let mut words = functions.invoke("story").text("a whale").send_stream().await?.events();
        while let Some(word) = words.try_next().await? {
            print!("{}", word.data);
        }
        Ok(())
    }
}

mod realtime {
    use plinth_client::Client;
    use serde_json::json;

    #[derive(serde::Deserialize)]
    struct Todo {
        title: String,
    }

    #[derive(serde::Deserialize, serde::Serialize)]
    struct Cursor {
        x: i32,
        y: i32,
    }

    fn draw(cursor: Cursor) {}

    #[rustfmt::skip]
    async fn channels(client: Client, bytes: Vec<u8>) -> Result<(), Box<dyn std::error::Error>> {
        use futures_util::TryStreamExt;
        use plinth_client::realtime::{ChannelEvent, Event, PresenceEvent, Status, pg};

        let room = client.channel("room1").presence_key("ann").build()?;

        let mut cursors = room.on_broadcast("cursor");
        let mut people = room.on_presence()?;
        let mut todos = room
            .on_postgres(Event::Insert)
            .schema("public")
            .table("todos")
            .filter(pg::eq("list", 7).and(pg::is("deleted_at", pg::Is::Null)))
            .listen::<Todo>()?;
        let mut everything = room.subscribe().await?;

        room.send("cursor", &Cursor { x: 1, y: 2 }).await?;
        room.send_bytes("frame", bytes).await?;
        room.track(&json!({ "mood": "good" })).await?;

        while let Some(cursor) = cursors.try_next().await? {
            draw(cursor.json::<Cursor>()?);
        }
        while let Some(event) = people.try_next().await? {
            if event == PresenceEvent::Sync {
                println!("{:?}", room.presence());
            }
        }
        while let Some(change) = todos.try_next().await? {
            println!("{:?}: {:?}", change.kind, change.new.map(|todo| todo.title));
        }
        while let Some(event) = everything.try_next().await? {
            if let ChannelEvent::Status(Status::Error(error)) = event {
                println!("trying again: {error}");
            }
        }

        room.send_http("cursor", &Cursor { x: 3, y: 4 }).send().await?;      // needs no subscription
        client.remove_channel(&room);
        Ok(())
    }
}

mod sessions {
    use axum::extract::Request;
    use axum::middleware::Next;
    use axum::response::{Redirect, Response};
    use axum::routing::{get, post};
    use axum::{Json, Router};
    use http::StatusCode;
    use plinth_session::{
        ConfigError, Session, SessionEncoding, SessionLayer, SessionWriter, auth_routes,
        redacted_uri,
    };

    #[derive(serde::Deserialize)]
    struct Credentials {
        email: String,
        password: String,
    }

    #[rustfmt::skip]
    async fn begin() -> Result<Router, ConfigError> {
        let layer = SessionLayer::builder("https://abc.example.co", "the publishable key")
            .public_url("https://app.example.com")
            .sign_in_path("/sign-in")
            .build()?;
        layer.warm_up().await;

        let app = Router::new()
            .route("/orders", get(orders))
            .merge(auth_routes())
            .layer(layer);

        async fn orders(session: Session) -> String {
            format!("Orders of {}", session.user_id())
        }
        Ok(app)
    }

    #[rustfmt::skip]
    fn forms() -> Router {
        async fn sign_in(
            writer: SessionWriter,
            Json(form): Json<Credentials>,
        ) -> Result<Redirect, StatusCode> {
            let client = writer.client().map_err(|_| StatusCode::INTERNAL_SERVER_ERROR)?;
            let sign_in = client.auth().sign_in_with_password();
            let sign_in = sign_in.email(form.email).password(form.password).send().await;
            sign_in.map_err(|_| StatusCode::UNAUTHORIZED)?;
            Ok(Redirect::to("/"))
        }
        Router::new().route("/sign-in", post(sign_in))
    }

    #[rustfmt::skip]
    fn options() -> Result<SessionLayer, ConfigError> {
        SessionLayer::builder("https://abc.example.co", "the publishable key")
            .cookie_name("__Host-my-session")
            .encode(SessionEncoding::TokensOnly)
            .build()
    }

    #[rustfmt::skip]
    async fn access_log(request: Request, next: Next) -> Response {
        let (method, uri) = (request.method().clone(), redacted_uri(request.uri()));
        let response = next.run(request).await;
        tracing::info!(%method, uri, status = response.status().as_u16(), "answered");
        response
    }
}

/// The Rust blocks of a page, each as its lines.
fn blocks(page: &str) -> Vec<Vec<&str>> {
    let mut parts = page.split("```rust\n").skip(1);
    let mut blocks = Vec::new();
    for part in &mut parts {
        let (block, _) = part.split_once("\n```").unwrap();
        blocks.push(lines(block));
    }
    blocks
}

/// Lines without their indentation, and without empty ones.
fn lines(text: &str) -> Vec<&str> {
    let lines = text.lines().map(str::trim);
    lines.filter(|line| !line.is_empty()).collect()
}

#[test]
fn every_block_of_rust_in_the_docs_stands_here_and_compiles() {
    let here = lines(include_str!("docs.rs"));
    let pages = [
        include_str!("../../../docs/rust-client.md"),
        include_str!("../../../docs/sessions.md"),
    ];

    for block in pages.iter().flat_map(|page| blocks(page)) {
        let is_here = here.windows(block.len()).any(|lines| lines == block);
        assert!(is_here, "not compiled:\n{}", block.join("\n"));
    }
    assert_eq!(pages.map(|page| blocks(page).len()), [14, 5]);
}
