//! Records shown elsewhere as they are written.

use std::fmt::Debug;

use crate::Record;

/// Somebody who is shown what the writer writes, on the writer's thread: a terminal, say. Lines
/// that are gathered until [`Echo::flush`] cost one call of the system for a whole batch.
pub trait Echo: Debug + Send {
    /// Looks at a record whose secrets are masked.
    fn show(&mut self, record: &Record);

    /// The batch is over.
    fn flush(&mut self);
}
