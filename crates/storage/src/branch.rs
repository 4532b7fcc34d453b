//! The files of a branch. Its rows came with the copy of the database; here it gets the blobs that
//! the rows name: as hard links on a disk, as copies within an S3 store.
//!
//! The branch serves no requests yet, and where anything fails the whole branch is deleted again.

use std::io;

use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use plinth_db::Queries as _;
use plinth_project::{Project, Service};
use uuid::Uuid;

use crate::{
    blobs::{Blobs, Version},
    request::RequestContext,
};

/// Rows per query.
const PAGE_SIZE: i64 = 500;
/// Blobs that are copied at the same time.
const CONCURRENCY: usize = 16;

/// Gives a project, which is a copy of another one, the blobs that its rows name: from `source`,
/// the blobs of that one.
pub(crate) async fn copy_files(context: &RequestContext, source: &Blobs) -> io::Result<()> {
    delete_unfinished_uploads(context).await?;
    let mut after = None;
    loop {
        let page = objects(&context.project, after).await?;
        let Some((last, _)) = page.last() else {
            return Ok(());
        };
        after = Some(*last);
        let versions = page
            .into_iter()
            .filter_map(|(_, version)| version)
            .collect();
        let missing = copy_blobs(context, source, versions).await?;
        delete_objects(context, &missing).await?;
    }
}

/// Uploads in flight continue in the project that they were begun in; its garbage collection also
/// removes what the ledger lists there.
async fn delete_unfinished_uploads(context: &RequestContext) -> io::Result<()> {
    const UPLOADS: &str = "delete from storage.s3_multipart_uploads";
    const LEDGER: &str = "
        delete from plinth.resumable_upload;
        delete from plinth.pending_blob;
        delete from plinth.blob_gc
    ";
    let deleted = context.as_service_role().query(UPLOADS, &[]).await;
    deleted.map_err(io::Error::other)?;
    let connection = context.project.db.as_service(Service::Storage).await;
    let mut connection = connection.map_err(io::Error::other)?;
    let deleted = connection.batch_execute(LEDGER).await;
    deleted.map_err(io::Error::other)
}

/// Gives the versions that the source does not have.
async fn copy_blobs(
    context: &RequestContext,
    source: &Blobs,
    versions: Vec<Version>,
) -> io::Result<Vec<String>> {
    let copied = stream::iter(versions).map(|version| {
        let (source, target) = (source.clone(), context.blobs.clone());
        async move {
            let is_there = target.import(&source, &version).await?;
            io::Result::Ok((!is_there).then(|| version.to_string()))
        }
    });
    let copied = copied.buffer_unordered(CONCURRENCY);
    copied
        .try_filter_map(async |missing| Ok(missing))
        .try_collect()
        .await
}

/// Objects whose blobs the source lost while it was copied.
async fn delete_objects(context: &RequestContext, versions: &[String]) -> io::Result<()> {
    const SQL: &str = "delete from storage.objects where version = any($1)";
    if versions.is_empty() {
        return Ok(());
    }
    let (reference, count) = (context.project.reference(), versions.len());
    tracing::warn!("branch {reference}: {count} object(s) left out, their blobs are missing");
    let deleted = context.as_service_role().query(SQL, &[&versions]).await;
    deleted.map(drop).map_err(io::Error::other)
}

/// The next page of rows, and the versions that they name.
async fn objects(
    project: &Project,
    after: Option<Uuid>,
) -> io::Result<Vec<(Uuid, Option<Version>)>> {
    const SQL: &str = "
        select o.id, o.version from storage.objects o
        where $1::uuid is null or o.id > $1
        order by o.id
        limit $2
    ";
    let connection = project.db.as_service(Service::Storage).await;
    let mut connection = connection.map_err(io::Error::other)?;
    let rows = connection.query(SQL, &[&after, &PAGE_SIZE]).await;
    let rows = rows.map_err(io::Error::other)?;
    let read = |row: &plinth_db::Row| {
        let version: Option<String> = row.get("version");
        (row.get("id"), version.as_deref().and_then(Version::parse))
    };
    Ok(rows.iter().map(read).collect())
}
