//! A text of several statements, and where in it an error is.

/// Longest piece of a line that is shown with an error.
const MAX_LINE_CHARS: usize = 200;

/// A text and its statements.
#[derive(Debug, Default)]
pub struct Script {
    text: String,
    pub(super) statements: Vec<ScriptStatement>,
}

/// A statement of a script.
#[derive(Debug)]
pub(super) struct ScriptStatement {
    /// Byte range in the text.
    start: usize,
    end: usize,
    /// What is run in its place.
    replacement: Option<String>,
}

impl Script {
    /// A text without statements so far.
    pub fn new(text: String) -> Self {
        Self {
            text,
            statements: Vec::new(),
        }
    }

    /// The whole text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Adds a statement, which has to be a part of the text at these bytes, and what is run in its place.
    pub fn push(&mut self, range: std::ops::Range<usize>, replacement: Option<String>) {
        debug_assert!(self.text.get(range.clone()).is_some());
        self.statements.push(ScriptStatement {
            start: range.start,
            end: range.end,
            replacement,
        });
    }

    /// How many statements there are.
    pub fn len(&self) -> usize {
        self.statements.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.statements.is_empty()
    }

    /// What is run.
    pub(super) fn sql(&self, statement: usize) -> &str {
        let ScriptStatement {
            start,
            end,
            replacement,
        } = &self.statements[statement];
        match replacement {
            Some(replacement) => replacement,
            None => &self.text[*start..*end],
        }
    }

    /// Position, line and column in the text of a character of a statement (all from 1), and the line.
    pub(super) fn place(
        &self,
        statement: usize,
        position: u32,
    ) -> Option<(usize, usize, usize, &str)> {
        let found = self.statements.get(statement)?;
        if found.replacement.is_some() {
            return None;
        }
        let own = self.text.get(found.start..found.end)?;
        let inside = (position as usize).checked_sub(1)?;
        let offset = own
            .char_indices()
            .map(|(offset, _)| offset)
            .chain([own.len()])
            .nth(inside)?;
        let at = found.start + offset;
        let before = &self.text[..at];
        let line_start = before.rfind('\n').map_or(0, |at| at + 1);
        let line_end = self.text[at..]
            .find('\n')
            .map_or(self.text.len(), |end| at + end);
        let column = 1 + self.text[line_start..at].chars().count();
        let line = self.text[line_start..line_end].trim_end_matches('\r');
        let shown = line.char_indices().nth(MAX_LINE_CHARS.max(column));
        let line = shown.map_or(line, |(end, _)| &line[..end]);
        Some((
            1 + before.chars().count(),
            1 + before.matches('\n').count(),
            column,
            line,
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_count_characters_of_the_whole_text() {
        let mut script = Script::new("select 'é';\nselect\n  x".to_owned());
        script.push(0..11, None);
        script.push(13..script.text().len(), None);
        assert_eq!(script.sql(0), "select 'é'");
        assert_eq!(script.place(1, 10), Some((22, 3, 3, "  x")));
        assert_eq!(script.place(1, 11), Some((23, 3, 4, "  x")));
        assert_eq!(script.place(1, 12), None);
        assert_eq!(script.place(2, 1), None);
    }
}
