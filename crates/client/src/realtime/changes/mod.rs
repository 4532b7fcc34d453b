//! Row changes (realtime contract §9).

mod change;
mod convert;
pub mod pg;
mod request;

pub(super) use change::WireChange;
pub use change::{Change, ChangeKind, Row};
pub(super) use request::{BindingRequest, ConfirmedBinding};
pub use request::{ChangesRequest, Event};
