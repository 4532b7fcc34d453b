//! The SDK against the real services on a real database, over a socket.

mod accounts;
mod administration;
mod claims;
mod database;
mod second_factors;
mod sessions;
mod support;
