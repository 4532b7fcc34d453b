//! A place in a text that is being read, with the few moves that both path syntaxes need.

/// Characters still to be read.
#[derive(Clone)]
pub(super) struct Cursor<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Cursor<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self { text, at: 0 }
    }

    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    pub(super) fn is_at_end(&self) -> bool {
        self.rest().is_empty()
    }

    pub(super) fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    pub(super) fn next(&mut self) -> Option<char> {
        let next = self.peek()?;
        self.at += next.len_utf8();
        Some(next)
    }

    /// Moves past the word if it stands here.
    pub(super) fn eat(&mut self, word: &str) -> bool {
        let is_here = self.rest().starts_with(word);
        if is_here {
            self.at += word.len();
        }
        is_here
    }

    pub(super) fn expect(&mut self, word: &str) -> Result<(), String> {
        match self.eat(word) {
            true => Ok(()),
            false => Err(self.expected(&format!("{word:?}"))),
        }
    }

    pub(super) fn take_while(&mut self, accepts: impl Fn(char) -> bool) -> &'a str {
        let rest = self.rest();
        let end = rest.find(|c| !accepts(c)).unwrap_or(rest.len());
        self.at += end;
        &rest[..end]
    }

    pub(super) fn skip_spaces(&mut self) {
        self.take_while(|c| " \t\r\n".contains(c));
    }

    /// What is wrong here, for whoever wrote the text.
    pub(super) fn expected(&self, what: &str) -> String {
        let position = self.text[..self.at].chars().count() + 1;
        match self.peek() {
            Some(found) => {
                format!("{what} was expected at character {position}, where {found:?} stands")
            }
            None => format!("{what} was expected at the end"),
        }
    }
}
