//! Every error that clients receive, for `docs/errors.md`.
//!
//! HTTP errors have a text instead of a code, as upstream's do, and the text is what stands here. On a
//! WebSocket the code is what stands before the colon of a join's `reason`, or the beginning of a
//! `system` message. Each list is exhaustive over its enum: a new variant without an entry does not
//! compile.

mod http_errors;
mod socket_errors;

use plinth_project::ErrorEntry;

/// All errors, each code once.
pub fn error_reference() -> Vec<ErrorEntry> {
    let mut merged: Vec<ErrorEntry> = Vec::new();
    for (_, entry) in all() {
        match merged.iter_mut().find(|known| known.code == entry.code) {
            Some(known) => known.statuses.extend(entry.statuses),
            None => merged.push(entry),
        }
    }
    for entry in &mut merged {
        entry.statuses.sort_unstable();
        entry.statuses.dedup();
    }
    merged
}

/// Each with an example of its text on the wire.
fn all() -> Vec<(String, ErrorEntry)> {
    let mut all = http_errors::http();
    all.extend(http_errors::handshake());
    all.extend(socket_errors::joins());
    all.extend(socket_errors::pushes());
    all.extend(socket_errors::closed_channels());
    all.extend(socket_errors::subscriptions());
    all.extend(socket_errors::row_changes());
    all
}

/// A function that returns the entries of one enum: `pattern = [examples] => code, meaning, next
/// step`, one per example. `$text` and `$status` read an example's text on the wire and its status.
macro_rules! entries {
    (
        $name:ident($error:ty, $text:expr, $status:expr) {
            $($pattern:pat = [$($example:expr),*] => $code:expr, $meaning:expr, $next_step:expr;)+
        }
    ) => {
        pub(super) fn $name() -> Vec<(String, plinth_project::ErrorEntry)> {
            #[allow(dead_code, reason = "compiled so that a new variant needs an entry")]
            fn check_exhaustive(error: &$error) {
                match error {
                    $($pattern => {})+
                }
            }
            let text: fn(&$error) -> String = $text;
            let status: fn(&$error) -> Option<u16> = $status;
            let mut entries = Vec::new();
            $($({
                let example: $error = $example;
                let entry = plinth_project::ErrorEntry {
                    code: $code,
                    statuses: status(&example).into_iter().collect(),
                    meaning: $meaning,
                    next_step: $next_step,
                };
                entries.push((text(&example), entry));
            })*)+
            entries
        }
    };
}
use entries;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_on_the_wire() {
        for (text, entry) in all() {
            // A limit is closed with a text, and logged and counted with its code.
            let is_limit = entry.code.ends_with("RateLimitReached");
            assert!(
                is_limit || text.starts_with(entry.code),
                "{text:?} and {:?}",
                entry.code
            );
        }
    }

    #[test]
    fn a_code_has_one_explanation() {
        let reference = error_reference();
        for (_, entry) in all() {
            let known = reference.iter().find(|known| known.code == entry.code);
            let known = known.expect("an entry");
            assert_eq!(known.meaning, entry.meaning, "{}", entry.code);
            assert_eq!(known.next_step, entry.next_step, "{}", entry.code);
        }
    }

    #[test]
    fn statuses_come_from_the_responses() {
        let reference = error_reference();
        let statuses = |code: &str| {
            let entry = reference.iter().find(|entry| entry.code == code);
            entry.expect("an entry").statuses.clone()
        };
        assert_eq!(statuses("Unauthorized"), [401, 403]);
        assert_eq!(statuses("Too many connected users"), [429]);
        assert!(statuses("TopicNameRequired").is_empty());
    }
}
