//! Bodies both ways, clients that go away, and websockets (functions contract §8.5, §8.6).

use std::time::Duration;

use futures_util::{SinkExt as _, StreamExt as _};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
    time::timeout,
};
use tokio_tungstenite::tungstenite::Message;

use crate::support::{PUBLISHABLE_KEY, TEST_TIMEOUT, TestFunctions, until};

#[tokio::test]
async fn a_response_is_forwarded_chunk_by_chunk() {
    let functions = TestFunctions::of(
        r#"
        const encoder = new TextEncoder();
        let next = Promise.withResolvers<void>();
        Deno.serve((req) => {
          if (req.method === 'POST') { next.resolve(); next = Promise.withResolvers(); return new Response(); }
          return new Response(new ReadableStream({
            async start(controller) {
              for (let i = 0; i < 3; i++) { controller.enqueue(encoder.encode(`data: ${i}\n\n`)); await next.promise; }
              controller.close();
            },
          }), { headers: { 'content-type': 'text/event-stream' } });
        });"#,
    )
    .await;

    let mut events = functions.get("hello").send().await.unwrap();

    for number in 0..3 {
        // The next piece is only made once this one has arrived.
        let piece = timeout(TEST_TIMEOUT, events.chunk())
            .await
            .unwrap()
            .unwrap();
        assert_eq!(
            piece.as_deref(),
            Some(format!("data: {number}\n\n").as_bytes())
        );
        functions.post("hello").send().await.unwrap();
    }
    assert_eq!(events.chunk().await.unwrap(), None);
}

