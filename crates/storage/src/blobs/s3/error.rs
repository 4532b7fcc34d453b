//! Errors of a store, without what must not be in a log.

use std::io;

use object_store::Error;

/// Keeps the status and the code only: errors of stores quote whole responses, which may hold
/// access keys.
pub(super) fn to_io_error(error: Error) -> io::Error {
    let kind = match &error {
        Error::NotFound { .. } => io::ErrorKind::NotFound,
        Error::PermissionDenied { .. } | Error::Unauthenticated { .. } => {
            io::ErrorKind::PermissionDenied
        }
        _ => io::ErrorKind::Other,
    };
    io::Error::new(kind, describe(&error))
}

pub(super) fn describe(error: &Error) -> String {
    let text = error.to_string();
    let summary = text.split('<').next().unwrap_or_default();
    let summary = summary.trim_end_matches([':', ' ']);
    match error_code(error) {
        Some(code) => format!("the S3 store failed: {summary}: {code}"),
        None => format!("the S3 store failed: {summary}"),
    }
}

/// The S3 error code in the response, if there is one.
pub(super) fn error_code(error: &Error) -> Option<String> {
    let text = error.to_string();
    let (_, after) = text.split_once("<Code>")?;
    let (code, _) = after.split_once('<')?;
    let is_name = code.chars().all(|letter| letter.is_ascii_alphanumeric());
    is_name.then(|| code.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(text: &str) -> Error {
        Error::Generic {
            store: "S3",
            source: text.to_owned().into(),
        }
    }

    #[test]
    fn the_code_is_kept_and_the_access_key_is_not() {
        let rejected = error(
            "Server returned non-2xx status code: 403 Forbidden: <?xml version=\"1.0\"?><Error>\
             <Code>InvalidAccessKeyId</Code><AWSAccessKeyId>AKIA</AWSAccessKeyId></Error>",
        );
        assert_eq!(error_code(&rejected).as_deref(), Some("InvalidAccessKeyId"));
        assert_eq!(
            describe(&rejected),
            "the S3 store failed: Generic S3 error: Server returned non-2xx status code: \
             403 Forbidden: InvalidAccessKeyId"
        );
    }

    #[test]
    fn an_error_without_a_response_is_kept_as_it_is() {
        let silent = error("connection refused");
        assert_eq!(error_code(&silent), None);
        assert_eq!(
            describe(&silent),
            "the S3 store failed: Generic S3 error: connection refused"
        );
    }
}
