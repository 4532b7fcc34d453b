//! A handler that panics fails its own request with a 500 and nothing else.

use std::{any::Any, panic::AssertUnwindSafe};

use futures_util::{FutureExt, future::CatchUnwind};

/// Runs the work; `Err` is the payload of its panic.
// Not `async`: its future would store the work twice, as argument and as what is awaited.
pub(crate) fn catch<F: Future>(work: F) -> CatchUnwind<AssertUnwindSafe<F>> {
    AssertUnwindSafe(work).catch_unwind()
}

/// The message of a panic.
pub(crate) fn message(panic: &(dyn Any + Send)) -> &str {
    if let Some(text) = panic.downcast_ref::<&str>() {
        text
    } else if let Some(text) = panic.downcast_ref::<String>() {
        text
    } else {
        "no panic message"
    }
}
