//! A branch has the files of the project that it was made of, and each goes its own way then.

use serde_json::{Value, json};

use super::storage_check::{HASTY, files, get, put, storage};
use crate::support::{FileStore, Folder, Http, Instance, S3, Session, rows, value};

/// Requests to a branch with all rights.
struct Branch {
    http: Http,
    path: String,
    reference: String,
    db_url: String,
}

impl Branch {
    fn create(server: &Instance<'_>, name: &str, expected_method: &str) -> Self {
        let made = server.cli_json(&["branches", "create", name]);
        assert_eq!(made["COPY_METHOD"], expected_method, "{made}");
        let text = |name: &str| made[name].as_str().expect(name).to_owned();
        let reference = text("PLINTH_REF");
        Self {
            http: server.http().token(&text("SERVICE_ROLE_KEY")),
            path: format!("/p/{reference}/storage/v1"),
            db_url: text("DB_URL"),
            reference,
        }
    }

    fn get(&self, name: &str) -> crate::support::Response {
        self.http
            .get(&format!("{}/object/public/b/{name}", self.path))
    }

    fn send(&self, method: &str, path: &str, body: &str) {
        let path = format!("{}{path}", self.path);
        let http = self.http.clone().header("x-upsert", "true");
        let response = http.send(method, &path, body);
        response.expect("a response").expect_status(200);
    }
}

fn expect_clean(folder: &Folder, reference: &str) -> Value {
    let args = [
        "storage",
        "check",
        "--verify-digests",
        "--json",
        "--project",
    ];
    let ended = folder.cli(&[&args[..], &[reference]].concat());
    let document = ended.json();
    assert_eq!(document["clean"], true, "{document:#}");
    document["projects"][0]["summary"].clone()
}

#[test]
fn a_branch_has_files_of_its_own() {
    let folder = Folder::new();
    let store = FileStore::of(&folder);
    let server = Instance::start(&folder, HASTY);
    let http = storage(&server);
    for name in ["a", "b", "c"] {
        put(&http, name, name);
    }
    let begun = S3::of(&server).send("POST", "b/parts", "uploads=", "");
    begun.expect("a response").expect_status(200);

    let copied = Branch::create(&server, "copied", "copied");
    let session = Session::open(server.db_url());
    session.run("select 1");
    let dumped = Branch::create(&server, "dumped", "dumped");
    drop(session);

    for branch in [&copied, &dumped] {
        let summary = expect_clean(&folder, &branch.reference);
        assert_eq!(
            (&summary["objects"], &summary["files"]),
            (&json!(3), &json!(3))
        );
        for name in ["a", "b", "c"] {
            assert_eq!(branch.get(name).expect_status(200).body, name);
        }
        let uploads = "select count(*) from storage.s3_multipart_uploads";
        assert_eq!(value(&branch.db_url, uploads), "0", "those go on elsewhere");
        assert_eq!(value(server.db_url(), uploads), "1");
    }
    // What one side replaces and deletes, the other keeps.
    copied.send("POST", "/object/b/a", "another a");
    copied.send("DELETE", "/object/b/b", "");
    http.send("DELETE", "/storage/v1/object/b/c", "")
        .expect("a response")
        .expect_status(200);
    super::storage_check::expect_settled(&folder);
    expect_clean(&folder, &copied.reference);
    assert_eq!(copied.get("a").body, "another a");
    assert_eq!(copied.get("b").code(), "NoSuchKey");
    assert_eq!(copied.get("c").body, "c");
    assert_eq!(get(&http, "a").body, "a");
    assert_eq!(get(&http, "b").body, "b");
    assert_eq!(get(&http, "c").code(), "NoSuchKey");

    let bytes = store.folder_of(&copied.reference);
    assert!(!files(&bytes).is_empty());
    server
        .cli(&["branches", "delete", "copied", "--yes"])
        .expect_success();
    assert_eq!(get(&http, "a").body, "a");
    assert_eq!(dumped.get("c").body, "c");
    expect_clean(&folder, "default");
}

#[test]
fn a_branch_has_no_rows_whose_bytes_are_nowhere() {
    let folder = Folder::new();
    let store = FileStore::of(&folder);
    let server = Instance::start(&folder, &[]);
    let http = storage(&server);
    put(&http, "kept", "kept");
    put(&http, "lost", "lost");
    let lost = value(
        server.db_url(),
        "select version from storage.objects where name = 'lost'",
    );
    let mut bytes = files(&store.folder(&server)).into_iter();
    let path = bytes.find(|path| path.ends_with(&lost)).expect("its bytes");
    std::fs::remove_file(path).expect("behind its back");

    let branch = Branch::create(&server, "try-it", "copied");

    let summary = expect_clean(&folder, &branch.reference);
    assert_eq!(summary["objects"], 1);
    assert_eq!(branch.get("kept").body, "kept");
    let names = "select name from storage.objects order by name";
    assert_eq!(rows(&branch.db_url, names), ["kept"]);
    assert_eq!(
        rows(server.db_url(), names),
        ["kept", "lost"],
        "the source is not changed"
    );
}
