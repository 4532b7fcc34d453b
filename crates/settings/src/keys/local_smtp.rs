//! `[local_smtp]`: the development mailbox. The section used to be called `[inbucket]`.

use crate::key::Key;

keys! {
    /// Capture emails in the development mailbox instead of sending them.
    pub const ENABLED: Key<bool> = flag("local_smtp.enabled", true).inert();

    /// Port of the mailbox's web page.
    pub const PORT: Key<u16> = listen_port("local_smtp.port", 54324).inert();

    /// SMTP port of the mailbox.
    pub const SMTP_PORT: Key<Option<u16>> = optional_port("local_smtp.smtp_port").inert();

    /// POP3 port of the mailbox.
    pub const POP3_PORT: Key<Option<u16>> = optional_port("local_smtp.pop3_port").inert();

    /// Sender address of captured emails.
    pub const ADMIN_EMAIL: Key<Option<String>> = optional_text("local_smtp.admin_email").inert();

    /// Sender name of captured emails.
    pub const SENDER_NAME: Key<Option<String>> = optional_text("local_smtp.sender_name").inert();
}
