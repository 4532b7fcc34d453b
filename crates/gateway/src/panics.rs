//! A handler that panics costs its own request a 500, and nobody else anything.

use std::{any::Any, panic::AssertUnwindSafe};

use futures_util::{FutureExt, future::CatchUnwind};

/// Runs the work and hands back what it panicked with, if it did.
// Not `async`: that would hold the work twice, as what it was given and as what it waits for.
pub(crate) fn caught<F: Future>(work: F) -> CatchUnwind<AssertUnwindSafe<F>> {
    AssertUnwindSafe(work).catch_unwind()
}

/// The message of a panic.
pub(crate) fn describe(panic: &(dyn Any + Send)) -> &str {
    if let Some(text) = panic.downcast_ref::<&str>() {
        text
    } else if let Some(text) = panic.downcast_ref::<String>() {
        text
    } else {
        "it left no message"
    }
}
