//! A project's services, called by an operator: uploads in pieces, streams, websockets, and requests
//! that try to smuggle something past the proxy.

use std::{
    io::{Read as _, Write as _},
    net::TcpStream,
    time::Duration,
};

use serde_json::{Value, json};
use tungstenite::client::IntoClientRequest as _;

use crate::support::{Channel, Folder, Http, Instance, eventually, rows};

const PROXY: &str = "/platform/projects/default/proxy";
const TIMEOUT: Duration = Duration::from_secs(60);

fn token(server: &Instance<'_>, name: &str) -> String {
    let made = server.cli_json(&["tokens", "create", name]);
    made["token"].as_str().expect("a token").to_owned()
}

#[test]
fn an_upload_in_pieces_stays_with_the_proxy() {
    let folder = Folder::new();
    let server = Instance::start(&folder, &[]);
    let http = server.http().token(&token(&server, "uploads"));
    let send = |http: &Http, method: &str, path: &str, kind: &str, body: &str| {
        http.send_as(method, path, kind, body).expect("a response")
    };
    http.post(&format!("{PROXY}/storage/v1/bucket"), "{\"name\":\"b\"}")
        .expect_status(200);
    // `b` and `dir/a b+c (1)!.txt`
    let metadata =
        "bucketName Yg==,objectName ZGlyL2EgYitjICgxKSEudHh0,contentType dGV4dC9wbGFpbg==";
    let tus = http.clone().header("Tus-Resumable", "1.0.0");
    let create = tus
        .clone()
        .header("Upload-Length", "6")
        .header("Upload-Metadata", metadata);

    let created = send(
        &create,
        "POST",
        &format!("{PROXY}/storage/v1/upload/resumable"),
        "",
        "",
    );
    let created = created.expect_status(201);
    let location = created.header("location").expect("a URL").to_owned();
    let path = location
        .strip_prefix(server.api_url())
        .expect("this server");
    let proxied = path.contains("/proxy/storage/v1/upload/resumable/");
    assert!(proxied, "{location}");

    let kind = "application/offset+octet-stream";
    let at = |offset: &str| tus.clone().header("Upload-Offset", offset);
    send(&at("0"), "PATCH", path, kind, "abc").expect_status(204);
    let head = send(&tus, "HEAD", path, "", "").expect_status(200);
    assert_eq!(head.header("upload-offset"), Some("3"));
    // A piece that does not fit is rejected in the protocol's way.
    send(&at("0"), "PATCH", path, kind, "abc").expect_status(409);
    send(&at("3"), "PATCH", path, kind, "def").expect_status(204);

    let file = format!("{PROXY}/storage/v1/object/authenticated/b/dir/a%20b+c%20(1)!.txt");
    let whole = http.get(&file).expect_status(200);
    assert_eq!(whole.body, "abcdef");
    let part = http.clone().header("Range", "bytes=2-3").get(&file);
    assert_eq!(part.expect_status(206).body, "cd");
    http.clone()
        .header("x-plinth-as", "anon")
        .get(&file)
        .expect_status(400);
    let list = http.post(
        &format!("{PROXY}/storage/v1/object/list/b"),
        "{\"prefix\":\"dir/\"}",
    );
    assert_eq!(list.expect_status(200).json()[0]["name"], "a b+c (1)!.txt");
}

#[test]
fn a_websocket_lives_as_long_as_the_operators_right_to_it() {
    let folder = Folder::new();
    let server = Instance::start(&folder, &[]);
    let token = token(&server, "inspector");
    let path = format!("{PROXY}/realtime/v1/websocket");
    let mut outside = Channel::join(&server, &json!({}));
    let mut inside = Channel::join_with(&server, &path, &token, &json!({}));

    let message = json!({"type": "broadcast", "event": "e", "payload": {"n": 1}});
    outside.send(&json!(["1", "2", "realtime:r", "broadcast", message]));
    let heard = inside.until(|frame| frame[3] == "broadcast");
    assert_eq!(heard[4]["payload"]["n"], 1);

    server
        .cli(&["tokens", "revoke", "inspector"])
        .expect_success();
    eventually(TIMEOUT, "the socket is closed", || {
        let beat = json!([null, "9", "phoenix", "heartbeat", {}]);
        inside.try_send(&beat).is_err().then_some(())
    });
    // Others go on.
    outside.send(&json!(["1", "3", "realtime:r", "broadcast", message]));
}

#[test]
fn a_websocket_is_opened_as_its_subject_and_by_operators_only() {
    let folder = Folder::new();
    let server = Instance::start(&folder, &[]);
    rows(
        server.db_url(),
        "create policy owners on realtime.messages for select to service_role using (true)",
    );
    let token = token(&server, "inspector");
    let path = format!("{PROXY}/realtime/v1/websocket");
    let private = json!({ "private": true });
    // The service role may join a private channel, and others may not.
    Channel::join_with(&server, &path, &token, &private);

    let open = |query: &str| {
        let url = format!(
            "{}{path}?vsn=2.0.0{query}",
            server.api_url().replace("http://", "ws://")
        );
        let request = url.as_str().into_client_request().expect("a request");
        let address = server.api_url().trim_start_matches("http://");
        let stream = TcpStream::connect(address).expect("a connection");
        match tungstenite::client(request, stream) {
            Ok((mut socket, _)) => {
                let join = json!(["1", "1", "realtime:r", "phx_join", {"config": private}]);
                let sent = socket.send(tungstenite::Message::text(join.to_string()));
                sent.expect("an open socket");
                let reply = socket.read().expect("a reply").into_text().expect("text");
                let reply: Value = serde_json::from_str(&reply).expect("JSON");
                reply[4]["status"].as_str().expect("a status").to_owned()
            }
            Err(tungstenite::HandshakeError::Failure(tungstenite::Error::Http(response))) => {
                response.status().as_u16().to_string()
            }
            Err(error) => panic!("{error}"),
        }
    };
    assert_eq!(open(&format!("&apikey={token}")), "ok");
    assert_eq!(open(&format!("&apikey={token}&x-plinth-as=anon")), "error");
    assert_eq!(open(&format!("&apikey={token}&x-plinth-as=root")), "400");
    assert_eq!(open(""), "401");
    assert_eq!(open("&apikey=sbp_0000"), "401");
    let key = server.value("SECRET_KEY");
    assert_eq!(
        open(&format!("&apikey={key}")),
        "401",
        "a project's key is no operator's"
    );
}

