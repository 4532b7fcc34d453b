//! Which MIME types a bucket accepts (storage contract §2, §3.1).

use crate::error::StorageError;

const MAX_CHARACTERS: usize = 1000;

/// Validates the types that a bucket is to accept; empty ones are left out.
pub(crate) fn check_allowed_types(types: Vec<String>) -> Result<Vec<String>, StorageError> {
    let types: Vec<_> = types.into_iter().filter(|text| !text.is_empty()).collect();
    match types.iter().find(|text| !is_type(text)) {
        Some(text) => Err(not_supported(text)),
        None => Ok(types),
    }
}

/// Rejects a file whose type the bucket does not accept. An empty list accepts all.
pub(crate) fn check_type(content_type: &str, allowed: &[String]) -> Result<(), StorageError> {
    if allowed.is_empty() {
        return Ok(());
    }
    if !content_type.contains('/') {
        return Err(StorageError::invalid_mime_type(
            "Invalid Content-Type header",
        ));
    }
    if allowed.iter().any(|pattern| matches(pattern, content_type)) {
        Ok(())
    } else {
        Err(not_supported(content_type))
    }
}

/// A pattern need not have parameters such as `; charset=utf-8`.
fn matches(pattern: &str, content_type: &str) -> bool {
    let essence = essence(content_type);
    match pattern.strip_suffix("/*") {
        Some("*") => true,
        Some(kind) => essence
            .split_once('/')
            .is_some_and(|(found, _)| found.eq_ignore_ascii_case(kind)),
        None => {
            pattern == "*"
                || pattern.eq_ignore_ascii_case(content_type)
                || pattern.eq_ignore_ascii_case(essence)
        }
    }
}

/// The type without its parameters.
pub(crate) fn essence(content_type: &str) -> &str {
    content_type.split(';').next().unwrap_or_default().trim()
}

/// `type/subtype`, optionally with a `charset`; the subtype may be `*`.
fn is_type(text: &str) -> bool {
    let (essence, parameters) = match text.split_once(';') {
        Some((essence, parameters)) => (essence, Some(parameters.trim_start())),
        None => (text, None),
    };
    let is_token = |part: &str| {
        let is_good = |b: u8| b.is_ascii_alphanumeric() || b".+-".contains(&b);
        !part.is_empty() && part.bytes().all(is_good)
    };
    let is_pair = |(kind, subtype): (&str, &str)| {
        (is_token(kind) || (kind == "*" && subtype == "*")) && (is_token(subtype) || subtype == "*")
    };
    text.chars().count() <= MAX_CHARACTERS
        && (essence == "*" || essence.split_once('/').is_some_and(is_pair))
        && parameters.is_none_or(|text| text.starts_with("charset=") && text.is_ascii())
}

fn not_supported(text: &str) -> StorageError {
    StorageError::invalid_mime_type(format!("mime type {text} is not supported"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_of_types_is_validated() {
        let list =
            |types: &[&str]| check_allowed_types(types.iter().map(|t| (*t).to_owned()).collect());
        let good = [
            "image/*",
            "text/plain; charset=utf-8",
            "application/vnd.api+json",
            "*/*",
        ];
        assert_eq!(list(&good).expect("types").len(), 4);
        assert_eq!(list(&["", "text/plain"]).expect("types"), ["text/plain"]);
        for bad in [
            "text",
            "image/",
            "/png",
            "te xt/plain",
            "text/pl@in",
            "a/b; q=1",
        ] {
            assert!(list(&[bad]).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_type_is_compared_with_and_without_its_parameters() {
        let check = |content_type: &str, allowed: &str, is_accepted: bool| {
            let found = check_type(content_type, &[allowed.to_owned()]).is_ok();
            assert_eq!(found, is_accepted, "{content_type} in {allowed}");
        };
        check("image/png", "image/png", true);
        check("image/png", "image/*", true);
        check("image/png", "image/jpeg", false);
        check("imagex/png", "image/*", false);
        check("text/plain;charset=UTF-8", "text/plain", true);
        check("text/plain;charset=UTF-8", "text/plain;charset=UTF-8", true);
        check("a/b", "*/*", true);
        check("a/b", "*", true);
        check("nothing", "*/*", false);
        assert!(check_type("nothing", &[]).is_ok());
    }
}
