//! Files while the world fails: whatever was promised is there, whole, and nothing is left over.

use std::{
    collections::BTreeMap,
    fs,
    sync::atomic::{AtomicBool, AtomicUsize, Ordering},
    time::Duration,
};

use base64::{Engine, engine::general_purpose::STANDARD as BASE64};
use rustix::process::Signal;
use serde_json::json;

use super::storage_check::{HASTY, expect_settled, get, put, storage};
use crate::support::{
    FileStore, Folder, Http, Instance, Mount, Response, S3, does_not_apply, eventually, kill,
};

const CLIENTS: usize = 6;
/// What a client does in turn.
const ACTS: usize = 8;
const RECOVERY: Duration = Duration::from_secs(60);

/// What may be under a name: several things while the outcome of a request is unknown.
type Possible = BTreeMap<String, Vec<Option<String>>>;

/// A client that does everything that can be done with files, and remembers what was promised.
struct Client {
    number: usize,
    http: Http,
    s3: S3,
    possible: Possible,
    round: usize,
    acts: usize,
}

impl Client {
    fn new(number: usize, server: &Instance<'_>) -> Self {
        let mut client = Self {
            number,
            http: server.http(),
            s3: S3::of(server),
            possible: Possible::new(),
            round: 0,
            // Each is at something else.
            acts: number * 3,
        };
        client.meet(server);
        client
    }

    /// The server is another one since it was killed; what it promised still holds.
    fn meet(&mut self, server: &Instance<'_>) {
        let http = server.http().token(server.value("SERVICE_ROLE_KEY"));
        self.http = http.header("x-upsert", "true");
        self.s3 = S3::of(server);
    }

    fn name(&self, name: &str) -> String {
        format!("{}/{name}", self.number)
    }

    /// A new text, now small, now of several pieces.
    fn text(&mut self) -> String {
        self.round += 1;
        let times = [1, 20, 40_000][self.round % 3];
        format!("{}.{} ", self.number, self.round).repeat(times)
    }

    fn may_be(&mut self, name: &str, more: &[Option<String>]) {
        let known = self.possible.entry(name.to_owned());
        known.or_insert_with(|| vec![None]).extend_from_slice(more);
    }

    fn is(&mut self, name: &str, what: &[Option<String>]) {
        self.possible.insert(name.to_owned(), what.to_vec());
    }

    fn now(&self, name: &str) -> Vec<Option<String>> {
        let known = self.possible.get(name).cloned();
        known.unwrap_or_else(|| vec![None])
    }

    /// The next thing to do. An error means that there is no response.
    fn act(&mut self) -> std::io::Result<()> {
        let [a, b, c, d, e] = ["a", "b", "c", "d", "e"].map(|name| self.name(name));
        self.acts += 1;
        match self.acts % ACTS {
            0 => self.upload(&a),
            1 => self.copy(&a, &b),
            2 => self.delete(&c),
            3 => self.relocate(&b, &c),
            4 => self.upload(&b),
            5 => self.resumable(&d),
            6 => self.in_parts(&e),
            _ => self.delete(&a),
        }
    }

    /// Everything once.
    fn turn(&mut self) -> std::io::Result<()> {
        (0..ACTS).try_for_each(|_| self.act())
    }

    fn upload(&mut self, name: &str) -> std::io::Result<()> {
        let text = self.text();
        self.may_be(name, &[Some(text.clone())]);
        let path = format!("/storage/v1/object/b/{name}");
        if is_done(&self.http.send("POST", &path, &text)?) {
            self.is(name, &[Some(text)]);
        }
        Ok(())
    }

    fn copy(&mut self, from: &str, to: &str) -> std::io::Result<()> {
        let source = self.now(from);
        self.may_be(to, &source);
        let body = json!({ "bucketId": "b", "sourceKey": from, "destinationKey": to }).to_string();
        if is_done(&self.http.send("POST", "/storage/v1/object/copy", &body)?) {
            let copied: Vec<_> = source.into_iter().filter(Option::is_some).collect();
            self.is(to, &copied);
        }
        Ok(())
    }

    fn relocate(&mut self, from: &str, to: &str) -> std::io::Result<()> {
        let source = self.now(from);
        self.may_be(from, &[None]);
        self.may_be(to, &source);
        let body = json!({ "bucketId": "b", "sourceKey": from, "destinationKey": to }).to_string();
        if is_done(&self.http.send("POST", "/storage/v1/object/move", &body)?) {
            let moved: Vec<_> = source.into_iter().filter(Option::is_some).collect();
            self.is(to, &moved);
            self.is(from, &[None]);
        }
        Ok(())
    }

