//! What a store says when it fails, without what nobody may read in a log.

use std::io;

use object_store::Error;

/// Errors of stores quote whole answers, and those may hold access keys: the status and the code
/// are enough.
pub(super) fn failure(error: Error) -> io::Error {
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
    let said = text.split('<').next().unwrap_or_default();
    let said = said.trim_end_matches([':', ' ']);
    match code(error) {
        Some(code) => format!("the S3 store failed: {said}: {code}"),
        None => format!("the S3 store failed: {said}"),
    }
}

/// The code of S3 in the answer, if there is one.
pub(super) fn code(error: &Error) -> Option<String> {
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
    fn the_code_is_told_and_the_key_is_not() {
        let refused = error(
            "Server returned non-2xx status code: 403 Forbidden: <?xml version=\"1.0\"?><Error>\
             <Code>InvalidAccessKeyId</Code><AWSAccessKeyId>AKIA</AWSAccessKeyId></Error>",
        );
        assert_eq!(code(&refused).as_deref(), Some("InvalidAccessKeyId"));
        assert_eq!(
            describe(&refused),
            "the S3 store failed: Generic S3 error: Server returned non-2xx status code: \
             403 Forbidden: InvalidAccessKeyId"
        );
    }

    #[test]
    fn a_store_that_says_nothing_is_told_as_it_is() {
        let silent = error("connection refused");
        assert_eq!(code(&silent), None);
        assert_eq!(
            describe(&silent),
            "the S3 store failed: Generic S3 error: connection refused"
        );
    }
}
