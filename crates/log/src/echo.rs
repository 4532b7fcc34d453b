//! A second sink for written records, such as a terminal.

use std::fmt::Debug;

use crate::{AccessLine, Record};

/// Receives what the writer writes, on the writer's thread. Lines buffered until [`Echo::flush`] cost one
/// system call per batch.
pub trait Echo: Debug + Send {
    /// Receives a record after redaction.
    fn show(&mut self, record: &Record);

    /// Receives an entry of the access log after redaction. One that is too long for a line arrives as
    /// a record.
    fn show_access(&mut self, line: &AccessLine<'_>);

    /// End of the batch.
    fn flush(&mut self);
}
