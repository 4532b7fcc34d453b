//! What messages say.

use std::sync::LazyLock;

use serde_json::json;

use super::Message;
use crate::{mail::template::Template, request::Context};

static DEFAULT: LazyLock<Template> = LazyLock::new(|| {
    Template::parse("Your code is {{ .Code }}").expect("the default words are a template")
});

/// The project's words with the code in them; where they do not work, the default ones.
pub(super) fn fill_in(context: &Context, message: &Message<'_>) -> String {
    let own = match message.is_mfa {
        true => &context.config.mfa.by_phone.template,
        false => &context.config.sms.template,
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
            Err(reason) => tracing::warn!(
                "the template of text messages cannot be used, so the default is: {reason}"
            ),
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
