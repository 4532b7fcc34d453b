//! Rows that change (realtime contract §9).

mod change;
mod convert;
pub mod pg;
mod request;

pub(super) use change::WireChange;
pub use change::{Change, ChangeKind, Row};
pub(super) use request::{Agreed, Wanted};
pub use request::{ChangesRequest, Event};
