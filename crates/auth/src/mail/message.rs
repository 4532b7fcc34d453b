//! A rendered mail.

use serde_json::Value;

use super::{
    custom_templates::{self, CustomTemplates},
    defaults,
    kind::Kind,
    plain_text,
};
use crate::request::RequestContext;

/// A mail to one recipient.
#[derive(Clone)]
pub(super) struct Message {
    pub(super) kind: Kind,
    pub(super) to: String,
    pub(super) subject: String,
    pub(super) html: String,
    /// The plain text part.
    pub(super) text: String,
    pub(super) links: Vec<String>,
    pub(super) otp: Option<String>,
}

/// Renders the project's templates, or the default ones where those fail.
pub(super) async fn compose(
    context: &RequestContext,
    kind: Kind,
    to: &str,
    data: &Value,
) -> Message {
    let chosen = custom_templates::load(context, kind).await;
    let subject = one_line(&subject(&chosen, kind, data));
    let html = body(&chosen, kind, data);
    let plain = plain_text::extract(&html);
    Message {
        kind,
        to: to.to_owned(),
        subject,
        html,
        text: plain.text,
        links: plain.links,
        otp: data["Token"].as_str().map(str::to_owned),
    }
}

fn subject(chosen: &CustomTemplates, kind: Kind, data: &Value) -> String {
    let own = chosen.subject.as_ref().map(|own| own.render_text(data));
    let default = || defaults::for_kind(kind).subject.render_text(data);
    first_that_works(kind, "subject", own, default)
}

fn body(chosen: &CustomTemplates, kind: Kind, data: &Value) -> String {
    let own = chosen.body.as_ref().map(|own| own.render_html(data));
    let default = || defaults::for_kind(kind).body.render_html(data);
    first_that_works(kind, "body", own, default)
}

type Rendered = Result<String, crate::template::RenderError>;

fn first_that_works(
    kind: Kind,
    what: &str,
    own: Option<Rendered>,
    default: impl Fn() -> Rendered,
) -> String {
    match own {
        Some(Ok(text)) => return text,
        Some(Err(error)) => {
            let template = kind.template();
            tracing::warn!(
                template,
                "cannot render the {what} template of the mail {template}, using the default: \
                 {error}"
            );
        }
        None => {}
    }
    default().unwrap_or_default()
}

/// A subject is one line: a line break would begin another header.
pub(super) fn one_line(text: &str) -> String {
    let spaced: String = text
        .chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect();
    let words: Vec<&str> = spaced.split_whitespace().collect();
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_subject_is_one_line() {
        assert_eq!(one_line("a\r\nBcc: x@y.z\0b \u{85} c"), "a Bcc: x@y.z b c");
    }
}
