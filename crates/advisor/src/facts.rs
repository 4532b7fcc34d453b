//! What the database does not know.

/// What the caller knows about a project. Of what is absent, the check is not run.
#[derive(Debug, Clone, Default)]
pub struct Facts {
    /// Schemas that the API serves.
    pub exposed_schemas: Vec<String>,
    /// Schemas that are not the users' to change.
    pub system_schemas: Vec<String>,
    /// Settings of auth.
    pub auth: Option<AuthFacts>,
    /// Whether connections to the database port from other machines are encrypted.
    pub encrypts_connections: Option<bool>,
    /// Functions whose sources have a secret key in them.
    pub functions_with_secret_keys: Option<Vec<String>>,
    /// How many operators could stand in for each other: owners and admins.
    pub admins: Option<usize>,
    /// Operators without a second factor, by a name.
    pub operators_without_second_factor: Option<Vec<String>>,
    /// How long ago the last backup was made: none if there is none at all.
    pub hours_since_backup: Option<Option<u64>>,
}

/// Settings of auth that a check is about.
#[derive(Debug, Clone)]
pub struct AuthFacts {
    /// Lifetime of codes and links in mails, in seconds.
    pub otp_expiry: u64,
    /// Number of digits of those codes.
    pub otp_length: usize,
    /// Whether passwords are compared with known leaks.
    pub checks_leaked_passwords: bool,
    /// How many kinds of second factors users may have.
    pub second_factors: usize,
    /// Whether passwords need several kinds of characters.
    pub requires_characters: bool,
    /// The shortest password.
    pub minimum_password_length: usize,
    /// Whether mails go out through a mail server of the project.
    pub has_mail_server: bool,
    /// Where links in mails and sign-ins may lead.
    pub redirect_urls: Vec<String>,
}
