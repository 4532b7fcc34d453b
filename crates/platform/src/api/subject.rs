//! As whom an operator looks at a database (console contract N60, N71).

use plinth_project::{Caller, DatabaseAccess, Project, RowTransaction};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::PlatformError;

/// Longest time of one statement on rows (console contract §1.6).
const STATEMENT_TIMEOUT: &str = "30s";

/// Somebody else than the operator.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Subject {
    /// The role, such as `authenticated`.
    pub(super) role: String,
    /// The claims of its token.
    #[serde(default)]
    pub(super) claims: Map<String, Value>,
}

impl Subject {
    /// The caller with these claims. Only who may do everything anyway may take any role.
    pub(super) fn caller(&self, access: DatabaseAccess) -> Result<Caller, PlatformError> {
        let is_public = matches!(&*self.role, "anon" | "authenticated");
        if access != DatabaseAccess::Owner && !is_public {
            return Err(PlatformError::Forbidden(
                "Your role may look at data as anon and as authenticated".to_owned(),
            ));
        }
        if self.role.is_empty() || self.role.contains('\0') {
            return Err(PlatformError::Invalid(
                "`as.role` is no name of a role".to_owned(),
            ));
        }
        Ok(Caller::impersonated(&self.role, &self.claims_text()))
    }

    /// The claims with the role among them, as policies read them.
    pub(super) fn claims_text(&self) -> String {
        let mut claims = self.claims.clone();
        claims.insert("role".to_owned(), Value::String(self.role.clone()));
        Value::Object(claims).to_string()
    }
}

/// What is done in a transaction on rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RowAccess {
    Read,
    Write,
}

/// A transaction on rows, as the operator or as somebody else. All values are written in formats that do
/// not depend on settings.
pub(super) async fn begin(
    project: &Project,
    access: DatabaseAccess,
    subject: Option<&Subject>,
    mode: RowAccess,
) -> Result<RowTransaction, PlatformError> {
    let is_read_only = mode == RowAccess::Read || access == DatabaseAccess::Reader;
    let settings = [
        ("statement_timeout", STATEMENT_TIMEOUT),
        ("datestyle", "ISO, MDY"),
        ("intervalstyle", "postgres"),
        ("bytea_output", "hex"),
        ("extra_float_digits", "1"),
        // Compiling takes longer than reading a page.
        ("jit", "off"),
    ];
    let Some(subject) = subject else {
        let mut transaction = project.db.as_operator(access);
        for (name, value) in settings {
            transaction = transaction.setting(name, value);
        }
        if is_read_only {
            transaction = transaction.read_only();
        }
        return Ok(transaction.begin().await?);
    };
    let caller = subject.caller(access)?;
    let mut transaction = project.db.as_caller(&caller);
    for (name, value) in settings {
        transaction = transaction.setting_before_role(name, value);
    }
    if is_read_only {
        transaction = transaction.read_only();
    }
    let begun = transaction.begin(&[]).await;
    let (transaction, _) = begun.map_err(|error| role_error(error, &subject.role))?;
    Ok(transaction.into())
}

/// A role that does not exist, or that may not be assumed.
pub(super) fn role_error(error: plinth_db::DbError, role: &str) -> PlatformError {
    let role = role.escape_debug();
    match error
        .sqlstate()
        .map(|state| state.code().to_owned())
        .as_deref()
    {
        Some("22023") => PlatformError::Invalid(format!("There is no role {role}")),
        Some("42501") => {
            PlatformError::Forbidden(format!("Sessions of this project may not act as {role}"))
        }
        _ => error.into(),
    }
}
