//! Do rows and bytes agree? (storage contract §10.3, §14.4; console contract L71)
//!
//! Rows are read first and then looked for in the store (`rows.rs`), bytes are listed first and then
//! looked for in the database (`orphans.rs`); both page by page. What seems wrong is looked at once
//! more before it is told, so that uploads, deletions and the collector may go on meanwhile.
//! What cannot be read is told, too, and the rest is looked at all the same.
//! No row is ever changed, and no byte removed: orphans can be put on the collector's list.

mod finding;
mod orphans;
mod rows;

use std::io;

use plinth_db::{DbError, Queries as _};
use plinth_project::{FileCheck, Project, ProjectDb, Service};
use serde_json::{Value, json};
use tokio::sync::mpsc;

pub(crate) use orphans::collect_orphans;

use crate::{
    blobs::{Blobs, Patience},
    config::StorageConfig,
    owner::ClaimError,
    service::StorageService,
};
use finding::Finding;

/// Lines that wait for whoever reads them.
const AHEAD: usize = 64;

/// Why a check came to no end.
#[derive(Debug, thiserror::Error)]
pub enum CheckError {
    /// The database did not answer.
    #[error(transparent)]
    Database(#[from] DbError),
    /// Nothing in the store could be read any more.
    #[error("the store cannot be read: {0}")]
    Store(io::Error),
    /// The store is somebody else's, or it is not known whose it is.
    #[error(transparent)]
    Claim(#[from] ClaimError),
    /// Nobody wants to know any more.
    #[error("nobody waits for the check any more")]
    Unwanted,
}

impl StorageService {
    /// Compares rows and bytes of a project and tells what it finds, line by line; the last line is
    /// a summary, or says why there is none. First the collector does what it would do anyway, so
    /// that what it is late with is not taken for left over.
    pub fn check(&self, project: &Project, how: FileCheck) -> mpsc::Receiver<Value> {
        let (tell, told) = mpsc::channel(AHEAD);
        let (service, project) = (self.clone(), project.clone());
        self.tasks().spawn(async move {
            let last = match service.compare(&project, how, &tell).await {
                Ok(summary) => json!({ "summary": summary.to_json() }),
                Err(error) => json!({ "error": error.to_string() }),
            };
            _ = tell.send(last).await;
        });
        told
    }

    async fn compare(
        &self,
        project: &Project,
        how: FileCheck,
        tell: &mpsc::Sender<Value>,
    ) -> Result<Summary, CheckError> {
        let collected = self.sweep(project).await?;
        let mut check = Check {
            db: &project.db,
            blobs: self.blobs(project),
            patience: project.config::<StorageConfig>().patience,
            how,
            tell,
            in_vain: 0,
            summary: Summary {
                collected,
                ..Summary::default()
            },
        };
        check.rows().await?;
        check.bytes().await?;
        check.ledger().await?;
        Ok(check.summary)
    }
}

/// A check under way.
struct Check<'a> {
    db: &'a ProjectDb,
    blobs: Blobs,
    patience: Patience,
    how: FileCheck,
    tell: &'a mpsc::Sender<Value>,
    /// Blobs in a row that could not be read.
    in_vain: usize,
    summary: Summary,
}

impl Check<'_> {
    async fn tell(&mut self, finding: &Finding) -> Result<(), CheckError> {
        self.summary.findings += 1;
        self.line(finding.to_json()).await
    }

    /// How far it got: for whoever waits, and to notice that nobody does.
    async fn tell_progress(&self) -> Result<(), CheckError> {
        let Summary { files, .. } = self.summary;
        let rows = self.summary.rows();
        self.line(json!({ "progress": { "rows": rows, "files": files } }))
            .await
    }

    async fn line(&self, line: Value) -> Result<(), CheckError> {
        self.tell.send(line).await.map_err(|_| CheckError::Unwanted)
    }

    /// What waits for the collector, and what the collector has tried in vain.
    async fn ledger(&mut self) -> Result<(), CheckError> {
        const WAITING: &str = "
            select (select count(*) from plinth.pending_blob) as pending,
                (select count(*) from plinth.blob_gc) as leaving
        ";
        const STUCK: &str = "
            select version, attempts from plinth.blob_gc
            where attempts > 0
            order by version
            limit 1000
        ";
        let mut connection = self.db.as_service(Service::Storage).await?;
        let waiting = connection.query_opt(WAITING, &[]).await?;
        let stuck = connection.query(STUCK, &[]).await?;
        drop(connection);
        if let Some(row) = waiting {
            self.summary.pending = row.get("pending");
            self.summary.leaving = row.get("leaving");
        }
        for row in &stuck {
            let version: uuid::Uuid = row.get("version");
            let finding = Finding::Stuck {
                version: version.into(),
                attempts: row.get("attempts"),
            };
            self.tell(&finding).await?;
        }
        Ok(())
    }
}

/// What was looked at.
#[derive(Debug, Default)]
struct Summary {
    objects: u64,
    parts: u64,
    /// Over several requests, and not finished.
    uploads: u64,
    /// Bytes in the store, however far they have come.
    files: u64,
    bytes: u64,
    findings: u64,
    /// Blobs that the collector took before the check.
    collected: u64,
    /// Blobs that the ledger has as being written, and as about to go.
    pending: i64,
    leaving: i64,
    /// Orphans that were handed to the collector.
    repaired: u64,
    /// Rows without a digest that bytes could be compared with.
    unverified: u64,
}

impl Summary {
    fn rows(&self) -> u64 {
        self.objects + self.parts + self.uploads
    }

    fn to_json(&self) -> Value {
        json!({
            "objects": self.objects,
            "parts": self.parts,
            "uploads": self.uploads,
            "files": self.files,
            "bytes": self.bytes,
            "findings": self.findings,
            "collected": self.collected,
            "pending": self.pending,
            "leaving": self.leaving,
            "repaired": self.repaired,
            "unverified": self.unverified,
        })
    }
}
