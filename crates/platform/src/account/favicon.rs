//! The icon of the pages: the service's initial on its colour.

use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use plinth_session::escape_html;

/// The colour of the design without `plinth.account.accent` (`web/src/styles/tokens.css`).
const DEFAULT_COLOUR: &str = "#1f6f54";

/// A head and shoulders, for a service without a name.
const PERSON: &str = "<circle cx='16' cy='12' r='5'/><path d='M7 26a9 9 0 0 1 18 0z'/>";

/// The icon as a `data:` URL.
pub(super) fn favicon(title: Option<&str>, accent: Option<&str>) -> String {
    let colour = accent.unwrap_or(DEFAULT_COLOUR);
    let initial = title.and_then(|title| title.trim().chars().next());
    let mark = match initial {
        Some(initial) => {
            let letter: String = initial.to_uppercase().collect();
            format!(
                "<text x='16' y='22.5' font-family='system-ui,sans-serif' font-size='18' \
                 font-weight='600' text-anchor='middle'>{}</text>",
                escape_html(&letter)
            )
        }
        None => PERSON.to_owned(),
    };
    let svg = format!(
        "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 32 32' fill='#fff'>\
         <rect width='32' height='32' rx='7' fill='{}'/>{mark}</svg>",
        escape_html(colour)
    );
    format!(
        "data:image/svg+xml,{}",
        utf8_percent_encode(&svg, NON_ALPHANUMERIC)
    )
}

#[cfg(test)]
mod tests {
    use percent_encoding::percent_decode_str;

    use super::*;

    fn svg(title: Option<&str>, accent: Option<&str>) -> String {
        let url = favicon(title, accent);
        let encoded = url.strip_prefix("data:image/svg+xml,").expect("an SVG");
        assert!(!encoded.contains(['"', '<', '&']), "{encoded}");
        let svg = percent_decode_str(encoded).decode_utf8().expect("text");
        svg.into_owned()
    }

    #[test]
    fn the_icon_is_the_initial_on_the_accent() {
        let icon = svg(Some("harbour"), Some("#123456"));
        assert!(icon.contains("fill='#123456'"), "{icon}");
        assert!(icon.contains(">H</text>"), "{icon}");
        assert!(svg(Some("<b>"), None).contains(">&lt;</text>"));
        assert!(svg(Some("\u{e9}t\u{e9}"), None).contains(">\u{c9}</text>"));
    }

    #[test]
    fn without_a_name_it_is_a_person() {
        let icon = svg(None, None);
        assert!(
            icon.contains("<circle") && icon.contains(DEFAULT_COLOUR),
            "{icon}"
        );
    }
}
