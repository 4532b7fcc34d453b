//! The interface between the platform and the auth service: what operators do with users of a
//! project, and what they try out of its settings (console contract N90–N97).
//!
//! The types are what `/platform` receives and sends.

mod trial;
mod users;

use plinth_db::DbError;
use serde_json::{Map, Value};
use uuid::Uuid;

use crate::{BoxFuture, ClientAddress, Project, PublicUrl};

pub use trial::{
    HookCall, HookCalls, HookError, HookTest, HookTestResult, MailDelivery, MailServerSettings,
    MailTest, MailTestResult, RedirectRule, RedirectTest, RedirectTestResult, RenderedTemplate,
    SmtpStep, TemplatePreview,
};
pub use users::{
    AuditEntry, AuditPage, AuditSearch, Impersonation, SortOrder, UserDetails, UserObject,
    UserPage, UserSearch, UserSession, UserSessions, UserSort,
};

/// The claim of access tokens that an operator got in place of a user, with the operator's name.
/// Such a token must not change the account, and is rejected wherever operators are expected.
pub const IMPERSONATION_CLAIM: &str = "plinth_impersonated_by";

/// Who asks, and for which project.
#[derive(Clone)]
pub struct OperatorCall {
    /// The project, never project zero.
    pub project: Project,
    /// The operator's name in audit logs.
    pub operator: String,
    /// The project's own public URL.
    pub public_url: PublicUrl,
    /// Where the operator is.
    pub client: Option<ClientAddress>,
    /// The operator's browser.
    pub user_agent: String,
}

/// A response of the auth service.
pub type Answer<'a, T> = BoxFuture<'a, Result<T, AdministrationError>>;

/// Administration of users; implemented by the auth service.
pub trait UserAdministration: Send + Sync {
    /// A page of the users that a search finds.
    fn search<'a>(&'a self, call: &'a OperatorCall, search: &'a UserSearch)
    -> Answer<'a, UserPage>;

    /// One user, with what the page about it shows.
    fn details<'a>(&'a self, call: &'a OperatorCall, user: Uuid) -> Answer<'a, UserDetails>;

    /// The user's sessions, newest first.
    fn sessions<'a>(&'a self, call: &'a OperatorCall, user: Uuid) -> Answer<'a, UserSessions>;

    /// Ends one session of the user, or all. Returns how many have ended.
    fn end_sessions<'a>(
        &'a self,
        call: &'a OperatorCall,
        user: Uuid,
        session: Option<Uuid>,
    ) -> Answer<'a, u64>;

    /// A page of the project's audit log, newest first.
    fn audit_log<'a>(
        &'a self,
        call: &'a OperatorCall,
        search: &'a AuditSearch,
    ) -> Answer<'a, AuditPage>;

    /// The claims that an access token of the user would have, marked with
    /// [`IMPERSONATION_CLAIM`] and without a session. Without `exp`.
    fn claims<'a>(&'a self, call: &'a OperatorCall, user: Uuid) -> Answer<'a, Map<String, Value>>;

    /// A short session in place of the user, which cannot be refreshed.
    fn impersonate<'a>(
        &'a self,
        call: &'a OperatorCall,
        user: Uuid,
        reason: &'a str,
    ) -> Answer<'a, Impersonation>;

    /// Sends a mail, and tells what the mail server said.
    fn test_mail<'a>(
        &'a self,
        call: &'a OperatorCall,
        test: &'a MailTest,
    ) -> Answer<'a, MailTestResult>;

    /// Renders a mail with sample data. Nothing is stored or sent.
    fn preview_template<'a>(
        &'a self,
        call: &'a OperatorCall,
        preview: &'a TemplatePreview,
    ) -> Answer<'a, RenderedTemplate>;

    /// Whether users may be redirected to a URL, and why.
    fn test_redirect<'a>(
        &'a self,
        call: &'a OperatorCall,
        test: &'a RedirectTest,
    ) -> Answer<'a, RedirectTestResult>;

    /// Calls a hook with a sample; what a database function writes is rolled back.
    fn test_hook<'a>(
        &'a self,
        call: &'a OperatorCall,
        test: &'a HookTest,
    ) -> Answer<'a, HookTestResult>;

    /// The last calls of hooks on this node, newest first.
    fn hook_calls<'a>(&'a self, call: &'a OperatorCall) -> Answer<'a, HookCalls>;
}

/// Why the auth service does not do what an operator asks for.
#[derive(Debug, thiserror::Error)]
pub enum AdministrationError {
    /// No such user, session or hook.
    #[error("{0}")]
    NotFound(String),
    /// The request is wrong.
    #[error("{0}")]
    Invalid(String),
    /// The present state forbids it.
    #[error("{0}")]
    Conflict(String),
    /// The database failed.
    #[error(transparent)]
    Database(#[from] DbError),
    /// Anything else, for the log.
    #[error("{0}")]
    Internal(String),
}
