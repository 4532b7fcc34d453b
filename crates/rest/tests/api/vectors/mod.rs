//! The conformance vectors of the wire contract (§12), by their numbers.

mod calls;
mod embeds;
mod protocol;
mod reads;
mod writes;
