//! Completes uploads, in both backends and with a second node.

use std::{sync::Arc, time::Duration};

use axum::{body::Body, response::Response};
use http::{HeaderMap, Method, StatusCode};
use http_body_util::BodyExt as _;
use plinth_db::PoolConfig;
use plinth_project::{Caller, Project, ProjectDb, ProjectKeys};
use plinth_testkit::{ProjectBuilder, SECRET, Sql, TestDatabase, keyset, project_keys};
use plinth_teststore::Fault;
use tempfile::TempDir;
use tokio_util::task::TaskTracker;

use super::{abort, complete, create, upload_part};
use crate::{
    StorageConfig,
    blobs::{Blobs, LocalBlobs, S3Fixture},
    error::StorageError,
    request::{ProjectContext, RequestContext},
    s3::{S3Request, body::S3Body, error, operation::Target, query::Query, signature::Payload},
};

struct Fixture {
    db: TestDatabase,
    keys: ProjectKeys,
    blobs: Blobs,
    server: Option<S3Fixture>,
    _folder: TempDir,
}

/// A node over the same database and store.
struct Node {
    project: Project,
    blobs: Blobs,
    tasks: TaskTracker,
}

impl Fixture {
    async fn local() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let blobs = Blobs::Local(LocalBlobs::new(folder.path().to_owned(), false));
        Self::with(blobs, None, folder).await
    }

    async fn s3() -> Self {
        let server = S3Fixture::start().await;
        let blobs = Blobs::S3(server.blobs.clone());
        Self::with(blobs, Some(server), tempfile::tempdir().expect("a folder")).await
    }

    async fn with(blobs: Blobs, server: Option<S3Fixture>, folder: TempDir) -> Self {
        let db = TestDatabase::create().await;
        let bucket = "insert into storage.buckets (id, name) values ('b', 'b')";
        db.execute(bucket).await;
        Self {
            db,
            keys: project_keys(keyset(SECRET)),
            blobs,
            server,
            _folder: folder,
        }
    }

    fn node(&self) -> Node {
        let login = self.db.target().options("-c role=plinth_storage");
        let project = ProjectBuilder::new(ProjectDb::standalone(login, PoolConfig::default()))
            .keys(self.keys.clone())
            .build();
        Node {
            project,
            blobs: self.blobs.clone(),
            tasks: TaskTracker::new(),
        }
    }

    async fn count(&self, table: &str) -> i64 {
        let sql = format!("select count(*) from {table}");
        self.db.count(&sql).await
    }

    /// Objects, uploads, leases, and pending blobs.
    async fn rows(&self) -> [i64; 4] {
        [
            self.count("storage.objects").await,
            self.count("storage.s3_multipart_uploads").await,
            self.count("plinth.multipart_completion").await,
            self.count("plinth.pending_blob").await,
        ]
    }
}

/// A status and a body.
#[derive(Debug, PartialEq)]
struct Reply(u16, String);

impl Reply {
    async fn of(result: Result<Response, StorageError>) -> Self {
        let response = result.unwrap_or_else(|failure| error::respond(&failure, "b/k", false));
        let status = response.status().as_u16();
        let bytes = response.into_body().collect().await.expect("bytes");
        Self(
            status,
            String::from_utf8(bytes.to_bytes().into()).expect("text"),
        )
    }

    #[track_caller]
    fn is(&self, status: u16, part: &str) {
        assert_eq!(self.0, status, "{self:?}");
        assert!(self.1.contains(part), "{self:?}");
    }
}

impl Node {
    fn request(&self, query: &str, length: usize) -> (S3Request, HeaderMap) {
        let request = http::Request::builder()
            .method(Method::POST)
            .header("content-length", length)
            .uri(format!("/s3/b/k?{query}"));
        let (parts, ()) = request.body(()).expect("a request").into_parts();
        let headers = parts.headers.clone();
        let project = ProjectContext {
            project: self.project.clone(),
            config: self.project.config::<StorageConfig>(),
            blobs: self.blobs.clone(),
            tasks: self.tasks.clone(),
        };
        let caller = Caller::for_service("service_role");
        let context = RequestContext::with_caller(project, parts, "storage.s3.upload", caller);
        let request = S3Request {
            context: Arc::new(context),
            target: Target::parse("/b/k").expect("a target"),
            query: Query::parse(Some(query)),
            is_presigned: false,
        };
        (request, headers)
    }

    fn body(headers: &HeaderMap, bytes: &'static [u8]) -> S3Body {
        S3Body::new(Body::from(bytes), Payload::Unsigned, headers, false).expect("a body")
    }

    /// An upload with two parts.
    async fn start_upload(&self) -> String {
        let (request, headers) = self.request("uploads", 0);
        let created = create(&request, &mut Self::body(&headers, b"")).await;
        let Reply(_, xml) = Reply::of(created).await;
        let (_, id) = xml.split_once("<UploadId>").expect("an id");
        let (id, _) = id.split_once('<').expect("an end");
        for (number, bytes) in [(1, &b"one "[..]), (2, b"two")] {
            let query = format!("partNumber={number}&uploadId={id}");
            let (request, headers) = self.request(&query, bytes.len());
            let stored = upload_part(&request, &mut Self::body(&headers, bytes)).await;
            Reply::of(stored).await.is(200, "");
        }
        id.to_owned()
    }

