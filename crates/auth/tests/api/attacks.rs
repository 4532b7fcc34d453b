//! What strangers and thieves try, beside the attacks on one kind of token or flow, which stand
//! with those.

mod addresses;
mod audiences;
mod clients;
mod connections;
mod crowds;
mod ended;
mod metadata;
mod passwords;
