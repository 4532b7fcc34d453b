//! Secrets of a project: what its functions receive in their environment (console contract
//! §2.4.4). Kept sealed; shown to nobody but them.

use std::collections::BTreeMap;

use plinth_db::DbError;
use plinth_project::{ProjectName, ProjectRef};
use plinth_token::{InstanceKey, Secret, credential_hash};
use time::OffsetDateTime;
use tokio_postgres::GenericClient;

use crate::{Platform, PlatformError, sealed::Sealed};

const LONGEST_NAME: usize = 256;
const LONGEST_VALUE: usize = 24_576;
/// Most secrets of one project.
const MOST: i64 = 100;
/// Names that begin like this are Plinth's to give.
const OURS: &str = "SUPABASE_";

/// What may be shown of a secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredSecret {
    /// The variable's name.
    pub name: String,
    /// SHA-256 of its value.
    pub digest: String,
    /// When it was last set.
    pub updated_at: OffsetDateTime,
}

impl Platform {
    /// A project's secrets, by name.
    pub async fn list_secrets(
        &self,
        project: &ProjectName,
    ) -> Result<Vec<StoredSecret>, PlatformError> {
        let reference = self.load_project(project).await?.reference;
        let sql = "select name, digest, updated_at from platform.secrets
                   where project = $1
                   order by name collate \"C\"";
        let tables = self.tables().await?;
        let rows = tables.query(sql, &[&reference.as_str()]).await?;
        let secrets = rows.iter().map(|row| StoredSecret {
            name: row.get("name"),
            digest: row.get("digest"),
            updated_at: row.get("updated_at"),
        });
        Ok(secrets.collect())
    }

    /// Sets all of these, or none.
    pub async fn set_secrets(
        &self,
        project: &ProjectName,
        values: &BTreeMap<String, String>,
    ) -> Result<(), PlatformError> {
        for (name, value) in values {
            check(name, value)?;
        }
        let reference = self.load_project(project).await?.reference;
        let mut admin = self.admin().await?;
        let transaction = admin.transaction().await?;
        store(&transaction, &self.0.instance_key, &reference, values).await?;
        let count = "select count(*) from platform.secrets where project = $1";
        let count = transaction.query_one(count, &[&reference.as_str()]).await?;
        if count.get::<_, i64>(0) > MOST {
            return Err(PlatformError::Invalid(format!(
                "A project has at most {MOST} secrets"
            )));
        }
        self.announce_functions(&transaction, &reference).await?;
        transaction.commit().await?;
        self.tell_runner(&reference).await;
        Ok(())
    }

    /// Removes all of these; what is not there needs no removing.
    pub async fn delete_secrets(
        &self,
        project: &ProjectName,
        names: &[String],
    ) -> Result<(), PlatformError> {
        let reference = self.load_project(project).await?.reference;
        let mut admin = self.admin().await?;
        let transaction = admin.transaction().await?;
        let sql = "delete from platform.secrets where project = $1 and name = any ($2)";
        transaction
            .execute(sql, &[&reference.as_str(), &names])
            .await?;
        self.announce_functions(&transaction, &reference).await?;
        transaction.commit().await?;
        self.tell_runner(&reference).await;
        Ok(())
    }
}

/// The values by name. One that cannot be opened was sealed with another instance key.
pub(crate) async fn open_all(
    client: &impl GenericClient,
    instance_key: &InstanceKey,
    project: &ProjectRef,
) -> Result<BTreeMap<String, String>, DbError> {
    let sql = "select name, sealed_value from platform.secrets where project = $1";
    let rows = client.query(sql, &[&project.as_str()]).await?;
    let open = |row: &tokio_postgres::Row| {
        let name: String = row.get("name");
        let sealed: &str = row.get("sealed_value");
        let value = Sealed::FunctionSecret(&name).open(instance_key, project, sealed);
        let value = value.map_err(|error| {
            DbError::Misuse(format!(
                "the secret {name} of {project} is unreadable: {error}"
            ))
        })?;
        let value = value.expose().to_owned();
        Ok((name, value))
    };
    rows.iter().map(open).collect()
}

/// Seals the values and keeps them.
pub(crate) async fn store(
    client: &impl GenericClient,
    instance_key: &InstanceKey,
    project: &ProjectRef,
    values: &BTreeMap<String, String>,
) -> Result<(), PlatformError> {
    let names: Vec<&str> = values.keys().map(String::as_str).collect();
    let digests: Vec<String> = values
        .values()
        .map(|value| credential_hash(value))
        .collect();
    let seal = |(name, value): (&String, &String)| {
        Sealed::FunctionSecret(name).seal(instance_key, project, &Secret::new(value.as_str()))
    };
    let sealed: Vec<String> = values.iter().map(seal).collect();
    let sql = "insert into platform.secrets (project, name, sealed_value, digest)
               select $1, name, sealed_value, digest
               from unnest($2::text[], $3::text[], $4::text[])
                   as given (name, sealed_value, digest)
               on conflict (project, name) do update
               set sealed_value = excluded.sealed_value, digest = excluded.digest,
                   updated_at = now()";
    client
        .execute(sql, &[&project.as_str(), &names, &sealed, &digests])
        .await?;
    Ok(())
}

fn check(name: &str, value: &str) -> Result<(), PlatformError> {
    let refused = |why: String| Err(PlatformError::Invalid(why));
    let shown = name.escape_debug();
    if name.is_empty() || name.chars().count() > LONGEST_NAME {
        return refused(format!(
            "A secret's name has 1 to {LONGEST_NAME} characters"
        ));
    }
    if name.contains('=') || name.chars().any(|c| c.is_control() || c.is_whitespace()) {
        return refused(format!(
            "The secret's name {shown} contains a space, a control character or ="
        ));
    }
    if name.starts_with(OURS) {
        return refused(format!(
            "Secret name must not start with the {OURS} prefix: {shown}"
        ));
    }
    if value.chars().count() > LONGEST_VALUE {
        return refused(format!(
            "The value of {shown} has more than {LONGEST_VALUE} characters"
        ));
    }
    if value.contains('\0') {
        return refused(format!("The value of {shown} contains a NUL"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_no_environment_can_hold_is_refused() {
        let longest = "N".repeat(LONGEST_NAME);
        let value = "ü".repeat(LONGEST_VALUE);
        for (name, value) in [("STRIPE_KEY", "x"), ("a.b-c", ""), (&longest, &value)] {
            assert!(check(name, value).is_ok(), "{name}");
        }

        let (long, big) = (format!("{longest}N"), format!("{value}ü"));
        let bad = [
            ("", "x"),
            (&long, "x"),
            ("A", &big),
            ("A=B", "x"),
            ("A B", "x"),
            ("A\0", "x"),
            ("A", "x\0"),
            ("SUPABASE_URL", "x"),
        ];
        for (name, value) in bad {
            assert!(check(name, value).is_err(), "{name:?}");
        }
    }
}
