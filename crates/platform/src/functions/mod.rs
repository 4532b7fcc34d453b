//! Users' functions as they are kept: what was deployed, version by version (console contract
//! §2.4.3). Running them is the functions service's work; see [`plinth_project::FunctionRunner`].

mod announce;
mod bundle;
mod copy;
mod deploy;
mod path;
mod row;
mod shelf;
mod staged;
mod versions;

pub use bundle::{Bundle, MAX_BUNDLE_BYTES, SourceFile};
pub use deploy::{Deployment, FunctionUpdate};
pub use row::{StoredFunction, StoredVersion};
pub use versions::Activation;

pub(crate) use bundle::too_large as bundle_too_large;

use crate::PlatformError;

const LONGEST_SLUG: usize = 128;

/// What a function may be called.
pub(crate) fn checked_slug(slug: &str) -> Result<(), PlatformError> {
    let begins_well = slug.starts_with(|c: char| c.is_ascii_alphabetic());
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if begins_well && slug.chars().all(is_plain) && slug.len() <= LONGEST_SLUG {
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
    fn names_that_no_address_can_carry_are_refused() {
        for good in ["hello", "H2-o_k", "a"] {
            assert!(checked_slug(good).is_ok(), "{good}");
        }
        let long = "a".repeat(LONGEST_SLUG + 1);
        for bad in ["", "_shared", "1st", "a b", "a/b", "ä", "a.b", "a\0", &long] {
            assert!(checked_slug(bad).is_err(), "{bad}");
        }
    }
}
