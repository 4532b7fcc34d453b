//! Settings that operators try out before or after they are saved.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// A test mail.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MailTest {
    /// Where it goes.
    pub to: String,
    /// Settings that are not saved yet; the saved ones when absent.
    #[serde(default)]
    pub smtp: Option<MailServerSettings>,
}

/// A mail server.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
pub struct MailServerSettings {
    /// Its host.
    pub host: String,
    /// Its port.
    pub port: u16,
    /// The login.
    #[serde(default)]
    pub user: Option<String>,
    /// Its password; the saved one when absent, if host, port and login are the saved ones.
    #[serde(default)]
    pub pass: Option<String>,
    /// The sender's address.
    pub admin_email: String,
    /// The sender's name.
    #[serde(default)]
    pub sender_name: Option<String>,
}

impl fmt::Debug for MailServerSettings {
    /// Without the password.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MailServerSettings")
            .field("host", &self.host)
            .field("port", &self.port)
            .field("user", &self.user)
            .finish_non_exhaustive()
    }
}

/// What became of a test mail.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MailTestResult {
    /// Whether the mail was accepted.
    pub is_delivered: bool,
    /// By whom.
    pub delivery: MailDelivery,
    /// What was said to the server, and what it replied. Passwords are left out.
    pub dialogue: Vec<SmtpStep>,
    /// Why it failed.
    pub error: Option<String>,
}

/// Where mails go.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MailDelivery {
    /// To a mail server.
    Smtp,
    /// Into the development mailbox.
    Mailbox,
}

/// A step of the dialogue with a mail server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SmtpStep {
    /// The command, or what was done.
    pub sent: String,
    /// The reply.
    pub received: String,
}

/// A template to be rendered.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TemplatePreview {
    /// Its name in settings, such as `confirmation`.
    pub template: String,
    /// The template of the subject; the saved one when absent.
    #[serde(default)]
    pub subject: Option<String>,
    /// The template of the body, as HTML; the saved one when absent.
    #[serde(default)]
    pub body: Option<String>,
    /// Variables that replace those of the sample.
    #[serde(default)]
    pub data: Map<String, Value>,
}

/// A mail as it would be sent. Show the HTML in a sandbox: it is the project's.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RenderedTemplate {
    /// The subject, one line.
    pub subject: String,
    /// The HTML part.
    pub html: String,
    /// The plain text part.
    pub text: String,
    /// The links in it.
    pub links: Vec<String>,
    /// What a recipient would miss, one sentence each.
    pub warnings: Vec<String>,
    /// The variables of this template, with the sample's values.
    pub variables: Map<String, Value>,
}

/// A redirect target to be checked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RedirectTest {
    /// The target.
    pub url: String,
    /// Patterns that are not saved yet; the saved ones when absent.
    #[serde(default)]
    pub patterns: Option<Vec<String>>,
    /// A site URL that is not saved yet.
    #[serde(default)]
    pub site_url: Option<String>,
}

/// Whether users may be redirected to a target.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RedirectTestResult {
    /// Whether.
    pub is_allowed: bool,
    /// The URL that would be sent.
    pub target: Option<String>,
    /// What allows it.
    pub rule: Option<RedirectRule>,
    /// The pattern that matches.
    pub pattern: Option<String>,
    /// Patterns that match nothing, because they are malformed.
    pub malformed: Vec<String>,
}

/// What allows a redirect.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RedirectRule {
    /// It is on the site.
    SiteUrl,
    /// It is this machine.
    Loopback,
    /// It is an account page of the project.
    AccountPages,
    /// A pattern of the list.
    Pattern,
}

/// A hook to be called.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HookTest {
    /// Its name in settings, such as `custom_access_token`.
    pub hook: String,
    /// An address that is not saved yet; the saved one when absent.
    #[serde(default)]
    pub uri: Option<String>,
    /// Secrets for that address, as in settings.
    #[serde(default)]
    pub secrets: Option<String>,
    /// What the hook gets; a sample when absent.
    #[serde(default)]
    pub payload: Option<Map<String, Value>>,
}

/// What a hook responded.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HookTestResult {
    /// Whether a request that calls the hook would go on.
    pub is_ok: bool,
    /// How long it took.
    pub milliseconds: u64,
    /// What the hook got.
    pub payload: Value,
    /// What it responded.
    pub response: Option<Value>,
    /// What the user would get.
    pub error: Option<HookError>,
}

/// An error of a hook.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HookError {
    /// The status that the client would get.
    pub status: u16,
    /// The text that it would get.
    pub message: String,
    /// The cause, which clients do not see.
    pub cause: Option<String>,
}

/// The last calls of hooks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HookCalls {
    /// Newest first.
    pub calls: Vec<HookCall>,
}

/// A call of a hook. Payloads are not kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HookCall {
    /// When.
    pub at: String,
    /// The hook's name in its payload, such as `customize-access-token`.
    pub hook: String,
    /// The function, or scheme and host of the address.
    pub target: String,
    /// How long it took.
    pub milliseconds: u64,
    /// Why it failed.
    pub error: Option<String>,
}
