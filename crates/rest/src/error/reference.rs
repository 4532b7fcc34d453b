//! The rows of `docs/errors.md` for this service.

use plinth_project::ErrorEntry;

use super::{code::Code, sqlstate};

/// Every code of `/rest/v1`: our own and PostgREST's first, then SQLSTATEs of PostgreSQL. A code that
/// ends in `*` is a class, `*` alone is every other SQLSTATE, and `PT*` has the status of its digits.
///
/// Functions can choose codes of their own with `RAISE SQLSTATE 'PGRST'`; these are not listed.
pub fn error_reference() -> Vec<ErrorEntry> {
    Code::entries().chain(sqlstate::entries()).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn every_code_is_listed_once_with_two_sentences() {
        let entries = error_reference();
        let codes: HashSet<&str> = entries.iter().map(|entry| entry.code).collect();
        assert_eq!(codes.len(), entries.len(), "a code is listed twice");
        for entry in &entries {
            assert!(entry.statuses.is_sorted(), "{entry:?}");
            assert_eq!(entry.statuses.is_empty(), entry.code == "PT*", "{entry:?}");
            for text in [entry.meaning, entry.next_step] {
                assert!(text.ends_with('.') && !text.contains("  "), "{entry:?}");
            }
        }
    }

    #[test]
    fn codes_of_postgrest_and_sqlstates_are_listed() {
        let entries = error_reference();
        let statuses = |code: &str| {
            let entry = entries.iter().find(|entry| entry.code == code);
            entry.map(|entry| entry.statuses.clone())
        };

        assert_eq!(statuses("PGRST205"), Some(vec![404]));
        assert_eq!(statuses("42501"), Some(vec![401, 403]));
        assert_eq!(statuses("08*"), Some(vec![503]));
        assert_eq!(statuses("*"), Some(vec![400]));
        assert_eq!(statuses("PGRST120"), None, "no longer used");
    }
}
