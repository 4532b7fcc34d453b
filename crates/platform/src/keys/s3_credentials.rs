//! Credentials of S3 clients: an access key and a secret key (storage contract §6.1).

use plinth_project::{ProjectName, ProjectRef, S3Pair};
use plinth_token::{InstanceKey, SERVICE_ROLE, Secret};
use serde_json::{Map, Value, json};
use time::OffsetDateTime;
use tokio_postgres::{GenericClient, Row};
use uuid::Uuid;

use crate::{Platform, PlatformError, sealed::Sealed};

const MAX_CREDENTIALS: i64 = 50;
/// Claims about the validity of a token; a credential is valid until it is deleted.
const VALIDITY_CLAIMS: [&str; 3] = ["iss", "iat", "exp"];

/// Parameters of a new credential.
#[derive(Debug, Clone)]
pub struct S3CredentialRequest {
    /// 3 to 2000 characters.
    pub description: String,
    /// Claims of requests signed with it; without a role they run as `service_role`.
    pub claims: Map<String, Value>,
}

/// A stored credential, with its secret key opened.
#[derive(Debug, Clone)]
pub struct StoredS3Credential {
    /// Its row.
    pub id: Uuid,
    /// Free text.
    pub description: String,
    /// Identifies the credential; 32 hexadecimal digits.
    pub access_key: String,
    /// Signs; 64 hexadecimal digits.
    pub secret_key: Secret,
    claims: Map<String, Value>,
    /// When it was created.
    pub created_at: OffsetDateTime,
}

const COLUMNS: &str = "id, description, access_key, sealed_secret_key, claims, created_at";

impl StoredS3Credential {
    fn from_row(
        row: &Row,
        instance_key: &InstanceKey,
        reference: &ProjectRef,
    ) -> Result<Self, PlatformError> {
        let sealed: &str = row.get("sealed_secret_key");
        let secret_key = Sealed::S3SecretKey.open(instance_key, reference, sealed);
        let claims: Value = row.get("claims");
        Ok(Self {
            id: row.get("id"),
            description: row.get("description"),
            access_key: row.get("access_key"),
            secret_key: secret_key.map_err(PlatformError::caused_by)?,
            claims: claims.as_object().cloned().unwrap_or_default(),
            created_at: row.get("created_at"),
        })
    }

    /// The form in which requests are verified.
    pub(super) fn into_pair(self) -> (String, S3Pair) {
        let pair = S3Pair::new(self.id, self.secret_key, self.claims);
        (self.access_key, pair)
    }
}

impl Platform {
    /// All credentials, oldest first.
    pub async fn list_s3_credentials(
        &self,
        project: &ProjectName,
    ) -> Result<Vec<StoredS3Credential>, PlatformError> {
        let reference = self.load_project(project).await?.reference;
        let tables = self.tables().await?;
        list(&*tables, &self.0.instance_key, &reference).await
    }

    /// Creates a credential.
    pub async fn create_s3_credential(
        &self,
        project: &ProjectName,
        request: &S3CredentialRequest,
    ) -> Result<StoredS3Credential, PlatformError> {
        let request = checked(request)?;
        let reference = self.load_project(project).await?.reference;
        let mut admin = self.admin().await?;
        let transaction = admin.transaction().await?;
        // Serialises concurrent creations, so that the count is right.
        let lock = "select from platform.projects where ref = $1 for update";
        transaction.execute(lock, &[&reference.as_str()]).await?;
        let count = "select count(*) from platform.s3_credentials where project = $1";
        let count = transaction.query_one(count, &[&reference.as_str()]).await?;
        if count.get::<_, i64>(0) >= MAX_CREDENTIALS {
            return Err(PlatformError::Invalid(
                "You have reached the maximum number of credentials allowed".to_owned(),
            ));
        }
        let made = insert(&self.0.instance_key, &transaction, &reference, &request).await?;
        transaction.commit().await?;
        Ok(made)
    }

    /// Revokes a credential at once.
    pub async fn delete_s3_credential(
        &self,
        project: &ProjectName,
        id: Uuid,
    ) -> Result<(), PlatformError> {
        let reference = self.load_project(project).await?.reference;
        let sql = "delete from platform.s3_credentials where project = $1 and id = $2";
        let tables = self.tables().await?;
        match tables.execute(sql, &[&reference.as_str(), &id]).await? {
            0 => Err(PlatformError::NotFound(format!(
                "There is no S3 credential {id}"
            ))),
            _ => Ok(()),
        }
    }
}

