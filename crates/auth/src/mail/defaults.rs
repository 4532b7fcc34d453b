//! The default templates of mails.
//!
//! All share one page, `defaults/page.html`; each has its heading, its sentences and, if it carries
//! a token, a button and the code.

use std::sync::LazyLock;

use super::kind::Kind;
use crate::template::Template;

const PAGE: &str = include_str!("defaults/page.html");
const ACTION: &str = include_str!("defaults/action.html");
const CODE: &str = include_str!("defaults/code.html");

/// The default subject and body of one mail.
#[derive(Debug)]
pub(super) struct DefaultTemplates {
    pub(super) subject: Template,
    pub(super) body: Template,
}

/// The parts of one mail.
struct Part {
    kind: Kind,
    subject: &'static str,
    heading: &'static str,
    sentences: &'static [&'static str],
    button: Option<&'static str>,
    has_code: bool,
    /// What to do if the mail was not expected.
    otherwise: &'static str,
}

/// The default templates of a kind.
pub(super) fn for_kind(kind: Kind) -> &'static DefaultTemplates {
    static ALL: LazyLock<Vec<(Kind, DefaultTemplates)>> = LazyLock::new(|| {
        PARTS
            .iter()
            .map(|part| (part.kind, part.templates()))
            .collect()
    });
    let mut all = ALL.iter();
    let found = all
        .find(|(of, _)| *of == kind)
        .map(|(_, templates)| templates);
    found.expect("a test checks that every kind has a default")
}

impl Part {
    fn templates(&self) -> DefaultTemplates {
        let parse =
            |text: &str| Template::parse(text).expect("a test reads every default template");
        DefaultTemplates {
            subject: parse(self.subject),
            body: parse(&self.source()),
        }
    }

    /// The source of the body.
    fn source(&self) -> String {
        let sentences: Vec<String> = self
            .sentences
            .iter()
            .map(|sentence| format!("<p style=\"margin:0 0 16px\">{sentence}</p>"))
            .collect();
        let mut content = sentences.join("\n");
        if let Some(button) = self.button {
            content.push_str(&ACTION.replace("[[button]]", button));
        }
        if self.has_code {
            let before = match self.button {
                Some(_) => "Or enter this code:",
                None => "Your code:",
            };
            content.push_str(&CODE.replace("[[before]]", before));
        }
        PAGE.replace("[[heading]]", self.heading)
            .replace("[[content]]", &content)
            .replace("[[otherwise]]", self.otherwise)
    }
}

const IGNORE: &str = "If you did not ask for this, you can ignore this mail: nothing will change.";
const ALARM: &str =
    "If this was not you, change your password now and tell the site's administrator.";

