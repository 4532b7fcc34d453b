//! Splits bytes into lines, buffering at most one.

use super::MAX_FIELD_BYTES;

/// Splits a stream into lines; the end of a line that is too long is left out.
#[derive(Debug, Default)]
pub(crate) struct LineSplitter {
    pending: Vec<u8>,
}

impl LineSplitter {
    /// Adds what was read and hands over each complete line.
    pub(crate) fn push(&mut self, bytes: &[u8], mut on_line: impl FnMut(&str)) {
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            let (text, is_complete) = match piece.strip_suffix(b"\n") {
                Some(text) => (text, true),
                None => (piece, false),
            };
            let free = MAX_FIELD_BYTES.saturating_sub(self.pending.len());
            self.pending
                .extend_from_slice(&text[..text.len().min(free)]);
            if is_complete {
                on_line(&String::from_utf8_lossy(&self.pending));
                self.pending.clear();
            }
        }
    }

    /// The last line, where the stream ended without a line break.
    pub(crate) fn finish(&mut self, on_line: impl FnOnce(&str)) {
        if !self.pending.is_empty() {
            on_line(&String::from_utf8_lossy(&self.pending));
            self.pending.clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(chunks: &[&[u8]]) -> Vec<String> {
        let (mut splitter, mut lines) = (LineSplitter::default(), Vec::new());
        for chunk in chunks {
            splitter.push(chunk, |line| lines.push(line.to_owned()));
        }
        splitter.finish(|line| lines.push(line.to_owned()));
        lines
    }

    #[test]
    fn lines_are_found_across_reads() {
        assert_eq!(
            split(&[b"on", b"e\ntwo\n\nth", b"ree"]),
            ["one", "two", "", "three"]
        );
        assert_eq!(split(&[b"\xff\n"]), ["\u{fffd}"]);
        assert!(split(&[]).is_empty());
    }

    #[test]
    fn a_line_without_end_takes_no_more_memory_than_allowed() {
        let chunk = [b'x'; 50_000];
        let lines = split(&[&chunk, &chunk, b"\nnext\n"]);

        assert_eq!(lines[0].len(), MAX_FIELD_BYTES);
        assert_eq!(lines[1], "next");
    }
}
