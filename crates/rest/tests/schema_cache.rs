//! The schema cache over real databases (rest contract §5.1). It is no public interface, so its
//! source is part of this program.

#![allow(dead_code)]

#[path = "../src/schema_cache/mod.rs"]
mod schema_cache;
mod schema_cases;
