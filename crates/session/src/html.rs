//! HTML escaping.

/// Escapes text for HTML content and quoted attributes.
///
/// ```
/// let greeting = format!("<p title=\"{0}\">{0}</p>", plinth_session::escape_html("Tom & \"Ann\""));
/// assert_eq!(greeting, r#"<p title="Tom &amp; &quot;Ann&quot;">Tom &amp; &quot;Ann&quot;</p>"#);
/// ```
pub fn escape_html(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for char in text.chars() {
        match char {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            char => escaped.push(char),
        }
    }
    escaped
}
