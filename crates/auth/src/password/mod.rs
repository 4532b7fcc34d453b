//! Passwords: rules, hashing and verification (auth contract §8.3).

mod argon;
mod firebase;
mod hasher;
mod leaked;
mod rules;
mod stored;

pub(crate) use hasher::{Hasher, Verdict, hash_of_random};
pub(crate) use rules::{check_length, check_strength, find_weakness};
pub(crate) use stored::check_hash;
