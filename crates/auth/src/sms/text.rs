//! The text of messages.

use std::sync::LazyLock;

use serde_json::json;

use super::Message;
use crate::{request::RequestContext, template::Template};

static DEFAULT: LazyLock<Template> = LazyLock::new(|| {
    Template::parse("Your code is {{ .Code }}").expect("the default text is a template")
});

/// The project's text with the code, or the default text if the template fails.
pub(super) fn render_message(context: &RequestContext, message: &Message<'_>) -> String {
    let own = if message.is_mfa {
        &context.config.mfa.by_phone.template
    } else {
        &context.config.sms.template
    };
    render(own, message.otp)
}

fn render(own: &str, otp: &str) -> String {
    let data = json!({ "Code": otp });
    if !own.is_empty() {
        let parsed = Template::parse(own).map_err(|error| error.to_string());
        let rendered = parsed.and_then(|template| {
            let text = template.render_text(&data);
            text.map_err(|error| error.to_string())
        });
        match rendered {
            Ok(text) => return text,
            Err(reason) => {
                tracing::warn!("cannot render the SMS template, using the default: {reason}");
            }
        }
    }
    DEFAULT.render_text(&data).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_template_that_does_not_work_gives_way_to_the_default() {
        assert_eq!(render("Code: {{ .Code }}!", "123456"), "Code: 123456!");
        assert_eq!(render("Code: {{ .Code", "123456"), "Your code is 123456");
        assert_eq!(render("", "123456"), "Your code is 123456");
    }
}
