//! The layer around an axum application, with a scripted auth service beside it for faults, and
//! the real one where a real session is needed.

#![allow(clippy::unwrap_used, reason = "a test may fail by panicking")]

mod attacks;
mod backend;
mod extractors;
mod flow;
mod handlers;
mod metrics;
mod real_auth;
mod refreshing;
mod secrets;
mod speed;
mod store;
mod support;
mod verification;
