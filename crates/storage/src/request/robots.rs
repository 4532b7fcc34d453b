//! `X-Robots-Tag`: validation (storage contract §3.1).

use crate::error::StorageError;

const RULES: &[&str] = &[
    "all",
    "noindex",
    "nofollow",
    "none",
    "nosnippet",
    "indexifembedded",
    "notranslate",
    "noimageindex",
];

/// Rejects a header that search engines would not understand.
pub(crate) fn check_robots_tag(header: &str) -> Result<(), StorageError> {
    let bad = |what: &str| {
        let message = format!("Invalid X-Robots-Tag header: {what}");
        Err(StorageError::invalid_request(message).with_label("invalid_x_robots_tag"))
    };
    if header.trim().is_empty() {
        return bad("it is empty");
    }
    let mut parts = header.split(',').map(str::trim).peekable();
    while let Some(part) = parts.next() {
        if is_rule(part) {
            continue;
        }
        // An HTTP date contains a comma.
        let is_date = rest_after(part, "unavailable_after:").is_some_and(|date| {
            let whole = match parts.peek() {
                Some(next) => format!("{date}, {next}"),
                None => date.to_owned(),
            };
            let has_comma = httpdate::parse_http_date(&whole).is_ok();
            if has_comma {
                parts.next();
            }
            has_comma || looks_like_date(date)
        });
        if !is_date {
            return bad(&format!("'{part}' is not a known rule"));
        }
    }
    Ok(())
}

fn is_rule(part: &str) -> bool {
    let rule = match part.split_once(':') {
        // `googlebot: noindex` is for one crawler only.
        Some((agent, rule)) if is_agent(agent) => rule.trim(),
        _ => part,
    };
    let is_count = |text: &str| text.parse::<i64>().is_ok_and(|count| count >= -1);
    RULES.iter().any(|known| known.eq_ignore_ascii_case(rule))
        || rest_after(rule, "max-snippet:").is_some_and(is_count)
        || rest_after(rule, "max-video-preview:").is_some_and(is_count)
        || rest_after(rule, "max-image-preview:")
            .is_some_and(|size| matches!(size, "none" | "standard" | "large"))
}

fn is_agent(text: &str) -> bool {
    const RULES_WITH_VALUES: &[&str] = &[
        "max-snippet",
        "max-video-preview",
        "max-image-preview",
        "unavailable_after",
    ];
    let is_letter = |b: u8| b.is_ascii_alphanumeric() || b"-_.".contains(&b);
    !text.is_empty() && text.bytes().all(is_letter) && !RULES_WITH_VALUES.contains(&text)
}

fn rest_after<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let (found, rest) = text.split_at_checked(name.len())?;
    found.eq_ignore_ascii_case(name).then(|| rest.trim())
}

/// `2026-12-31`, with or without a time.
fn looks_like_date(text: &str) -> bool {
    let date = text.get(..10).unwrap_or_default();
    let format = time::macros::format_description!("[year]-[month]-[day]");
    time::Date::parse(date, format).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_are_known_words_and_numbers() {
        for header in [
            "noindex",
            "noindex, nofollow",
            "googlebot: noindex, otherbot: nofollow",
            "max-snippet:-1, max-image-preview:large",
            "unavailable_after: 2026-12-31",
            "unavailable_after: Thu, 31 Dec 2026 00:00:00 GMT, noindex",
            "NoIndex",
        ] {
            assert!(check_robots_tag(header).is_ok(), "{header}");
        }
        for header in [
            "",
            " ",
            "nonsense",
            "noindex,",
            "max-snippet:-2",
            "max-snippet:x",
            "max-image-preview:huge",
            "unavailable_after: soon",
            "bot name: noindex",
        ] {
            assert!(check_robots_tag(header).is_err(), "{header}");
        }
    }
}
