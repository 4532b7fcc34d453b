//! Cleanup at the start: what a killed process left half-created.

use super::row;
use crate::{Platform, PlatformError, databases};

impl Platform {
    /// Removes projects whose creation was interrupted and databases under temporary names; returns
    /// what it did, one sentence each. Unless this is the only node, others may be creating projects
    /// now: then only rows older than ten minutes without a job heartbeat count as abandoned.
    pub async fn recover(&self, is_only_node: bool) -> Result<Vec<String>, PlatformError> {
        let sql = "select p.ref, p.name from platform.projects p
                   where p.status = 'COMING_UP' and p.kind = 'ordinary'
                     and ($1 or p.created_at < now() - interval '10 minutes')
                     and ($1 or not exists (
                         select from platform.jobs j
                         where j.project = p.ref and j.state in ('queued', 'running')
                           and j.updated_at > now() - interval '1 minute'))";
        let rows = self.tables().await?.query(sql, &[&is_only_node]).await?;
        let mut recovered = Vec::new();
        for row in &rows {
            let (reference, name) = (row::parse_ref(row.get(0))?, row.get::<_, &str>(1));
            match self.remove_project(&reference).await {
                Ok(()) => recovered.push(format!("removed the half-created project {name}")),
                // One project that cannot be removed must not keep all others from being served.
                Err(error) => {
                    tracing::warn!(project = %reference, "removing a half-created project failed: {error}");
                }
            }
        }
        self.adopt_jobs(is_only_node).await?;
        if is_only_node {
            recovered.extend(self.drop_leftovers().await?);
        }
        Ok(recovered)
    }

    /// Drops `<database>_new` and `<database>_old` of projects' databases.
    async fn drop_leftovers(&self) -> Result<Vec<String>, PlatformError> {
        let admin = self.admin().await?;
        let sql = "select d.datname::text
                   from pg_database d
                   join platform.projects p on d.datname in (p.database || '_new', p.database || '_old')";
        let mut dropped = Vec::new();
        for row in &admin.query(sql, &[]).await? {
            let name: String = row.get(0);
            databases::drop_database(&admin, &name).await?;
            dropped.push(format!("dropped the leftover database {name}"));
        }
        Ok(dropped)
    }

    /// Databases that are named like a ref and belong to no project, for `plinth doctor`.
    pub async fn orphan_databases(&self) -> Result<Vec<String>, PlatformError> {
        let sql = "select d.datname::text
                   from pg_database d
                   where d.datname ~ '^[a-z]{20}$'
                     and not exists (select from platform.projects p where p.database = d.datname)
                   order by 1";
        let rows = self.tables().await?.query(sql, &[]).await?;
        Ok(rows.iter().map(|row| row.get(0)).collect())
    }
}
