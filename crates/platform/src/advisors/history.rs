//! When findings were there.

use std::collections::HashMap;

use plinth_advisor::{Category, Level, Report};
use plinth_project::{ProjectName, ProjectRef};
use time::OffsetDateTime;

use crate::{Platform, PlatformError};

/// A finding of some run.
#[derive(Debug, Clone)]
pub(crate) struct FindingRow {
    pub(crate) name: String,
    pub(crate) title: String,
    pub(crate) level: String,
    pub(crate) detail: String,
    pub(crate) cache_key: String,
    pub(crate) seen: SeenFinding,
}

/// When a finding was there.
#[derive(Debug, Clone)]
pub(crate) struct SeenFinding {
    pub(crate) first_at: OffsetDateTime,
    pub(crate) last_at: OffsetDateTime,
    pub(crate) resolved_at: Option<OffsetDateTime>,
}

/// $1: project, $2 to $6: findings.
const RECORD: &str = "
    insert into platform.advisor_findings as f (project, cache_key, name, title, level, detail)
    select $1, * from unnest($2::text[], $3::text[], $4::text[], $5::text[], $6::text[])
    on conflict (project, cache_key) do update
    set level = excluded.level, detail = excluded.detail, last_seen_at = now(),
        first_seen_at = case when f.resolved_at is null then f.first_seen_at else now() end,
        resolved_at = null";
/// $1: project, $2: keys of findings, $3: checks that were run.
const RESOLVE: &str = "
    update platform.advisor_findings set resolved_at = now()
    where project = $1 and resolved_at is null and cache_key <> all ($2) and name = any ($3)";
/// Old findings are no history that anybody reads.
const FORGET: &str = "
    delete from platform.advisor_findings
    where project = $1 and resolved_at < now() - interval '90 days'";

impl Platform {
    /// Writes down what a run found, and what it found no more.
    pub(super) async fn record_findings(
        &self,
        project: &ProjectRef,
        report: &Report,
        category: Option<Category>,
    ) -> Result<(), PlatformError> {
        let lints = &report.lints;
        let keys: Vec<&str> = lints.iter().map(|lint| lint.cache_key.as_str()).collect();
        let names: Vec<&str> = lints.iter().map(|lint| lint.name.as_str()).collect();
        let titles: Vec<&str> = lints.iter().map(|lint| lint.title.as_str()).collect();
        let levels: Vec<&str> = lints.iter().map(|lint| level(lint.level)).collect();
        let details: Vec<String> = lints
            .iter()
            // PostgreSQL has no NUL in texts.
            .map(|lint| lint.detail.replace('\0', " "))
            .collect();
        let ran: Vec<&str> = plinth_advisor::checks(category)
            .into_iter()
            .filter(|name| report.not_run.iter().all(|not_run| not_run.name != *name))
            .collect();
        let reference = project.as_str();
        let mut admin = self.admin().await?;
        let transaction = admin.transaction().await?;
        transaction
            .execute(
                RECORD,
                &[&reference, &keys, &names, &titles, &levels, &details],
            )
            .await?;
        transaction
            .execute(RESOLVE, &[&reference, &keys, &ran])
            .await?;
        transaction.execute(FORGET, &[&reference]).await?;
        Ok(transaction.commit().await?)
    }

    /// Findings of all runs, the latest first.
    pub(crate) async fn finding_history(
        &self,
        name: &ProjectName,
    ) -> Result<Vec<FindingRow>, PlatformError> {
        let reference = self.load_project(name).await?.reference;
        let sql =
            "select name, title, level, detail, cache_key, first_seen_at, last_seen_at, resolved_at
                   from platform.advisor_findings
                   where project = $1
                   order by resolved_at desc nulls first, first_seen_at desc, cache_key
                   limit 1000";
        let tables = self.tables().await?;
        let rows = tables.query(sql, &[&reference.as_str()]).await?;
        let finding = |row: &tokio_postgres::Row| FindingRow {
            name: row.get("name"),
            title: row.get("title"),
            level: row.get("level"),
            detail: row.get("detail"),
            cache_key: row.get("cache_key"),
            seen: SeenFinding {
                first_at: row.get("first_seen_at"),
                last_at: row.get("last_seen_at"),
                resolved_at: row.get("resolved_at"),
            },
        };
        Ok(rows.iter().map(finding).collect())
    }

    /// Since when findings are there, by their keys.
    pub(crate) async fn open_findings(
        &self,
        name: &ProjectName,
    ) -> Result<HashMap<String, OffsetDateTime>, PlatformError> {
        let rows = self.finding_history(name).await?;
        let open = rows
            .into_iter()
            .filter(|row| row.seen.resolved_at.is_none());
        Ok(open.map(|row| (row.cache_key, row.seen.first_at)).collect())
    }
}

fn level(level: Level) -> &'static str {
    match level {
        Level::Error => "ERROR",
        Level::Warn => "WARN",
        Level::Info => "INFO",
    }
}
