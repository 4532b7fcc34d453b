//! `/pg/{ref}`: what is in a database, and its changes, over the API.

mod app;
mod changes;
mod lists;
mod names;
mod objects;
mod queries;
mod refusals;
#[path = "../support/mod.rs"]
mod support;
