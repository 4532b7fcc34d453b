//! Times that a user's SQL has set to something that is no time.

use super::storage_check::{get, put, storage};
use crate::support::{Folder, Instance, S3, rows};

#[test]
fn a_time_that_never_comes_is_left_out_and_breaks_nothing() {
    let folder = Folder::new();
    let server = Instance::start(&folder, &[]);
    let http = storage(&server);
    put(&http, "a", "one");
    let s3 = S3::of(&server);
    let send = |method, place, query: &str, body| {
        let response = s3.send(method, place, query, body);
        response.expect("a response").expect_status(200)
    };
    let created = send("POST", "b/k", "uploads=", "");
    let id = created
        .body
        .split_once("<UploadId>")
        .and_then(|(_, rest)| rest.split_once("</UploadId>"))
        .expect("an upload")
        .0;
    send("PUT", "b/k", &format!("partNumber=1&uploadId={id}"), "part");
    for time in ["infinity", "-infinity", "290000-01-01", "4000-01-01 BC"] {
        rows(
            server.db_url(),
            &format!(
                "update storage.buckets set created_at = '{time}', updated_at = '{time}';
                 update storage.objects
                 set created_at = '{time}', updated_at = '{time}', last_accessed_at = '{time}',
                     metadata = metadata - 'lastModified';
                 update storage.s3_multipart_uploads set created_at = '{time}';
                 update storage.s3_multipart_uploads_parts set created_at = '{time}'"
            ),
        );

        let parts = send("GET", "b/k", &format!("uploadId={id}"), "");
        assert!(parts.body.contains("<PartNumber>1</PartNumber>"), "{time}");
        assert!(send("GET", "b", "uploads=", "").body.contains(id), "{time}");
        let listed = send("GET", "b", "list-type=2", "");
        assert!(listed.body.contains("<Key>a</Key>"), "{time}");
        let buckets = send("GET", "", "", "");
        assert!(buckets.body.contains("<Name>b</Name>"), "{time}");
        send("GET", "b/a", "", "");
        assert_eq!(get(&http, "a").expect_status(200).body, "one", "{time}");
        http.get("/storage/v1/object/info/b/a").expect_status(200);
        http.get("/storage/v1/bucket").expect_status(200);
        http.get("/storage/v1/bucket/b").expect_status(200);
        for list in ["list", "list-v2"] {
            let path = format!("/storage/v1/object/{list}/b");
            let listed = http.post(&path, r#"{"prefix":""}"#).expect_status(200);
            assert!(listed.body.contains("\"a\""), "{time}: {listed:?}");
        }
    }
    assert!(!server.stderr().contains("panicked"), "{}", server.stderr());
}
