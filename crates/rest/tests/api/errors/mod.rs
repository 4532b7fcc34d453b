//! Errors (rest contract §7).

mod raised;
mod requests;
mod schema;
mod sqlstates;
