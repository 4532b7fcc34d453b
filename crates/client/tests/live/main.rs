//! The SDK against the real services on a real database, over a socket.

mod accounts;
mod administration;
mod broadcast;
mod buckets;
mod claims;
mod database;
mod files;
mod functions;
mod presence;
mod private_channels;
mod reconnecting;
mod resumable;
mod row_changes;
mod second_factors;
mod sessions;
mod signed_urls;
mod support;
mod transfers;
