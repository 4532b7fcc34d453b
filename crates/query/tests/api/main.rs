//! The engine on a real database.
#![allow(unreachable_pub, reason = "modules of one test program")]

mod export;
mod import;
mod keep_good;
mod pages;
mod script;
mod support;
mod writes;