pub(super) async fn list(
    client: &impl GenericClient,
    instance_key: &InstanceKey,
    reference: &ProjectRef,
) -> Result<Vec<StoredS3Credential>, PlatformError> {
    let sql = format!(
        "select {COLUMNS} from platform.s3_credentials where project = $1
         order by created_at, id"
    );
    let rows = client.query(&sql, &[&reference.as_str()]).await?;
    rows.iter()
        .map(|row| StoredS3Credential::from_row(row, instance_key, reference))
        .collect()
}

/// The credential that every project starts with.
pub(super) async fn insert_first(
    instance_key: &InstanceKey,
    client: &impl GenericClient,
    reference: &ProjectRef,
) -> Result<(), PlatformError> {
    let request = S3CredentialRequest {
        description: super::FIRST_KEY_NAME.to_owned(),
        claims: Map::from_iter([("role".to_owned(), json!(SERVICE_ROLE))]),
    };
    insert(instance_key, client, reference, &request).await?;
    Ok(())
}

async fn insert(
    instance_key: &InstanceKey,
    client: &impl GenericClient,
    reference: &ProjectRef,
    request: &S3CredentialRequest,
) -> Result<StoredS3Credential, PlatformError> {
    let access_key = Uuid::new_v4().simple().to_string();
    // 64 hexadecimal digits, derived from a random key that is thrown away.
    let secret_key = InstanceKey::generate().derive("s3_secret_key");
    let sealed = Sealed::S3SecretKey.seal(instance_key, reference, &secret_key);
    let sql = format!(
        "insert into platform.s3_credentials
             (project, access_key, sealed_secret_key, description, claims)
         values ($1, $2, $3, $4, $5)
         returning {COLUMNS}"
    );
    let claims = Value::Object(request.claims.clone());
    let row = client
        .query_one(
            &sql,
            &[
                &reference.as_str(),
                &access_key,
                &sealed,
                &request.description,
                &claims,
            ],
        )
        .await?;
    StoredS3Credential::from_row(&row, instance_key, reference)
}

fn checked(request: &S3CredentialRequest) -> Result<S3CredentialRequest, PlatformError> {
    let mut request = request.clone();
    let length = request.description.chars().count();
    if !(3..=2000).contains(&length) || request.description.contains('\0') {
        return Err(PlatformError::Invalid(
            "A description has 3 to 2000 characters".to_owned(),
        ));
    }
    for name in VALIDITY_CLAIMS {
        request.claims.remove(name);
    }
    for name in ["role", "sub"] {
        let is_valid = match request.claims.get(name) {
            None => true,
            Some(Value::String(text)) => !text.is_empty() && !text.contains('\0'),
            Some(_) => false,
        };
        if !is_valid {
            return Err(PlatformError::Invalid(format!(
                "The claim {name} is a text, and not an empty one"
            )));
        }
    }
    let role = || json!(SERVICE_ROLE);
    request.claims.entry("role".to_owned()).or_insert_with(role);
    Ok(request)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(description: &str, claims: Value) -> S3CredentialRequest {
        S3CredentialRequest {
            description: description.to_owned(),
            claims: claims.as_object().cloned().expect("an object"),
        }
    }

    #[test]
    fn claims_about_validity_are_removed() {
        let given = request(
            "backup",
            json!({ "sub": "u1", "exp": 1, "iat": 1, "iss": "x" }),
        );

        let claims = checked(&given).expect("good claims").claims;

        let expected = json!({ "sub": "u1", "role": "service_role" });
        assert_eq!(Value::Object(claims), expected);
    }

    #[test]
    fn invalid_descriptions_and_claims_are_rejected() {
        let check = |description: &str, claims| {
            assert!(
                checked(&request(description, claims)).is_err(),
                "{description}"
            );
        };
        check("ab", json!({}));
        check(&"x".repeat(2001), json!({}));
        check("a role", json!({ "role": 1 }));
        check("a sub", json!({ "sub": "" }));
    }
}
