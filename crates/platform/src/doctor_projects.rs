//! Checks of `plinth doctor` about what projects show to the outside: their publishable keys, and the
//! host that they share.

use plinth_project::ProjectRef;

use crate::{Check, Platform, PlatformError, servers::Servers};

impl Platform {
    /// Applications and the account pages of a project need a publishable key.
    pub(crate) async fn publishable_key_check(&self) -> Result<Check, PlatformError> {
        let sql = "select p.ref, p.name from platform.projects p
                   where p.status = 'ACTIVE_HEALTHY' and not exists (
                       select from platform.api_keys k
                       where k.project = p.ref and k.kind = 'publishable'
                         and k.revoked_at is null)
                   order by p.created_at, p.ref";
        let rows = self.tables().await?.query(sql, &[]).await?;
        let has_configured_key = self.0.configured_keys.publishable_key.is_some();
        let is_exempt =
            |reference: &str| has_configured_key && reference == self.references().default.as_str();
        let without_key: Vec<String> = rows
            .iter()
            .filter(|row| !is_exempt(row.get("ref")))
            .map(|row| {
                format!(
                    "{} ({})",
                    row.get::<_, &str>("name"),
                    row.get::<_, &str>("ref")
                )
            })
            .collect();
        Ok(if without_key.is_empty() {
            Check::ok("publishable keys", "every project has one")
        } else {
            Check::warning(
                "publishable keys",
                format!(
                    "none is left in {}: its applications and account pages are rejected",
                    without_key.join(", ")
                ),
                "plinth keys create publishable default --ref REF",
            )
        })
    }

    /// The servers of isolated projects: how many run, and whether their data is there.
    pub(crate) async fn isolated_projects_check(&self) -> Result<Option<Check>, PlatformError> {
        let sql = "select server, bool_or(status <> 'COMING_UP') from platform.projects
                   where server is not null group by server order by server";
        let rows = self.tables().await?.query(sql, &[]).await?;
        let Servers { existing, running } = self.isolated_servers();
        if rows.is_empty() && existing.is_empty() {
            return Ok(None);
        }
        let known: Vec<(&str, bool)> = rows.iter().map(|row| (row.get(0), row.get(1))).collect();
        let missing = known.iter().filter(|(name, is_complete)| {
            *is_complete && !existing.iter().any(|server| server.as_str() == *name)
        });
        let missing: Vec<&str> = missing.map(|(name, _)| *name).collect();
        let unknown = existing
            .iter()
            .map(ProjectRef::as_str)
            .filter(|existing| !known.iter().any(|(name, _)| name == existing));
        let unknown: Vec<&str> = unknown.collect();
        Ok(Some(if !missing.is_empty() {
            Check::error(
                "isolated projects",
                format!("the data of {} is missing", missing.join(", ")),
                "restore .plinth/isolated/<ref> (and what data-location names) from a backup",
            )
        } else if !unknown.is_empty() {
            Check::warning(
                "isolated projects",
                format!("no project claims the PostgreSQL of {}", unknown.join(", ")),
                "restore the platform's database that knows them, or remove .plinth/isolated/<ref>",
            )
        } else {
            let (count, running) = (known.len(), running.len());
            let message = format!("{count} PostgreSQL server(s), {running} running");
            Check::ok("isolated projects", message)
        }))
    }

    /// Projects below one host share its cookies and storage in a browser, which is no place for
    /// projects of different parties.
    pub(crate) async fn shared_origin_check(&self) -> Result<Option<Check>, PlatformError> {
        if self.endpoints().domain.is_some() {
            return Ok(None);
        }
        let sql = "select count(distinct organization) from platform.projects
                   where status <> 'REMOVED' and kind <> 'platform'";
        let organizations: i64 = self.tables().await?.query_one(sql, &[]).await?.get(0);
        Ok((organizations > 1).then(|| {
            Check::warning(
                "shared host",
                format!(
                    "projects of {organizations} organizations are below one host, where pages \
                     and functions share the origin of the browser"
                ),
                "set plinth.domain, so that each project has a host of its own",
            )
        }))
    }
}
