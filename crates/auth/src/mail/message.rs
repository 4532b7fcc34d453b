//! A mail that is ready to go.

use serde_json::Value;

use super::{
    kind::Kind,
    reading,
    sources::{self, Chosen},
    words,
};
use crate::request::Context;

/// A mail to one person.
#[derive(Debug, Clone)]
pub(super) struct Message {
    pub(super) kind: Kind,
    pub(super) to: String,
    pub(super) subject: String,
    pub(super) html: String,
    /// The same for those who do not read HTML.
    pub(super) text: String,
    pub(super) links: Vec<String>,
    pub(super) otp: Option<String>,
}

/// Fills the project's words in; where they do not work, the default ones.
pub(super) async fn compose(context: &Context, kind: Kind, to: &str, data: &Value) -> Message {
    let chosen = sources::choose(context, kind).await;
    let subject = one_line(&subject(&chosen, kind, data));
    let html = body(&chosen, kind, data);
    let reading = reading::read(&html);
    Message {
        kind,
        to: to.to_owned(),
        subject,
        html,
        text: reading.text,
        links: reading.links,
        otp: data["Token"].as_str().map(str::to_owned),
    }
}

fn subject(chosen: &Chosen, kind: Kind, data: &Value) -> String {
    let own = chosen.subject.as_ref().map(|own| own.render_text(data));
    let default = || words::of(kind).subject.render_text(data);
    first_that_works(kind, "subject", own, default)
}

fn body(chosen: &Chosen, kind: Kind, data: &Value) -> String {
    let own = chosen.body.as_ref().map(|own| own.render_html(data));
    let default = || words::of(kind).body.render_html(data);
    first_that_works(kind, "body", own, default)
}

type Rendered = Result<String, super::template::RenderError>;

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
                "the {what} of the mail {template} cannot be filled in, so the default is used: \
                 {error}"
            );
        }
        None => {}
    }
    default().unwrap_or_default()
}

/// A subject is one line, whatever the data brought: a line break would begin another header.
fn one_line(text: &str) -> String {
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
