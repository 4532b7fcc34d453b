//! Storage of deployed functions and their versions (console contract §2.4.3). The functions service
//! runs them; see [`plinth_project::FunctionRunner`].

mod bundle;
mod copy;
mod deploy;
mod notifications;
mod path;
mod row;
mod staged;
mod store;
mod versions;

pub use bundle::{Bundle, MAX_BUNDLE_BYTES, SourceFile};
pub use deploy::{Deployment, FunctionUpdate};
pub use row::{StoredFunction, StoredVersion};
pub use versions::Activation;

pub(crate) use bundle::too_large as bundle_too_large;

use crate::PlatformError;

const MAX_SLUG_BYTES: usize = 128;

/// Checks the name of a function.
pub(crate) fn checked_slug(slug: &str) -> Result<(), PlatformError> {
    let has_valid_start = slug.starts_with(|c: char| c.is_ascii_alphabetic());
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if has_valid_start && slug.chars().all(is_plain) && slug.len() <= MAX_SLUG_BYTES {
        return Ok(());
    }
    Err(PlatformError::Invalid(format!(
        "Invalid Function name: {slug}. Must start with at least one letter, and only include \
         alphanumeric characters, underscores, and hyphens."
    )))
}

fn no_function(slug: &str) -> PlatformError {
    PlatformError::NotFound(format!("There is no function {slug}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_do_not_fit_into_a_url_are_rejected() {
        for good in ["hello", "H2-o_k", "a"] {
            assert!(checked_slug(good).is_ok(), "{good}");
        }
        let long = "a".repeat(MAX_SLUG_BYTES + 1);
        for bad in ["", "_shared", "1st", "a b", "a/b", "ä", "a.b", "a\0", &long] {
            assert!(checked_slug(bad).is_err(), "{bad}");
        }
    }
}
