//! Attacks that do not belong to one kind of token or flow.

mod addresses;
mod audiences;
mod clients;
mod concurrency;
mod connections;
mod ended;
mod metadata;
mod passwords;
