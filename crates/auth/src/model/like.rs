//! Patterns for `like` and `ilike`.

/// A pattern that matches the text anywhere, with its special characters escaped.
pub(super) fn containing(text: &str) -> String {
    let mut pattern = String::with_capacity(text.len() + 2);
    pattern.push('%');
    for character in text.chars() {
        if matches!(character, '%' | '_' | '\\') {
            pattern.push('\\');
        }
        pattern.push(character);
    }
    pattern.push('%');
    pattern
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_filter_is_a_text_and_no_pattern() {
        assert_eq!(containing("a_b%c\\"), "%a\\_b\\%c\\\\%");
    }
}
