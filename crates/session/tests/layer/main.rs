//! The layer around an axum application, with a scripted auth service beside it for faults, and
//! the real one where a real session is needed.

// In helpers of tests, too, what is not as expected may panic.
#![allow(clippy::unwrap_used)]

mod attacks;
mod extractors;
mod flow;
mod handlers;
mod real_auth;
mod refreshing;
mod speed;
mod store;
mod support;
mod verification;