#[tokio::test]
async fn a_huge_response_waits_for_its_reader_and_is_not_buffered() {
    const PIECES: usize = 4096;
    let functions = TestFunctions::with(
        &[("hello/index.ts", r#"
            let made = 0;
            const piece = new Uint8Array(1 << 16);
            Deno.serve((req) => {
              if (req.method === 'POST') return new Response(String(made));
              return new Response(new ReadableStream({
                pull: (controller) => { made += 1; controller.enqueue(piece.slice()); if (made === 4096) controller.close(); },
              }));
            });
        "#)],
        &[("plinth.functions.memory", "128MiB")],
    )
    .await;
    let made = async || {
        let response = functions.post("hello").send().await.unwrap();
        response.text().await.unwrap().parse::<usize>().unwrap()
    };

    let mut response = functions.get("hello").send().await.unwrap();
    let mut bytes = response.chunk().await.unwrap().unwrap().len();
    // Unless the client reads on, only what fits into the buffers in between is produced.
    let mut before = 0;
    loop {
        tokio::time::sleep(Duration::from_millis(300)).await;
        let now = made().await;
        if now == before {
            break;
        }
        before = now;
    }
    assert!(before < PIECES / 4, "{before} pieces were made for nobody");
    while let Some(piece) = response.chunk().await.unwrap() {
        bytes += piece.len();
    }

    assert_eq!(bytes, PIECES << 16);
    assert_eq!(made().await, PIECES);
}

#[tokio::test]
async fn connections_to_a_worker_are_used_again() {
    let functions = TestFunctions::of(
        r#"
        let connections = 0;
        const listener = Deno.listen({ port: 8000 });
        for await (const conn of listener) {
          connections += 1;
          (async () => {
            for await (const { respondWith } of (Deno as any).serveHttp(conn)) {
              setTimeout(() => respondWith(new Response(String(connections))), 5);
            }
          })();
        }"#,
    )
    .await;

    for _ in 0..10 {
        let calls = (0..8).map(|_| functions.post("hello").body("x").send());
        for response in futures_util::future::join_all(calls).await {
            assert_eq!(response.unwrap().status(), 200);
        }
    }

    let (_, connections) = functions.fetch("hello").await;
    let connections: usize = connections.parse().unwrap();
    assert!(connections <= 8, "{connections} connections for 8 at once");
}

#[tokio::test]
async fn a_request_without_a_length_streams_in() {
    let functions = TestFunctions::of(
        r#"Deno.serve(async (req) => {
            let bytes = 0;
            for await (const piece of req.body!) bytes += piece.length;
            return new Response(String(bytes));
        });"#,
    )
    .await;
    let mut stream = TcpStream::connect(functions.address).await.unwrap();
    let head = format!(
        "POST /hello HTTP/1.1\r\nhost: x\r\napikey: {PUBLISHABLE_KEY}\r\ntransfer-encoding: chunked\r\nconnection: close\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).await.unwrap();

    let piece = vec![b'x'; 1 << 20];
    for _ in 0..50 {
        stream.write_all(b"100000\r\n").await.unwrap();
        stream.write_all(&piece).await.unwrap();
        stream.write_all(b"\r\n").await.unwrap();
    }
    stream.write_all(b"0\r\n\r\n").await.unwrap();

    let mut response = String::new();
    stream.read_to_string(&mut response).await.unwrap();
    assert!(
        response.starts_with("HTTP/1.1 200") && response.contains("52428800"),
        "{response}"
    );
}

#[tokio::test]
async fn a_function_is_notified_that_its_client_disconnected() {
    let functions = TestFunctions::of(
        r#"
        const seen = new Set<string>(), gone = new Set<string>();
        Deno.serve((req) => {
          if (req.method === 'POST') return new Response(`${[...seen]} seen, ${[...gone]} gone`);
          const name = new URL(req.url).pathname.split('/')[2];
          seen.add(name);
          // Once a response has begun, the runtime notifies the stream; the signal may stay silent.
          const note = () => { gone.add(name); };
          req.signal.addEventListener('abort', note);
          if (name === 'silent') return new Promise(() => {});
          return new Response(new ReadableStream({
            pull: async (controller) => { controller.enqueue(new Uint8Array(65536)); await new Promise((r) => setTimeout(r, 5)); },
            cancel: note,
          }));
        });"#,
    )
    .await;
    let wait_for_text = async |expected: &str| {
        let began = std::time::Instant::now();
        loop {
            let response = functions.post("hello").send().await.unwrap();
            let seen = response.text().await.unwrap();
            if seen == expected {
                break;
            }
            assert!(began.elapsed() < TEST_TIMEOUT, "{seen}");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };

    let mut endless = functions.get("hello/endless").send().await.unwrap();
    endless.chunk().await.unwrap();
    drop(endless);
    wait_for_text("endless seen, endless gone").await;
    let silent = tokio::spawn(functions.get("hello/silent").send());
    wait_for_text("endless,silent seen, endless gone").await;
    silent.abort();

    wait_for_text("endless,silent seen, endless,silent gone").await;
    assert_eq!(functions.worker_pids().len(), 1, "the worker stays");
}

#[tokio::test]
async fn a_signal_stays_silent_when_all_went_well() {
    let functions = TestFunctions::of(
        r#"
        let seen = 'nobody asked yet';
        Deno.serve((req) => {
          if (req.method === 'POST') return new Response(seen);
          EdgeRuntime.waitUntil(new Promise<void>((done) => setTimeout(() => { seen = String(req.signal.aborted); done(); }, 200)));
          return new Response('fine');
        });"#,
    )
    .await;
    assert_eq!(functions.fetch("hello").await, (200, "fine".to_owned()));

    let began = std::time::Instant::now();
    let seen = loop {
        let response = functions.post("hello").send().await.unwrap();
        let seen = response.text().await.unwrap();
        if seen != "nobody asked yet" {
            break seen;
        }
        assert!(began.elapsed() < TEST_TIMEOUT);
        tokio::time::sleep(Duration::from_millis(20)).await;
    };

    assert_eq!(seen, "false");
    let warned = |record: &plinth_log::Record| record.fields["event_type"] == "Boot";
    let records = functions.records_with(warned).await;
    assert!(
        !records
            .iter()
            .any(|record| record.message.contains("abort"))
    );
}

#[tokio::test]
async fn trailers_of_a_response_are_forwarded() {
    let functions = TestFunctions::of(
        r#"
        import http from 'node:http';
        http.createServer((_req, res) => {
          res.writeHead(200, { trailer: 'x-sum' });
          res.write('abc');
          res.addTrailers({ 'x-sum': '3' });
          res.end();
        }).listen(3000);"#,
    )
    .await;
    let mut stream = TcpStream::connect(functions.address).await.unwrap();
    let head = format!(
        "GET /hello HTTP/1.1\r\nhost: x\r\napikey: {PUBLISHABLE_KEY}\r\nte: trailers\r\n\
         connection: te, close\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).await.unwrap();

    let mut response = String::new();
    stream.read_to_string(&mut response).await.unwrap();
    assert!(response.contains("trailer: x-sum\r\n"), "{response}");
    assert!(
        response.ends_with("abc\r\n0\r\nx-sum: 3\r\n\r\n"),
        "{response}"
    );
}

#[tokio::test]
async fn expect_100_continue_gets_its_response() {
    let functions =
        TestFunctions::of("Deno.serve(async (req) => new Response(await req.text()));").await;
    let mut stream = TcpStream::connect(functions.address).await.unwrap();
    let head = format!(
        "POST /hello HTTP/1.1\r\nhost: x\r\napikey: {PUBLISHABLE_KEY}\r\ncontent-length: 5\r\n\
         expect: 100-continue\r\nconnection: close\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).await.unwrap();

    let mut received = [0; 25];
    let read = timeout(TEST_TIMEOUT, stream.read_exact(&mut received)).await;
    read.expect("a response").unwrap();
    assert_eq!(&received, b"HTTP/1.1 100 Continue\r\n\r\n");
    stream.write_all(b"hello").await.unwrap();

    let mut response = String::new();
    stream.read_to_string(&mut response).await.unwrap();
    assert!(
        response.starts_with("HTTP/1.1 200") && response.ends_with("hello"),
        "{response}"
    );
}

const CHAT: &str = r#"
    Deno.serve((req) => {
      if (req.headers.get('upgrade') !== 'websocket') return new Response('no');
      const { socket, response } = Deno.upgradeWebSocket(req, { protocol: 'chat' });
      socket.onmessage = (event) => socket.send(`${new URL(req.url).searchParams.get('jwt')}: ${event.data}`);
      return response;
    });
"#;

fn handshake(functions: &TestFunctions) -> http::Request<()> {
    http::Request::builder()
        .uri(format!("ws://{}/hello?jwt=me", functions.address))
        .header("host", functions.address.to_string())
        .header("connection", "Upgrade")
        .header("upgrade", "websocket")
        .header("sec-websocket-version", "13")
        .header("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ==")
        .header("sec-websocket-protocol", "chat")
        .body(())
        .expect("a request")
}

#[tokio::test]
async fn a_websocket_ends_with_its_time() {
    let functions = TestFunctions::with(
        &[("hello/index.ts", CHAT)],
        &[
            ("functions.hello.verify_jwt", "false"),
            ("plinth.functions.wall_clock", "1s"),
        ],
    )
    .await;

    let (mut socket, _) = tokio_tungstenite::connect_async(handshake(&functions))
        .await
        .unwrap();

    let end = timeout(TEST_TIMEOUT, socket.next()).await.expect("it ends");
    assert!(!matches!(end, Some(Ok(Message::Text(_)))), "{end:?}");
}

#[tokio::test]
async fn websockets_pass_through_and_keep_their_worker() {
    const WORKER_IDLE: Duration = Duration::from_millis(200);
    let functions = TestFunctions::with(
        &[("hello/index.ts", CHAT)],
        &[
            ("functions.hello.verify_jwt", "false"),
            ("plinth.functions.worker_idle", "200ms"),
        ],
    )
    .await;
    let request = handshake(&functions);

    let (mut socket, response) = tokio_tungstenite::connect_async(request).await.unwrap();
    assert_eq!(response.headers()["sec-websocket-protocol"], "chat");
    for text in ["one", "two"] {
        // Longer than a worker without one may live.
        tokio::time::sleep(WORKER_IDLE * 2).await;
        socket.send(Message::text(text)).await.unwrap();
        let received = timeout(TEST_TIMEOUT, socket.next())
            .await
            .unwrap()
            .unwrap()
            .unwrap();
        assert_eq!(received.to_text().unwrap(), format!("me: {text}"));
    }
    socket.close(None).await.unwrap();
    drop(socket);

    until(async || functions.worker_pids().is_empty()).await;
}
