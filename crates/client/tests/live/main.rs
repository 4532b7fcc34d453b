//! The SDK against the real services on a real database, over a socket.

mod accounts;
mod administration;
mod buckets;
mod claims;
mod database;
mod files;
mod resumable;
mod second_factors;
mod sessions;
mod signed_urls;
mod support;
mod transfers;
