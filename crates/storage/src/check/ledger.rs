//! What the ledger of blobs lists.

use plinth_db::Queries as _;
use plinth_project::Service;

use super::{
    finding::Finding,
    report::{Check, CheckError},
};

impl Check<'_> {
    /// What the ledger lists, and what the garbage collection failed to remove.
    pub(super) async fn ledger(&mut self) -> Result<(), CheckError> {
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
            self.report(&finding).await?;
        }
        Ok(())
    }
}
