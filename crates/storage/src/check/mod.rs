//! Compares rows and blobs (storage contract §10.3, §14.4; console contract L71).
//!
//! `rows.rs` reads rows and looks their blobs up in the store; `orphans.rs` lists blobs and looks
//! for rows that reference them; both page by page. A mismatch is checked once more before it is
//! reported, so that uploads, deletions and garbage collection may continue meanwhile. A blob that
//! cannot be read is reported as well, and the check continues. No row is changed and no blob
//! removed; orphans can be handed to the garbage collection.

mod finding;
mod ledger;
mod orphans;
mod report;
mod rows;
mod run;

pub(crate) use orphans::collect_orphans;
pub use report::CheckError;
pub(crate) use run::{CHANNEL_CAPACITY, run};
