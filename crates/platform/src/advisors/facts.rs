//! What the advisors need and the project's database does not know.

use plinth_advisor::{AuthFacts, Facts};
use plinth_diff::SYSTEM_SCHEMAS;
use plinth_project::{Project, ProjectKind, ProjectRef};
use plinth_settings::{Settings, keys};

use crate::{Platform, PlatformError};

/// Sources beyond this size are not searched.
const MAX_SEARCHED_BYTES: i32 = 1 << 20;

impl Platform {
    pub(super) async fn facts(&self, project: &Project) -> Result<Facts, PlatformError> {
        let settings = project.settings().current();
        Ok(Facts {
            exposed_schemas: settings.get(keys::api::SCHEMAS).to_vec(),
            system_schemas: SYSTEM_SCHEMAS.iter().map(|&name| name.to_owned()).collect(),
            auth: Some(of_auth(&settings)),
            encrypts_connections: self.encrypts_connections(&settings),
            functions_with_secret_keys: Some(
                self.functions_with_secret_keys(project.reference()).await?,
            ),
            // Members and backups are not part of Plinth yet, so that nothing is known about them.
            admins: None,
            operators_without_second_factor: match project.kind() {
                ProjectKind::Platform => Some(self.operators_without_second_factor().await?),
                _ => None,
            },
            hours_since_backup: None,
        })
    }

    /// The database port is open to this machine alone unless a host is set.
    fn encrypts_connections(&self, settings: &Settings) -> Option<bool> {
        self.endpoints().database.as_ref()?;
        let is_local = settings.get(keys::plinth::DATABASE_HOST).is_none();
        let has_tls = settings.get(keys::plinth::TLS_CERT_FILE).is_some();
        Some(is_local || has_tls)
    }

    async fn functions_with_secret_keys(
        &self,
        project: &ProjectRef,
    ) -> Result<Vec<String>, PlatformError> {
        let sql = "select distinct f.slug
                   from platform.functions f
                   join platform.function_files s on s.function = f.id and s.version = f.active_version
                   where f.project = $1 and octet_length(s.content) <= $2
                     and encode(s.content, 'escape') ~ 'sb_secret_[A-Za-z0-9_-]{22}'
                   order by 1";
        let tables = self.tables().await?;
        let rows = tables
            .query(sql, &[&project.as_str(), &MAX_SEARCHED_BYTES])
            .await?;
        Ok(rows.iter().map(|row| row.get(0)).collect())
    }

    async fn operators_without_second_factor(&self) -> Result<Vec<String>, PlatformError> {
        let sql = "select coalesce(u.email, u.id::text)
                   from auth.users u
                   where u.raw_app_meta_data ->> 'role' = 'operator' and u.deleted_at is null
                     and not exists (select from auth.mfa_factors m
                                     where m.user_id = u.id and m.status = 'verified')
                   order by 1";
        let rows = self.tables().await?.query(sql, &[]).await?;
        Ok(rows.iter().map(|row| row.get(0)).collect())
    }
}

fn of_auth(settings: &Settings) -> AuthFacts {
    let second_factors = [
        settings.get(keys::auth_mfa::TOTP_ENROLL_ENABLED),
        settings.get(keys::auth_mfa::PHONE_ENROLL_ENABLED),
        settings.get(keys::auth_mfa::WEB_AUTHN_ENROLL_ENABLED),
    ];
    AuthFacts {
        otp_expiry: settings.get(keys::auth_email::OTP_EXPIRY),
        otp_length: settings.get(keys::auth_email::OTP_LENGTH),
        checks_leaked_passwords: settings.get(keys::plinth_auth::PASSWORD_HIBP_ENABLED),
        second_factors: second_factors.into_iter().filter(|is_on| *is_on).count(),
        requires_characters: !settings.get(keys::auth::PASSWORD_REQUIREMENTS).is_empty(),
        minimum_password_length: settings.get(keys::auth::MINIMUM_PASSWORD_LENGTH),
        has_mail_server: settings.get(keys::auth_email::SMTP_ENABLED),
        redirect_urls: settings.get(keys::auth::ADDITIONAL_REDIRECT_URLS).to_vec(),
    }
}
