//! Passwords: what they must be like, how they are kept, how they are checked (auth contract §8.3).

mod argon;
mod firebase;
mod hasher;
mod leaked;
mod rules;
mod stored;

pub(crate) use hasher::{Hasher, Verdict};
pub(crate) use rules::{character_sets, check_length, check_strength, weakness};
pub(crate) use stored::check_hash;
