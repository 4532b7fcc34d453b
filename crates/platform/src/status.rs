//! How a project is reached: URLs and keys, under the names that the official tool prints.

use plinth_project::{ProjectKind, ProjectName, ProjectRef};
use plinth_token::{ApiKeyKind, Secret};

use crate::{
    Platform, PlatformError,
    database_password::PASSWORD_PLACEHOLDER,
    keys::{FIRST_KEY_NAME, LegacyKeys},
};

/// Names and values, in the order in which they are shown.
#[derive(Debug, Clone)]
pub struct Status(Vec<(&'static str, String)>);

impl Status {
    /// The pairs.
    pub fn values(&self) -> &[(&'static str, String)] {
        &self.0
    }

    /// One of them.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0
            .iter()
            .find(|(known, _)| *known == name)
            .map(|(_, value)| value.as_str())
    }

    pub(crate) fn remove(&mut self, name: &str) {
        self.0.retain(|(known, _)| *known != name);
    }

    /// All names and values.
    pub fn into_values(self) -> std::collections::BTreeMap<String, String> {
        let pairs = self.0.into_iter();
        pairs
            .map(|(name, value)| (name.to_owned(), value))
            .collect()
    }
}

impl Platform {
    /// Everything an application needs to use the project.
    pub async fn status(&self, project: &ProjectName) -> Result<Status, PlatformError> {
        let row = self.load_project(project).await?;
        let base = self.base_url(&row.reference);
        let legacy = self.legacy_keys(project).await?;
        let database = self.database_url(project).await?;
        let s3 = self.list_s3_credentials(project).await?;
        let (access_key, secret_key) = match s3.into_iter().next() {
            Some(first) => (first.access_key, first.secret_key.expose().to_owned()),
            None => Default::default(),
        };
        let LegacyKeys {
            jwt_secret,
            anon,
            service_role,
            ..
        } = &legacy;
        Ok(Status(vec![
            ("API_URL", base.clone()),
            ("REST_URL", format!("{base}/rest/v1")),
            ("FUNCTIONS_URL", format!("{base}/functions/v1")),
            ("STORAGE_S3_URL", format!("{base}/storage/v1/s3")),
            ("DB_URL", database.expose().to_owned()),
            ("STUDIO_URL", self.endpoints().api_url.clone()),
            (
                "PUBLISHABLE_KEY",
                self.first_key(project, ApiKeyKind::Publishable).await?,
            ),
            (
                "SECRET_KEY",
                self.first_key(project, ApiKeyKind::Secret).await?,
            ),
            ("ANON_KEY", anon.expose().to_owned()),
            ("SERVICE_ROLE_KEY", service_role.expose().to_owned()),
            ("JWT_SECRET", jwt_secret.expose().to_owned()),
            ("S3_PROTOCOL_ACCESS_KEY_ID", access_key),
            ("S3_PROTOCOL_ACCESS_KEY_SECRET", secret_key),
            ("S3_PROTOCOL_REGION", self.s3_region(project).await),
            ("PLINTH_REF", row.reference.to_string()),
            ("CONSOLE_URL", self.endpoints().api_url.clone()),
        ]))
    }

    /// The region of the S3 protocol; the default one if the project cannot be opened.
    async fn s3_region(&self, project: &ProjectName) -> String {
        let region = plinth_settings::keys::plinth_storage::S3_PROTOCOL_REGION;
        match self.registry().get(project).await {
            Ok(project) => project.settings().current().get(region).to_owned(),
            Err(_) => plinth_settings::Settings::default().get(region).to_owned(),
        }
    }

    /// Where the project's services are mounted.
    pub(crate) fn base_url(&self, project: &ProjectRef) -> String {
        let endpoints = self.endpoints();
        if *project == self.references().default {
            return endpoints.api_url.clone();
        }
        match &endpoints.domain {
            Some(domain) => {
                let (scheme, authority) = endpoints
                    .api_url
                    .split_once("://")
                    .unwrap_or(("http", &endpoints.api_url));
                let port = authority
                    .rsplit_once(':')
                    .map(|(_, port)| format!(":{port}"));
                format!(
                    "{scheme}://{}.{domain}{}",
                    project,
                    port.unwrap_or_default()
                )
            }
            None => format!("{}/p/{project}", endpoints.api_url),
        }
    }

    /// The connection string of the project's owner. A password that only the owner knows is shown as
    /// on the hosted service, by a placeholder.
    pub async fn database_url(&self, project: &ProjectName) -> Result<Secret, PlatformError> {
        let row = self.load_project(project).await?;
        let endpoints = self.endpoints();
        let Some((host, port)) = &endpoints.database else {
            let url = endpoints.external_database.as_deref().unwrap_or_default();
            return Ok(Secret::new(with_database(url, &row.database)));
        };
        let user = match row.kind {
            ProjectKind::Default => "postgres".to_owned(),
            _ => format!("postgres.{}", row.reference),
        };
        let password = match self.owner_password(&row.reference).await? {
            Some(password) => percent_encode(password.expose()),
            None => PASSWORD_PLACEHOLDER.to_owned(),
        };
        Ok(Secret::new(format!(
            "postgresql://{user}:{password}@{host}:{port}/postgres"
        )))
    }

    /// The key that a project's own pages use; `None` once the last one is revoked.
    pub async fn publishable_key(
        &self,
        project: &ProjectRef,
    ) -> Result<Option<String>, PlatformError> {
        let name = ProjectName::Ref(project.clone());
        let key = self.first_key(&name, ApiKeyKind::Publishable).await?;
        Ok((!key.is_empty()).then_some(key))
    }

    /// The configured key of that kind, else the one named `default`, else the oldest.
    async fn first_key(
        &self,
        project: &ProjectName,
        kind: ApiKeyKind,
    ) -> Result<String, PlatformError> {
        if self.reference_of(project) == self.0.references.default {
            let configured = match kind {
                ApiKeyKind::Publishable => &self.0.configured_keys.publishable_key,
                ApiKeyKind::Secret => &self.0.configured_keys.secret_key,
            };
            if let Some(configured) = configured {
                return Ok(configured.expose().to_owned());
            }
        }
        let keys = self.list_api_keys(project).await?;
        let mut live = keys
            .iter()
            .filter(|key| key.kind == kind && key.revoked_at.is_none())
            .peekable();
        let any = live.peek().copied();
        let first = live.find(|key| key.name == FIRST_KEY_NAME).or(any);
        Ok(first
            .map(|key| key.value.expose().to_owned())
            .unwrap_or_default())
    }
}

/// A password as part of a URL.
fn percent_encode(text: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    let bytes = text.bytes();
    bytes
        .map(|byte| {
            if is_plain(byte) {
                char::from(byte).to_string()
            } else {
                format!("%{byte:02X}")
            }
        })
        .collect()
}

/// The same server, another database.
fn with_database(url: &str, database: &str) -> String {
    let (base, query) = url.split_once('?').unwrap_or((url, ""));
    let base = match base
        .find("://")
        .and_then(|at| base[at + 3..].find('/').map(|end| at + 3 + end))
    {
        Some(slash) => &base[..slash],
        None => base,
    };
    let query = if query.is_empty() {
        String::new()
    } else {
        format!("?{query}")
    };
    format!("{base}/{database}{query}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_survive_a_url() {
        assert_eq!(percent_encode("p@ss/w#rd%ü"), "p%40ss%2Fw%23rd%25%C3%BC");
    }

    #[test]
    fn another_database_of_the_same_server_keeps_the_rest_of_the_url() {
        let check = |url, expected| assert_eq!(with_database(url, "other"), expected);
        check("postgresql://u@h:1/app", "postgresql://u@h:1/other");
        check(
            "postgresql://u@h/app?sslmode=require",
            "postgresql://u@h/other?sslmode=require",
        );
        check("postgresql://u@h", "postgresql://u@h/other");
    }
}