const PARTS: &[Part] = &[
    Part {
        kind: Kind::Confirmation,
        subject: "Confirm your email address",
        heading: "Confirm your email address",
        sentences: &[
            "Thank you for signing up. One step is left: confirm that {{ .Email }} is yours.",
        ],
        button: Some("Confirm address"),
        has_code: true,
        otherwise: IGNORE,
    },
    Part {
        kind: Kind::Recovery,
        subject: "Reset your password",
        heading: "Reset your password",
        sentences: &["Somebody, probably you, wants to set a new password for {{ .Email }}."],
        button: Some("Choose a new password"),
        has_code: true,
        otherwise: "If you did not ask for this, you can ignore this mail: your password stays as it is.",
    },
    Part {
        kind: Kind::MagicLink,
        subject: "Your sign-in link",
        heading: "Sign in",
        sentences: &[
            "With this link you sign in as {{ .Email }}. It works once and for a short time.",
        ],
        button: Some("Sign in"),
        has_code: true,
        otherwise: IGNORE,
    },
    Part {
        kind: Kind::Invite,
        subject: "You've been invited",
        heading: "You have been invited",
        sentences: &["You are invited to create an account at {{ .SiteURL }}."],
        button: Some("Accept the invitation"),
        has_code: true,
        otherwise: "If you do not know why, you can ignore this mail.",
    },
    Part {
        kind: Kind::EmailChange,
        subject: "Confirm your new email address",
        heading: "Confirm the change of your address",
        sentences: &[
            "{{ if .Email }}The address of your account shall change from {{ .Email }} to \
             {{ .NewEmail }}.{{ else }}The address of your account shall be {{ .NewEmail }}.{{ end }}",
        ],
        button: Some("Confirm the change"),
        has_code: true,
        otherwise: "If you did not ask for this, do nothing: your address stays as it is.",
    },
    Part {
        kind: Kind::Reauthentication,
        subject: "{{ .Token }} is your verification code",
        heading: "Confirm that it is you",
        sentences: &["Enter this code to go on."],
        button: None,
        has_code: true,
        otherwise: "If you did not ask for it, somebody else may be using your account: \
                    change your password.",
    },
    Part {
        kind: Kind::PasswordChanged,
        subject: "Your password was changed",
        heading: "Your password was changed",
        sentences: &["The password of {{ .Email }} has just been changed."],
        button: None,
        has_code: false,
        otherwise: "If this was not you, reset your password now and tell the site's administrator.",
    },
    Part {
        kind: Kind::EmailChanged,
        subject: "Your email address was changed",
        heading: "Your email address was changed",
        sentences: &["The address of your account is now {{ .Email }}; it was {{ .OldEmail }}."],
        button: None,
        has_code: false,
        otherwise: ALARM,
    },
    Part {
        kind: Kind::PhoneChanged,
        subject: "Your phone number was changed",
        heading: "Your phone number was changed",
        sentences: &["The phone number of your account is now {{ .Phone }}\
             {{ if .OldPhone }}; it was {{ .OldPhone }}{{ end }}."],
        button: None,
        has_code: false,
        otherwise: ALARM,
    },
    Part {
        kind: Kind::IdentityLinked,
        subject: "A new sign-in method was linked to your account",
        heading: "A new way to sign in",
        sentences: &["You can now sign in as {{ .Email }} with {{ .Provider }}."],
        button: None,
        has_code: false,
        otherwise: ALARM,
    },
    Part {
        kind: Kind::IdentityUnlinked,
        subject: "A sign-in method was removed from your account",
        heading: "A way to sign in was removed",
        sentences: &["You can no longer sign in as {{ .Email }} with {{ .Provider }}."],
        button: None,
        has_code: false,
        otherwise: ALARM,
    },
    Part {
        kind: Kind::FactorEnrolled,
        subject: "A new verification method was added to your account",
        heading: "A second factor was added",
        sentences: &["A verification method ({{ .FactorType }}) was added to {{ .Email }}."],
        button: None,
        has_code: false,
        otherwise: ALARM,
    },
    Part {
        kind: Kind::FactorUnenrolled,
        subject: "A verification method was removed from your account",
        heading: "A second factor was removed",
        sentences: &["A verification method ({{ .FactorType }}) was removed from {{ .Email }}."],
        button: None,
        has_code: false,
        otherwise: ALARM,
    },
];

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_mail_has_words_that_can_be_rendered() {
        let kinds = [
            Kind::Confirmation,
            Kind::Recovery,
            Kind::MagicLink,
            Kind::Invite,
            Kind::EmailChange,
            Kind::Reauthentication,
            Kind::PasswordChanged,
            Kind::EmailChanged,
            Kind::PhoneChanged,
            Kind::IdentityLinked,
            Kind::IdentityUnlinked,
            Kind::FactorEnrolled,
            Kind::FactorUnenrolled,
        ];
        let data = json!({
            "Email": "ann@mail.dev",
            "Token": "123456",
            "SiteURL": "https://s.test",
            "SiteName": "Harbour & Sons",
            "Accent": "#5b3fa6",
        });
        assert_eq!(kinds.len(), PARTS.len());
        for kind in kinds {
            let templates = for_kind(kind);
            let subject = templates.subject.render_text(&data).expect("a subject");
            let body = templates.body.render_html(&data).expect("a body");
            assert!(!subject.is_empty());
            assert!(!body.contains("[[") && !body.contains("Zgotmpl"), "{body}");
            assert!(body.contains(">Harbour &amp; Sons</p>"), "{body}");
            assert!(body.contains("border-top:4px solid #5b3fa6"), "{body}");
            assert!(!body.contains("#1f6f54"), "{body}");
        }
    }

    #[test]
    fn buttons_have_the_colour_of_the_brand() {
        let data = json!({ "ConfirmationURL": "https://s.test/c", "Accent": "#5b3fa6" });
        let body = for_kind(Kind::Recovery).body.render_html(&data);
        let body = body.expect("a body");

        assert!(body.contains("background:#5b3fa6;color:#ffffff"), "{body}");
        assert!(
            !body.contains("class=\"name\""),
            "no name, no line for it: {body}"
        );
    }

    #[test]
    fn the_code_stands_in_the_subject_of_a_reauthentication() {
        let subject = &for_kind(Kind::Reauthentication).subject;
        let subject = subject.render_text(&json!({ "Token": "123456" }));
        assert_eq!(subject.as_deref(), Ok("123456 is your verification code"));
    }
}