/// What the proxy does not mean to send must not arrive, however the request is written.
#[test]
fn nothing_is_smuggled_past_the_proxy() {
    let folder = Folder::new();
    let server = Instance::start(&folder, &[]);
    let token = token(&server, "smuggler");
    let http = server.http();
    let host = server.api_url().trim_start_matches("http://");
    let exchange = |request: String| {
        let response = http.exchange(&request, Duration::from_secs(30));
        response.map(|response| response.status).unwrap_or_default()
    };
    let head = format!("Host: {host}\r\nAuthorization: Bearer {token}\r\nConnection: close\r\n");

    // Two lengths, a length beside chunks, and a second request inside a body.
    let path = format!("{PROXY}/rest/v1/nothing");
    for lengths in [
        "Content-Length: 0\r\nContent-Length: 5\r\n",
        "Content-Length: 5\r\nTransfer-Encoding: chunked, identity\r\n",
        "Transfer-Encoding: identity, chunked\r\nContent-Length: x\r\n",
    ] {
        let status = exchange(format!(
            "POST {path} HTTP/1.1\r\n{head}{lengths}\r\n0\r\n\r\n"
        ));
        assert!(status == 400 || status == 0, "{lengths:?}: {status}");
    }
    // Other spellings of a path are other paths, to the proxy and to the services.
    for path in [
        "/storage/v1/%73%33/b/k",
        "/storage/v1/../rest/v1/nothing",
        "/auth/v1/admin/%6Fauth/clients",
        "/auth/v1//admin/users",
        "/%72est/v1/nothing",
        "/rest%2Fv1/nothing",
    ] {
        let status = exchange(format!("GET {PROXY}{path} HTTP/1.1\r\n{head}\r\n"));
        assert!((400..500).contains(&status), "{path}: {status}");
    }
    // Control characters never reach a service.
    for line in [
        "x-plinth-as: anon\r\n folded",
        "x-plinth-as: a\0b",
        "x-plinth-as : anon",
    ] {
        let status = exchange(format!("GET {path} HTTP/1.1\r\n{head}{line}\r\n\r\n"));
        assert!(status == 400 || status == 0, "{line:?}: {status}");
    }
    // The operator's own token opens nothing at a project's door, nor does its key here.
    let project = http.clone().token(&token).get("/rest/v1/");
    assert_eq!(project.status, 401);
    let key = server.value("SECRET_KEY");
    let platform = http.clone().token(key).header("apikey", key);
    platform.get(&path).expect_status(401);
}

/// A response is passed on while the service still writes it.
#[test]
fn a_functions_response_is_a_stream() {
    const STREAM: &str = r#"
        Deno.serve((req) => {
          const seen = JSON.stringify(Object.fromEntries(req.headers));
          let step = 0;
          let go;
          const gone = new Promise((resolve) => { go = resolve; });
          if (new URL(req.url).pathname.endsWith('/go')) {
            globalThis.go?.();
            return new Response('gone');
          }
          globalThis.go = go;
          const body = new ReadableStream({
            async pull(controller) {
              if (step++ === 0) return controller.enqueue(new TextEncoder().encode(seen + '\n'));
              await gone;
              controller.close();
            },
          });
          return new Response(body, { headers: { 'set-cookie': 'sb-platform-auth-token=x; Path=/' } });
        });
    "#;
    let folder = Folder::with(&[("functions/stream/index.ts", STREAM)]);
    let server = Instance::start(&folder, &[]);
    let token = token(&server, "streams");
    let host = server.api_url().trim_start_matches("http://");
    let path = format!("{PROXY}/functions/v1/stream");

    let mut stream = TcpStream::connect(host).expect("a connection");
    stream
        .set_read_timeout(Some(TIMEOUT))
        .expect("a time limit");
    let request = format!(
        "GET {path} HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {token}\r\n\
         Cookie: sb-platform-auth-token=secret\r\nConnection: close\r\n\r\n"
    );
    stream.write_all(request.as_bytes()).expect("sent");
    let mut text = String::new();
    let mut buffer = [0; 4096];
    // The first line arrives although the response has not ended.
    while !text.contains("}\n") {
        let read = stream.read(&mut buffer).expect("a part of the response");
        assert!(read > 0, "{text}");
        text.push_str(&String::from_utf8_lossy(&buffer[..read]));
    }
    let http = server.http().token(&token);
    http.get(&format!("{path}/go")).expect_status(200);
    stream.read_to_string(&mut text).expect("the rest");

    assert!(text.starts_with("HTTP/1.1 200"), "{text}");
    assert!(!text.to_lowercase().contains("set-cookie"), "{text}");
    assert!(!text.contains(&token) && !text.contains("secret"), "{text}");
    let line = text
        .lines()
        .find(|line| line.starts_with('{'))
        .expect("JSON");
    let headers: Value = serde_json::from_str(line).expect("JSON");
    let bearer = headers["authorization"]
        .as_str()
        .expect("a token of the project");
    assert!(bearer.starts_with("Bearer ey"), "{bearer}");
}
