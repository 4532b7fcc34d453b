//! A handler that panics costs its own request a 500, and nobody else anything.

use std::{any::Any, panic::AssertUnwindSafe};

use futures_util::FutureExt;

/// Runs the work and hands back what it panicked with, if it did.
pub(crate) async fn caught<F: Future>(work: F) -> Result<F::Output, Box<dyn Any + Send>> {
    AssertUnwindSafe(work).catch_unwind().await
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
