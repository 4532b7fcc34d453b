//! The blob of a part is always referenced: by its row, as pending, or by the garbage collection.

use plinth_testkit::TestDatabase;
use tokio_postgres::Client;

const OLD: &str = "00000000-0000-4000-8000-000000000001";
const NEW: &str = "00000000-0000-4000-8000-000000000002";

async fn versions(client: &Client, table: &str) -> Vec<String> {
    let query = format!("select version::text from plinth.{table} order by 1");
    let rows = client.query(&query, &[]).await.expect(&query);
    rows.iter().map(|row| row.get(0)).collect()
}

async fn upload() -> (TestDatabase, Client, Client) {
    let db = TestDatabase::create().await;
    let admin = db.admin().await;
    let service = db.connect_as("service_role").await;
    let pending = format!("insert into plinth.pending_blob (version) values ('{OLD}'), ('{NEW}')");
    admin.batch_execute(&pending).await.expect("pending");
    let sql = format!(
        "insert into storage.buckets (id, name) values ('b', 'b');
         insert into storage.s3_multipart_uploads (id, upload_signature, bucket_id, key, version)
         values ('u', 's', 'b', 'k', 'v');
         insert into storage.s3_multipart_uploads_parts
             (upload_id, part_number, bucket_id, key, etag, version)
         values ('u', 1, 'b', 'k', 'e', '{OLD}')"
    );
    service.batch_execute(&sql).await.expect("an upload");
    (db, admin, service)
}

#[tokio::test]
async fn a_part_that_comes_again_lets_the_old_bytes_go() {
    let (_db, admin, service) = upload().await;
    assert_eq!(versions(&admin, "pending_blob").await, [NEW]);

    let sql = format!("update storage.s3_multipart_uploads_parts set version = '{NEW}'");
    service.batch_execute(&sql).await.expect("replaced");

    assert!(versions(&admin, "pending_blob").await.is_empty());
    assert_eq!(versions(&admin, "blob_gc").await, [OLD]);
    let again = "insert into storage.s3_multipart_uploads_parts
                     (upload_id, part_number, bucket_id, key, etag, version)
                 values ('u', 1, 'b', 'k', 'e', 'x')";
    assert!(service.batch_execute(again).await.is_err());
}

#[tokio::test]
async fn parts_go_with_their_upload_and_so_do_their_bytes() {
    let (_db, admin, service) = upload().await;

    let sql = "delete from storage.s3_multipart_uploads where id = 'u'";
    service.batch_execute(sql).await.expect("given up");

    assert_eq!(versions(&admin, "blob_gc").await, [OLD]);
    assert_eq!(versions(&admin, "pending_blob").await, [NEW]);
}
