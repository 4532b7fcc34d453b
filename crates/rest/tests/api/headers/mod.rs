//! Headers of requests and responses (rest contract §3).

mod accept;
mod cors;
mod media_handlers;
mod prefer;
mod profiles;
mod ranges;
mod tracing;
