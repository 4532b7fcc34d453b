//! The schema cache over real databases (rest contract §5.1). It is not public, so its source is
//! compiled into this test.

#![allow(dead_code)]

#[path = "../src/schema_cache/mod.rs"]
mod schema_cache;
mod schema_cases;
