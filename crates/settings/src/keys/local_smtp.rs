//! `[local_smtp]`: the development mailbox. The section used to be called `[inbucket]`.

use crate::key::{Key, flag, listen_port, optional_port, optional_text};

pub(super) const KEYS: &[Key] = &[
    flag(
        "local_smtp.enabled",
        true,
        "Keep mails in a mailbox instead of sending them.",
    ),
    listen_port("local_smtp.port", 54324, "Port of the mailbox's page.").inert(),
    optional_port(
        "local_smtp.smtp_port",
        "Port that takes mails of other programs.",
    )
    .inert(),
    optional_port(
        "local_smtp.pop3_port",
        "Port that hands mails to mail programs.",
    )
    .inert(),
    optional_text("local_smtp.admin_email", "Sender's address in the mailbox."),
    optional_text("local_smtp.sender_name", "Sender's name in the mailbox."),
];
