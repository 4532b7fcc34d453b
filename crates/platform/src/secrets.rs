//! Secrets of a project, which its functions receive as environment variables (console contract
//! §2.4.4). Stored sealed; the API never returns their values.

use std::collections::BTreeMap;

use plinth_db::DbError;
use plinth_project::{ProjectName, ProjectRef};
use plinth_token::{InstanceKey, Secret, credential_hash};
use time::OffsetDateTime;
use tokio_postgres::GenericClient;

use crate::{Platform, PlatformError, sealed::Sealed};

const MAX_NAME_CHARS: usize = 256;
const MAX_VALUE_CHARS: usize = 24_576;
/// Secrets per project.
const MAX_SECRETS: i64 = 100;
/// Prefix of the variables that Plinth sets itself.
const RESERVED_PREFIX: &str = "SUPABASE_";

/// A secret without its value.
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

    /// Sets all of these in one transaction.
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
        if count.get::<_, i64>(0) > MAX_SECRETS {
            return Err(PlatformError::Invalid(format!(
                "A project has at most {MAX_SECRETS} secrets"
            )));
        }
        self.notify_functions_changed(&transaction, &reference)
            .await?;
        transaction.commit().await?;
        self.reload_functions(&reference).await;
        Ok(())
    }

    /// Removes these; unknown names are ignored.
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
        self.notify_functions_changed(&transaction, &reference)
            .await?;
        transaction.commit().await?;
        self.reload_functions(&reference).await;
        Ok(())
    }
}

/// The values by name. Fails if one was sealed with another instance key.
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

/// Seals the values and stores them.
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
    let invalid = |why: String| Err(PlatformError::Invalid(why));
    let shown = name.escape_debug();
    if name.is_empty() || name.chars().count() > MAX_NAME_CHARS {
        return invalid(format!(
            "A secret's name has 1 to {MAX_NAME_CHARS} characters"
        ));
    }
    if name.contains('=') || name.chars().any(|c| c.is_control() || c.is_whitespace()) {
        return invalid(format!(
            "The secret's name {shown} contains a space, a control character or ="
        ));
    }
    if name.starts_with(RESERVED_PREFIX) {
        return invalid(format!(
            "Secret name must not start with the {RESERVED_PREFIX} prefix: {shown}"
        ));
    }
    if value.chars().count() > MAX_VALUE_CHARS {
        return invalid(format!(
            "The value of {shown} has more than {MAX_VALUE_CHARS} characters"
        ));
    }
    if value.contains('\0') {
        return invalid(format!("The value of {shown} contains a NUL"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invalid_names_and_values_are_rejected() {
        let longest = "N".repeat(MAX_NAME_CHARS);
        let value = "ü".repeat(MAX_VALUE_CHARS);
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
