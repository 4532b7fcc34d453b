//! What a start repairs: the remains of a process that was killed half-way.

use super::row;
use crate::{Platform, PlatformError, databases};

impl Platform {
    /// Clears away projects whose creation never ended and databases under passing names.
    /// Other nodes may be creating projects right now, so only old rows count as abandoned
    /// unless this process is the only one (`alone`); those with a job that still reports do not.
    pub async fn heal(&self, alone: bool) -> Result<Vec<String>, PlatformError> {
        let sql = "select p.ref, p.name from platform.projects p
                   where p.status = 'COMING_UP' and p.kind = 'ordinary'
                     and ($1 or p.created_at < now() - interval '10 minutes')
                     and ($1 or not exists (
                         select from platform.jobs j
                         where j.project = p.ref and j.state = 'running'
                           and j.updated_at > now() - interval '1 minute'))";
        let rows = self.tables().await?.query(sql, &[&alone]).await?;
        let mut healed = Vec::new();
        for row in &rows {
            self.clear_away(&row::parse_ref(row.get(0))?).await?;
            healed.push(format!(
                "cleared away the half-created project {}",
                row.get::<_, &str>(1)
            ));
        }
        self.end_abandoned_jobs(alone).await?;
        if alone {
            healed.extend(self.drop_leftovers().await?);
        }
        Ok(healed)
    }

    /// `<database>_new` and `<database>_old` of databases that are ours.
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

    /// Databases with a ref for a name that no project claims, for `plinth doctor`.
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
