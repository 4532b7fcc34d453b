//! One record of a file.

/// Longer records are refused: what they are part of is no table, or its quotes are broken.
pub(super) const MAX_RECORD_BYTES: usize = 32 * 1024 * 1024;

/// Values of a record, one after the other.
#[derive(Debug, Default)]
pub(super) struct Record {
    /// The line on which it begins, from 1.
    pub(super) line: u64,
    data: Vec<u8>,
    /// Where each value ends, and whether it was quoted.
    ends: Vec<(usize, bool)>,
    /// Why it cannot be used.
    pub(super) fault: Option<String>,
}

impl Record {
    pub(super) fn beginning_at(line: u64) -> Self {
        Self {
            line,
            ..Self::default()
        }
    }

    pub(super) fn clear(&mut self, line: u64) {
        self.line = line;
        self.data.clear();
        self.ends.clear();
        self.fault = None;
    }

    /// Another one like it.
    pub(super) fn copy(&self) -> Self {
        Self {
            line: self.line,
            data: self.data.clone(),
            ends: self.ends.clone(),
            fault: self.fault.clone(),
        }
    }

    /// Adds to the value that has not ended.
    pub(super) fn extend(&mut self, bytes: &[u8]) {
        self.data.extend_from_slice(bytes);
    }

    pub(super) fn end_value(&mut self, is_quoted: bool) {
        self.ends.push((self.data.len(), is_quoted));
    }

    /// Bytes of all values.
    pub(super) fn size(&self) -> usize {
        self.data.len()
    }

    pub(super) fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether nothing at all was there.
    pub(super) fn is_blank(&self) -> bool {
        self.data.is_empty() && matches!(*self.ends, [] | [(0, false)])
    }

    /// A value, and whether it was quoted.
    pub(super) fn value(&self, index: usize) -> Option<(&[u8], bool)> {
        let (end, is_quoted) = *self.ends.get(index)?;
        let start = match index {
            0 => 0,
            _ => self.ends[index - 1].0,
        };
        Some((&self.data[start..end], is_quoted))
    }

    pub(super) fn has_nul(&self) -> bool {
        memchr::memchr(0, &self.data).is_some()
    }
}

/// Takes records as they are read.
pub(super) trait Records {
    fn record(&mut self, record: &Record) -> Result<(), crate::QueryError>;
}

impl<F: FnMut(&Record) -> Result<(), crate::QueryError>> Records for F {
    fn record(&mut self, record: &Record) -> Result<(), crate::QueryError> {
        self(record)
    }
}

/// Numbers of lines while a file is read.
#[derive(Debug)]
pub(super) struct Lines {
    pub(super) current: u64,
}

impl Default for Lines {
    fn default() -> Self {
        Self { current: 1 }
    }
}

impl Lines {
    pub(super) fn count(&mut self, bytes: &[u8]) {
        self.current += memchr::memchr_iter(b'\n', bytes).count() as u64;
    }
}

/// The error of a record that grows too long.
pub(super) fn too_long(line: u64) -> crate::QueryError {
    crate::QueryError::BadFile {
        line,
        reason: format!(
            "the record that begins here is longer than {} MiB; is a quote missing?",
            MAX_RECORD_BYTES / 1024 / 1024
        ),
    }
}