    fn delete(&mut self, name: &str) -> std::io::Result<()> {
        self.may_be(name, &[None]);
        let path = format!("/storage/v1/object/b/{name}");
        if is_done(&self.http.send("DELETE", &path, "")?) {
            self.is(name, &[None]);
        }
        Ok(())
    }

    /// In two requests, of which the last makes the object.
    fn resumable(&mut self, name: &str) -> std::io::Result<()> {
        let text = self.text();
        let metadata = [("bucketName", "b"), ("objectName", name)]
            .map(|(key, value)| format!("{key} {}", BASE64.encode(value)));
        let tus = self.http.clone().header("Tus-Resumable", "1.0.0");
        let created = tus
            .clone()
            .header("Upload-Length", &text.len().to_string())
            .header("Upload-Metadata", &metadata.join(","))
            .send("POST", "/storage/v1/upload/resumable", "")?;
        let Some(location) = created.header("location").filter(|_| created.status == 201) else {
            return Ok(());
        };
        let path = location.find("/storage/v1").map(|at| &location[at..]);
        let path = path.expect("a path").to_owned();
        let half = text.len() / 2;
        let send = |offset: usize, bytes: &str| {
            tus.clone()
                .header("Upload-Offset", &offset.to_string())
                .send_as("PATCH", &path, "application/offset+octet-stream", bytes)
        };
        if send(0, &text[..half])?.status != 204 {
            return Ok(());
        }
        self.may_be(name, &[Some(text.clone())]);
        if send(half, &text[half..])?.status == 204 {
            self.is(name, &[Some(text)]);
        }
        Ok(())
    }

    /// Two parts with the S3 protocol.
    fn in_parts(&mut self, name: &str) -> std::io::Result<()> {
        let text = self.text();
        let place = format!("b/{name}");
        let created = self.s3.send("POST", &place, "uploads=", "")?;
        let id = created
            .body
            .split_once("<UploadId>")
            .and_then(|(_, rest)| rest.split_once("</UploadId>"));
        let Some((id, _)) = id else {
            return Ok(());
        };
        let half = text.len() / 2;
        for (number, bytes) in [(1, &text[..half]), (2, &text[half..])] {
            let query = format!("partNumber={number}&uploadId={id}");
            if !is_done(&self.s3.send("PUT", &place, &query, bytes)?) {
                return Ok(());
            }
        }
        self.may_be(name, &[Some(text.clone())]);
        let completed = self
            .s3
            .send("POST", &place, &format!("uploadId={id}"), "")?;
        if is_done(&completed) {
            self.is(name, &[Some(text)]);
        }
        Ok(())
    }

    /// Everything that was promised is there.
    fn expect_promises(&mut self) {
        for (name, possible) in &mut self.possible {
            let response = get(&self.http, name);
            let found = match response.status {
                200 => Some(response.body),
                400 => {
                    assert_eq!(response.code(), "NoSuchKey", "{name}: {response:?}");
                    None
                }
                _ => panic!("{name}: {response:?}"),
            };
            assert!(
                possible.contains(&found),
                "{name} is {:?}, and could be {:?}",
                found.map(|text| text.len()),
                possible
                    .iter()
                    .map(|text| text.as_ref().map(String::len))
                    .collect::<Vec<_>>()
            );
            *possible = vec![found];
        }
    }
}

fn is_done(response: &Response) -> bool {
    assert!(
        response.status != 500,
        "nothing here is a fault of ours: {response:?}"
    );
    response.status == 200
}

/// Lets all clients work until `meanwhile` is over, which receives how much they have done; what they
/// were promised is in their heads.
fn under_load(clients: &mut [Client], stays_up: bool, meanwhile: impl FnOnce(&AtomicUsize)) {
    let stop = AtomicBool::new(false);
    let done = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for client in clients {
            let (stop, done) = (&stop, &done);
            scope.spawn(move || {
                while !stop.load(Ordering::Relaxed) {
                    match client.act() {
                        Ok(()) => _ = done.fetch_add(1, Ordering::Relaxed),
                        Err(error) if stays_up => panic!("{error}"),
                        Err(_) => return,
                    }
                }
            });
        }
        let meanwhile = || meanwhile(&done);
        let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(meanwhile));
        stop.store(true, Ordering::Relaxed);
        outcome.unwrap_or_else(|cause| std::panic::resume_unwind(cause));
    });
}

/// Waits until the clients have done so much more.
fn wait_for(done: &AtomicUsize, more: usize) {
    let until = done.load(Ordering::Relaxed) + more;
    eventually(RECOVERY, "the clients get on", || {
        (done.load(Ordering::Relaxed) >= until).then_some(())
    });
}

