//! Completing an upload, on a store of each kind and with a second node.

use std::{sync::Arc, time::Duration};

use axum::{body::Body, response::Response};
use http::{HeaderMap, Method, StatusCode};
use http_body_util::BodyExt as _;
use plinth_db::PoolConfig;
use plinth_log::LogStore;
use plinth_project::{Caller, Project, ProjectDb, ProjectKeys, ProjectKind, ProjectRef};
use plinth_settings::{Loader, SettingsHandle};
use plinth_testkit::TestDatabase;
use plinth_teststore::Mood;
use plinth_token::KeySet;
use tempfile::TempDir;
use tokio_postgres::Client;
use tokio_util::task::TaskTracker;

use super::{abort, complete, create, upload_part};
use crate::{
    StorageConfig,
    blobs::{Blobs, LocalBlobs, StoreStage},
    error::StorageError,
    request::Context,
    s3::{Request, authenticate::Payload, body::S3Body, error, operation::Target, query::Query},
};

struct Stage {
    db: TestDatabase,
    keys: ProjectKeys,
    blobs: Blobs,
    server: Option<StoreStage>,
    _folder: TempDir,
}

/// A node on the stage.
struct Node {
    project: Project,
    blobs: Blobs,
    tasks: TaskTracker,
}

impl Stage {
    async fn local() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let blobs = Blobs::Local(LocalBlobs::new(folder.path().to_owned(), false));
        Self::with(blobs, None, folder).await
    }

    async fn s3() -> Self {
        let server = StoreStage::start().await;
        let blobs = Blobs::S3(server.blobs.clone());
        Self::with(blobs, Some(server), tempfile::tempdir().expect("a folder")).await
    }

    async fn with(blobs: Blobs, server: Option<StoreStage>, folder: TempDir) -> Self {
        let db = TestDatabase::create().await;
        let bucket = "insert into storage.buckets (id, name) values ('b', 'b')";
        db.admin()
            .await
            .batch_execute(bucket)
            .await
            .expect("a bucket");
        let keys = KeySet::builder().legacy_secret("a secret that is long enough for HMAC");
        Self {
            db,
            keys: ProjectKeys::new(keys.build().expect("a good secret")),
            blobs,
            server,
            _folder: folder,
        }
    }

    fn node(&self) -> Node {
        let settings = Loader::new().load().expect("good settings").settings;
        let (logs, _writer) = LogStore::open(std::env::temp_dir(), plinth_log::Config::default())
            .expect("a log store");
        let login = self.db.target().options("-c role=plinth_storage");
        let project = Project::new(
            ProjectRef::generate(),
            ProjectKind::Default,
            ProjectDb::alone(login, PoolConfig::default()),
            self.keys.clone(),
            SettingsHandle::new(settings),
            logs,
        );
        Node {
            project,
            blobs: self.blobs.clone(),
            tasks: TaskTracker::new(),
        }
    }

    async fn count(&self, of: &str) -> i64 {
        let admin: Client = self.db.admin().await;
        let sql = format!("select count(*) from {of}");
        admin.query_one(&sql, &[]).await.expect(&sql).get(0)
    }

    /// Objects, uploads, turns, and bytes that nothing names yet.
    async fn rows(&self) -> [i64; 4] {
        [
            self.count("storage.objects").await,
            self.count("storage.s3_multipart_uploads").await,
            self.count("plinth.multipart_completion").await,
            self.count("plinth.pending_blob").await,
        ]
    }
}

/// A status, and what was said.
#[derive(Debug, PartialEq)]
struct Said(u16, String);