    async fn complete(&self, id: &str) -> Result<Response, StorageError> {
        let (request, headers) = self.request(&format!("uploadId={id}"), 0);
        complete(&request, &mut Self::body(&headers, b"")).await
    }

    async fn abort(&self, id: &str) -> Reply {
        let (request, _) = self.request(&format!("uploadId={id}"), 0);
        Reply::of(abort(&request).await).await
    }
}

const DONE: &str = "<CompleteMultipartUploadResult";
const IN_PROGRESS: &str = "<Code>OperationAborted</Code>";
const GONE: &str = "<Code>NoSuchUpload</Code>";

#[tokio::test]
async fn many_completions_of_one_upload_make_one_object() {
    for fixture in [Fixture::local().await, Fixture::s3().await] {
        let nodes = [fixture.node(), fixture.node()];
        let id = nodes[0].start_upload().await;
        let complete = async |node: &Node| Reply::of(node.complete(&id).await).await;
        let replies = tokio::join!(
            complete(&nodes[0]),
            complete(&nodes[1]),
            complete(&nodes[0]),
            complete(&nodes[1])
        );

        let replies = [replies.0, replies.1, replies.2, replies.3];
        let good = replies.iter().filter(|reply| reply.1.contains(DONE));
        assert_eq!(good.count(), 1, "{replies:?}");
        let is_expected = |reply: &Reply| match reply.0 {
            200 => reply.1.contains(DONE),
            404 => reply.1.contains(GONE),
            409 => reply.1.contains(IN_PROGRESS),
            // The rows of the parts are deleted with the upload.
            400 => reply.1.contains("<Code>MissingPart</Code>"),
            _ => false,
        };
        assert!(replies.iter().all(is_expected), "{replies:?}");
        assert_eq!(fixture.rows().await, [1, 0, 0, 0]);
        Reply::of(nodes[1].complete(&id).await).await.is(404, GONE);
    }
}

#[tokio::test]
async fn a_slow_completion_keeps_its_client_and_rejects_others() {
    let fixture = Fixture::s3().await;
    let (node, other) = (fixture.node(), fixture.node());
    let id = node.start_upload().await;
    let server = fixture.server.as_ref().expect("a server");
    let slow = Fault::Delay(Duration::from_secs(4));
    server.faults().inject_for_method(Method::GET, slow);

    let response = node
        .complete(&id)
        .await
        .expect("a response that has started");
    assert_eq!(response.status(), StatusCode::OK);
    Reply::of(other.complete(&id).await)
        .await
        .is(409, IN_PROGRESS);
    assert_eq!(fixture.rows().await[..3], [0, 1, 1]);

    Reply::of(Ok(response)).await.is(200, DONE);
    assert_eq!(fixture.rows().await, [1, 0, 0, 0]);
}

#[tokio::test]
async fn an_upload_that_is_aborted_meanwhile_becomes_no_object() {
    let fixture = Fixture::s3().await;
    let node = fixture.node();
    let id = node.start_upload().await;
    let server = fixture.server.as_ref().expect("a server");
    let slow = Fault::Delay(Duration::from_secs(2));
    server.faults().inject_for_method(Method::GET, slow);

    let response = node
        .complete(&id)
        .await
        .expect("a response that has started");
    fixture.node().abort(&id).await.is(204, "");

    Reply::of(Ok(response)).await.is(200, GONE);
    assert_eq!(fixture.rows().await, [0, 0, 0, 0]);
    // The two parts and their concatenation.
    assert_eq!(fixture.count("plinth.blob_gc").await, 3);
}

#[tokio::test]
async fn a_store_that_fails_leaves_the_upload_for_another_try() {
    let fixture = Fixture::s3().await;
    let node = fixture.node();
    let id = node.start_upload().await;
    let server = fixture.server.as_ref().expect("a server");
    server
        .faults()
        .inject_for_method(Method::GET, Fault::Unavailable);

    let failed = Reply::of(node.complete(&id).await).await;
    assert!(
        failed.1.contains("<Code>InternalError</Code>"),
        "{failed:?}"
    );

    server.faults().inject(Fault::None);
    Reply::of(node.complete(&id).await).await.is(200, DONE);
    assert_eq!(fixture.rows().await, [1, 0, 0, 0]);
}

#[tokio::test]
async fn the_lease_of_a_killed_process_expires() {
    let fixture = Fixture::local().await;
    let node = fixture.node();
    let id = node.start_upload().await;
    let admin = fixture.db.admin().await;
    let lease = |until: &str| {
        format!(
            "insert into plinth.multipart_completion values ('{id}', gen_random_uuid(), {until})
             on conflict (upload_id) do update set lease_until = excluded.lease_until"
        )
    };
    let held = lease("now() + interval '1 minute'");
    admin.batch_execute(&held).await.expect("held");
    Reply::of(node.complete(&id).await)
        .await
        .is(409, IN_PROGRESS);

    let expired = lease("now() - interval '1 second'");
    admin.batch_execute(&expired).await.expect("expired");
    Reply::of(node.complete(&id).await).await.is(200, DONE);
}
