//! The files of a branch. Its rows came with the copy of the database; their bytes are given to it
//! here, under the versions that the rows name: as links on a disk, as copies within an S3 store.
//!
//! Nobody is served by the branch yet, and whatever fails takes all of it away again.

use std::io;

use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use plinth_db::Queries as _;
use plinth_project::{Project, ProjectRef, Service};
use uuid::Uuid;

use crate::{StorageService, blobs::Version};

/// Rows that are read at once.
const PAGE: i64 = 500;
/// Blobs that are copied at once.
const AT_ONCE: usize = 16;

impl StorageService {
    /// Gives a copy of a project the bytes that its rows name.
    pub(crate) async fn copy_files(&self, from: &ProjectRef, to: &Project) -> io::Result<()> {
        self.forget_unfinished_work(to).await?;
        let mut after = None;
        loop {
            let page = objects(to, after).await?;
            let Some((last, _)) = page.last() else {
                return Ok(());
            };
            after = Some(*last);
            let versions = page
                .into_iter()
                .filter_map(|(_, version)| version)
                .collect();
            let missing = self.copy_blobs(from, to, versions).await?;
            self.forget_objects(to, &missing).await?;
        }
    }

    /// Uploads that are under way go on in the project that they were begun in, which also removes
    /// what is to go there.
    async fn forget_unfinished_work(&self, project: &Project) -> io::Result<()> {
        const UPLOADS: &str = "delete from storage.s3_multipart_uploads";
        const LEDGER: &str = "
            delete from plinth.resumable_upload;
            delete from plinth.pending_blob;
            delete from plinth.blob_gc
        ";
        let context = self.own_context(project);
        let forgotten = context.as_service_role().query(UPLOADS, &[]).await;
        forgotten.map_err(io::Error::other)?;
        let connection = project.db.as_service(Service::Storage).await;
        let mut connection = connection.map_err(io::Error::other)?;
        let forgotten = connection.batch_execute(LEDGER).await;
        forgotten.map_err(io::Error::other)
    }

    /// Gives those that there was nothing to copy of.
    async fn copy_blobs(
        &self,
        from: &ProjectRef,
        to: &Project,
        versions: Vec<Version>,
    ) -> io::Result<Vec<String>> {
        let (source, target) = (self.blobs_of(from), self.blobs(to));
        let copied = stream::iter(versions).map(|version| {
            let (source, target) = (source.clone(), target.clone());
            async move {
                let is_there = target.import(&source, &version).await?;
                io::Result::Ok((!is_there).then(|| version.to_string()))
            }
        });
        let copied = copied.buffer_unordered(AT_ONCE);
        copied
            .try_filter_map(async |missing| Ok(missing))
            .try_collect()
            .await
    }

    /// What the project lost while it was copied, its copy cannot have.
    async fn forget_objects(&self, project: &Project, versions: &[String]) -> io::Result<()> {
        const SQL: &str = "delete from storage.objects where version = any($1)";
        if versions.is_empty() {
            return Ok(());
        }
        let (reference, count) = (project.reference(), versions.len());
        tracing::warn!("{count} file(s) of {reference} are left out: their bytes are missing");
        let context = self.own_context(project);
        let forgotten = context.as_service_role().query(SQL, &[&versions]).await;
        forgotten.map(drop).map_err(io::Error::other)
    }
}

/// The next rows, and the bytes that they name.
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
    let rows = connection.query(SQL, &[&after, &PAGE]).await;
    let rows = rows.map_err(io::Error::other)?;
    let read = |row: &plinth_db::Row| {
        let version: Option<String> = row.get("version");
        (row.get("id"), version.as_deref().and_then(Version::parse))
    };
    Ok(rows.iter().map(read).collect())
}