#[test]
fn a_killed_server_keeps_every_file_and_leaves_none_over() {
    let folder = Folder::new();
    let _store = FileStore::of(&folder);
    let mut clients: Vec<Client> = Vec::new();
    for acts in [40, 71, 113] {
        let server = Instance::start(&folder, HASTY);
        storage(&server);
        for number in clients.len()..CLIENTS {
            clients.push(Client::new(number, &server));
        }
        for client in &mut clients {
            client.meet(&server);
            client.expect_promises();
        }
        let pid = server.pid();
        under_load(&mut clients, false, |done| {
            wait_for(done, acts);
            kill(pid, Signal::KILL);
        });
        server.kill9();
        folder.expect_no_postgres();
    }

    let server = Instance::start(&folder, HASTY);
    let summary = expect_settled(&folder);
    assert_ne!(summary["objects"], 0);
    for client in &mut clients {
        client.meet(&server);
        client.expect_promises();
    }
    // And all goes on.
    for client in &mut clients {
        client.turn().expect("responses");
        client.expect_promises();
    }
    expect_settled(&folder);
}

#[test]
fn a_killed_postgres_costs_no_file_and_leaves_none_over() {
    let folder = Folder::new();
    let _store = FileStore::of(&folder);
    let server = Instance::start(&folder, HASTY);
    storage(&server);
    let mut clients: Vec<_> = (0..CLIENTS)
        .map(|number| Client::new(number, &server))
        .collect();
    let open = server.http();
    under_load(&mut clients, true, |done| {
        for acts in [45, 80] {
            wait_for(done, acts);
            let postmaster = folder.postmaster().expect("a postmaster");
            kill(postmaster, Signal::KILL);
            eventually(RECOVERY, "another postmaster", || {
                folder.postmaster().filter(|pid| *pid != postmaster)
            });
            eventually(RECOVERY, "/ready is back", || {
                (open.get("/ready").status == 200).then_some(())
            });
        }
        wait_for(done, 30);
    });

    let summary = expect_settled(&folder);
    assert_ne!(summary["objects"], 0);
    for client in &mut clients {
        client.expect_promises();
        client.turn().expect("responses");
        client.expect_promises();
    }
}

#[test]
fn a_full_disk_rejects_files_and_loses_none() {
    let folder = Folder::new();
    if let FileStore::S3 { .. } = FileStore::of(&folder) {
        return does_not_apply(
            "how full it is, an S3 store knows; `storage_unavailable_store.rs` has one that refuses",
        );
    }
    let disk = folder.path().join("disk");
    fs::create_dir(&disk).expect("a folder");
    let Some(_disk) = Mount::tmpfs(&disk, 8) else {
        return does_not_apply("mounting a small disk is not permitted here");
    };
    let path = format!("plinth.storage.path={}", disk.display());
    let server = Instance::start(&folder, &[&["--set", &path], HASTY].concat());
    let http = storage(&server);
    put(&http, "kept", "kept");
    fs::write(disk.join("filler"), vec![1; 6 << 20]).expect("nearly full");

    let large = "x".repeat(4 << 20);
    let failed = http
        .post("/storage/v1/object/b/large", &large)
        .expect_status(503);
    assert_eq!(failed.code(), "ServiceUnavailable");
    let failed = http
        .clone()
        .header("x-upsert", "true")
        .send("POST", "/storage/v1/object/b/kept", &large)
        .expect("a response");
    assert_eq!(failed.status, 503);

    assert_eq!(get(&http, "kept").body, "kept", "the old one stays");
    assert_eq!(get(&http, "large").code(), "NoSuchKey");
    fs::remove_file(disk.join("filler")).expect("space again");
    let summary = expect_settled(&folder);
    assert_eq!(summary["files"], 1);
    put(&http, "large", &large);
    assert_eq!(get(&http, "large").body.len(), large.len());
}

#[test]
fn of_two_writers_one_wins_whole_and_the_others_bytes_go() {
    let folder = Folder::new();
    let _store = FileStore::of(&folder);
    let server = Instance::start(&folder, HASTY);
    let http = storage(&server);
    let texts: Vec<String> = (0..4).map(|n| n.to_string().repeat(1 << 20)).collect();
    std::thread::scope(|scope| {
        for text in &texts {
            let http = &http;
            scope.spawn(move || put(http, "one", text));
        }
    });

    let won = get(&http, "one").expect_status(200).body;
    assert!(texts.contains(&won));
    let summary = expect_settled(&folder);
    assert_eq!(
        (&summary["objects"], &summary["files"]),
        (&json!(1), &json!(1))
    );
    assert_eq!(get(&http, "one").body, won);
}
