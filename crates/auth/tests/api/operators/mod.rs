//! What operators do with users, and try out of settings (console contract N90–N97).

mod audit_log;
mod impersonation;
mod mail;
mod search;
mod sessions;
mod trial;

use plinth_project::AdministrationError;

const PASSWORD: &str = "correct horse";

#[track_caller]
fn expect_invalid<T>(outcome: Result<T, AdministrationError>, part: &str) {
    match outcome.err() {
        Some(AdministrationError::Invalid(text)) => assert!(text.contains(part), "{text}"),
        Some(other) => panic!("{other:?}"),
        None => panic!("it was accepted"),
    }
}

#[track_caller]
fn expect_not_found<T>(outcome: Result<T, AdministrationError>) {
    let error = outcome.err().expect("an error");
    assert!(
        matches!(error, AdministrationError::NotFound(_)),
        "{error:?}"
    );
}