impl Said {
    async fn of(answer: Result<Response, StorageError>) -> Self {
        let answer = answer.unwrap_or_else(|refusal| error::respond(&refusal, "b/k", false));
        let status = answer.status().as_u16();
        let bytes = answer.into_body().collect().await.expect("bytes");
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
    fn request(&self, query: &str, length: usize) -> (Request, HeaderMap) {
        let request = http::Request::builder()
            .method(Method::POST)
            .header("content-length", length)
            .uri(format!("/s3/b/k?{query}"));
        let (parts, ()) = request.body(()).expect("a request").into_parts();
        let headers = parts.headers.clone();
        let context = Context::of_caller(
            self.project.clone(),
            self.project.config::<StorageConfig>(),
            self.blobs.clone(),
            parts,
            "storage.s3.upload",
            self.tasks.clone(),
            Caller::of_service("service_role"),
        );
        let request = Request {
            context: Arc::new(context),
            target: Target::read("/b/k").expect("a target"),
            query: Query::read(Some(query)),
            is_link: false,
        };
        (request, headers)
    }

    fn body(headers: &HeaderMap, bytes: &'static [u8]) -> S3Body {
        S3Body::new(Body::from(bytes), Payload::Unsigned, headers, false).expect("a body")
    }

    /// An upload with two parts.
    async fn begin(&self) -> String {
        let (request, headers) = self.request("uploads", 0);
        let created = create(&request, &mut Self::body(&headers, b"")).await;
        let Said(_, xml) = Said::of(created).await;
        let (_, id) = xml.split_once("<UploadId>").expect("an id");
        let (id, _) = id.split_once('<').expect("an end");
        for (number, bytes) in [(1, &b"one "[..]), (2, b"two")] {
            let query = format!("partNumber={number}&uploadId={id}");
            let (request, headers) = self.request(&query, bytes.len());
            let stored = upload_part(&request, &mut Self::body(&headers, bytes)).await;
            Said::of(stored).await.is(200, "");
        }
        id.to_owned()
    }

    async fn complete(&self, id: &str) -> Result<Response, StorageError> {
        let (request, headers) = self.request(&format!("uploadId={id}"), 0);
        complete(&request, &mut Self::body(&headers, b"")).await
    }

    async fn abort(&self, id: &str) -> Said {
        let (request, _) = self.request(&format!("uploadId={id}"), 0);
        Said::of(abort(&request).await).await
    }
}

const DONE: &str = "<CompleteMultipartUploadResult";
const UNDER_WAY: &str = "<Code>OperationAborted</Code>";
const GONE: &str = "<Code>NoSuchUpload</Code>";

#[tokio::test]
async fn many_completions_of_one_upload_make_one_object() {
    for stage in [Stage::local().await, Stage::s3().await] {
        let nodes = [stage.node(), stage.node()];
        let id = nodes[0].begin().await;
        let ask = async |node: &Node| Said::of(node.complete(&id).await).await;
        let said = tokio::join!(
            ask(&nodes[0]),
            ask(&nodes[1]),
            ask(&nodes[0]),
            ask(&nodes[1])
        );

        let said = [said.0, said.1, said.2, said.3];
        let good = said.iter().filter(|said| said.1.contains(DONE));
        assert_eq!(good.count(), 1, "{said:?}");
        let is_expected = |said: &Said| match said.0 {
            200 => said.1.contains(DONE),
            404 => said.1.contains(GONE),
            409 => said.1.contains(UNDER_WAY),
            // All parts are gone with the upload.
            400 => said.1.contains("<Code>MissingPart</Code>"),
            _ => false,
        };
        assert!(said.iter().all(is_expected), "{said:?}");
        assert_eq!(stage.rows().await, [1, 0, 0, 0]);
        Said::of(nodes[1].complete(&id).await).await.is(404, GONE);
    }
}

#[tokio::test]
async fn a_slow_store_keeps_the_client_and_others_are_told_to_wait() {
    let stage = Stage::s3().await;
    let (node, other) = (stage.node(), stage.node());
    let id = node.begin().await;
    let server = stage.server.as_ref().expect("a server");
    let slow = Mood::Slow(Duration::from_secs(4));
    server.switch().set_for(Method::GET, slow);

    let begun = node.complete(&id).await.expect("an answer that has begun");
    assert_eq!(begun.status(), StatusCode::OK);
    Said::of(other.complete(&id).await).await.is(409, UNDER_WAY);
    assert_eq!(stage.rows().await[..3], [0, 1, 1]);

    Said::of(Ok(begun)).await.is(200, DONE);
    assert_eq!(stage.rows().await, [1, 0, 0, 0]);
}

#[tokio::test]
async fn an_upload_that_was_given_up_meanwhile_becomes_no_object() {
    let stage = Stage::s3().await;
    let node = stage.node();
    let id = node.begin().await;
    let server = stage.server.as_ref().expect("a server");
    let slow = Mood::Slow(Duration::from_secs(2));
    server.switch().set_for(Method::GET, slow);

    let begun = node.complete(&id).await.expect("an answer that has begun");
    stage.node().abort(&id).await.is(204, "");

    Said::of(Ok(begun)).await.is(200, GONE);
    assert_eq!(stage.rows().await, [0, 0, 0, 0]);
    // The two parts and what was made of them.
    assert_eq!(stage.count("plinth.blob_gc").await, 3);
}

#[tokio::test]
async fn a_store_that_fails_leaves_the_upload_for_another_try() {
    let stage = Stage::s3().await;
    let node = stage.node();
    let id = node.begin().await;
    let server = stage.server.as_ref().expect("a server");
    server.switch().set_for(Method::GET, Mood::Unavailable);

    let refused = Said::of(node.complete(&id).await).await;
    assert!(
        refused.1.contains("<Code>InternalError</Code>"),
        "{refused:?}"
    );

    server.switch().set(Mood::Good);
    Said::of(node.complete(&id).await).await.is(200, DONE);
    assert_eq!(stage.rows().await, [1, 0, 0, 0]);
}

#[tokio::test]
async fn a_turn_of_a_process_that_was_killed_ends() {
    let stage = Stage::local().await;
    let node = stage.node();
    let id = node.begin().await;
    let admin = stage.db.admin().await;
    let take = |until: &str| {
        format!(
            "insert into plinth.multipart_completion values ('{id}', gen_random_uuid(), {until})
             on conflict (upload_id) do update set lease_until = excluded.lease_until"
        )
    };
    let taken = take("now() + interval '1 minute'");
    admin.batch_execute(&taken).await.expect("taken");
    Said::of(node.complete(&id).await).await.is(409, UNDER_WAY);

    let over = take("now() - interval '1 second'");
    admin.batch_execute(&over).await.expect("over");
    Said::of(node.complete(&id).await).await.is(200, DONE);
}
