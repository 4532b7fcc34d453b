//! A full disk is no fault of the request: every service responds 503, and goes on when there is
//! space again.

use std::fs;

use base64::{Engine, engine::general_purpose::STANDARD as BASE64};
use serde_json::json;

use super::storage_check::storage;
use crate::support::{
    FileStore, Folder, Http, Instance, Mount, Response, S3, does_not_apply, rows,
};

/// A resumable upload in one request after the one that creates it.
fn resumable(http: &Http, name: &str, text: &str) -> Response {
    let metadata = [("bucketName", "b"), ("objectName", name)]
        .map(|(key, value)| format!("{key} {}", BASE64.encode(value)));
    let tus = http.clone().header("Tus-Resumable", "1.0.0");
    let created = tus
        .clone()
        .header("Upload-Length", &text.len().to_string())
        .header("Upload-Metadata", &metadata.join(","))
        .send("POST", "/storage/v1/upload/resumable", "")
        .expect("a response")
        .expect_status(201);
    let location = created.header("location").expect("a location");
    let at = location.find("/storage/v1").expect("a path");
    tus.header("Upload-Offset", "0")
        .send_as(
            "PATCH",
            &location[at..],
            "application/offset+octet-stream",
            text,
        )
        .expect("a response")
}

#[test]
fn no_space_for_bytes_is_503_in_every_protocol() {
    let folder = Folder::new();
    if let FileStore::S3 { .. } = FileStore::of(&folder) {
        return does_not_apply("how full it is, an S3 store knows");
    }
    let disk = folder.path().join("disk");
    fs::create_dir(&disk).expect("a folder");
    let Some(_disk) = Mount::tmpfs(&disk, 8) else {
        return does_not_apply("mounting a small disk is not permitted here");
    };
    let path = format!("plinth.storage.path={}", disk.display());
    let server = Instance::start(&folder, &["--set", &path]);
    let http = storage(&server);
    let s3 = S3::of(&server);
    fs::write(disk.join("filler"), vec![1; 6 << 20]).expect("nearly full");
    let large = "x".repeat(4 << 20);

    let failed = http.post("/storage/v1/object/b/rest", &large);
    assert_eq!(failed.status, 503);
    assert_eq!(
        failed.json(),
        json!({
            "statusCode": "503",
            "error": "ServiceUnavailable",
            "message": "The server has no space left for this request",
            "code": "ServiceUnavailable",
        })
    );
    let failed = resumable(&http, "tus", &large);
    assert_eq!(failed.status, 503);
    assert_eq!(failed.body, "The server has no space left for this request");
    let failed = s3.send("PUT", "b/s3", "", &large).expect("a response");
    assert_eq!(failed.status, 503);
    let code = "<Code>ServiceUnavailable</Code>";
    assert!(failed.body.contains(code), "{}", failed.body);

    fs::remove_file(disk.join("filler")).expect("space again");
    http.post("/storage/v1/object/b/rest", &large)
        .expect_status(200);
}

/// PostgreSQL reports a full disk with SQLSTATE 53100; here, triggers do.
#[test]
fn no_space_for_rows_is_503_in_every_service() {
    let folder = Folder::new();
    let server = Instance::start(&folder, &[]);
    let http = storage(&server);
    rows(
        server.db_url(),
        "create table public.notes (id int);
         grant all on public.notes to service_role;
         create function public.is_full() returns trigger language plpgsql as $$
         begin
             raise exception 'could not extend file: No space left on device' using errcode = '53100';
         end $$;
         create function public.has_space() returns boolean language plpgsql as $$
         begin
             raise exception 'could not extend file: No space left on device' using errcode = '53100';
         end $$;
         create trigger is_full before insert on public.notes
             for each row execute function public.is_full();
         create trigger is_full before insert on auth.users
             for each row execute function public.is_full();
         create trigger is_full before insert on storage.objects
             for each row execute function public.is_full();
         create policy writes on realtime.messages for insert to anon
             with check (public.has_space());
         notify pgrst, 'reload schema'",
    );

    let user = json!({ "email": "ann@example.com", "password": "a good password" }).to_string();
    for (path, body) in [
        ("/auth/v1/signup", user.as_str()),
        ("/storage/v1/object/b/name", "text"),
        ("/rest/v1/notes", r#"{"id":1}"#),
    ] {
        let failed = http
            .clone()
            .header("apikey", server.value("SERVICE_ROLE_KEY"));
        let failed = failed.post(path, body);
        assert_eq!(failed.status, 503, "{path}: {}", failed.body);
        assert!(!failed.body.contains("extend file") || path.starts_with("/rest"));
    }
    let anon = server
        .http()
        .header("apikey", server.value("PUBLISHABLE_KEY"));
    let message = json!({ "topic": "room", "event": "e", "payload": {}, "private": true });
    let batch = json!({ "messages": [message] }).to_string();
    for (path, body) in [
        ("/realtime/v1/api/broadcast", batch.as_str()),
        (
            "/realtime/v1/api/broadcast/room/events/e?private=true",
            "{}",
        ),
    ] {
        let failed = anon.post(path, body);
        assert_eq!(failed.status, 503, "{path}: {}", failed.body);
        let expected = json!({ "message": "Tenant database has no space left" });
        assert_eq!(failed.json(), expected, "{path}");
    }
}
