//! Tokens of a configuration file: names, strings, numbers, booleans, lists.

use super::super::options::Value;

pub(super) struct Scanner<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Scanner<'a> {
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

    fn next(&mut self) -> Option<char> {
        let next = self.peek()?;
        self.at += next.len_utf8();
        Some(next)
    }

    pub(super) fn eat(&mut self, word: &str) -> bool {
        let is_here = self.rest().starts_with(word);
        if is_here {
            self.at += word.len();
        }
        is_here
    }

    pub(super) fn expect(&mut self, word: &str) -> Result<(), String> {
        if self.eat(word) {
            Ok(())
        } else {
            Err(format!("{word:?} was expected"))
        }
    }

    fn take_while(&mut self, accepts: impl Fn(char) -> bool) -> &'a str {
        let rest = self.rest();
        let end = rest.find(|c| !accepts(c)).unwrap_or(rest.len());
        self.at += end;
        &rest[..end]
    }

    /// Skips spaces and tabs, and a comment.
    pub(super) fn skip_spaces(&mut self) {
        self.take_while(|c| c == ' ' || c == '\t');
        if self.peek() == Some('#') {
            self.take_while(|c| c != '\r' && c != '\n');
        }
    }

    /// Skips spaces, comments and line ends. `#;` is not a comment, but disables a directive.
    pub(super) fn skip_lines(&mut self) {
        loop {
            self.take_while(char::is_whitespace);
            if self.peek() != Some('#') || self.rest().starts_with("#;") {
                return;
            }
            self.take_while(|c| c != '\r' && c != '\n');
        }
    }

    /// Fails if anything but a closing brace remains on the line.
    pub(super) fn end_of_line(&mut self) -> Result<(), String> {
        self.skip_spaces();
        match self.peek() {
            None | Some('\r' | '\n' | '}') => Ok(()),
            Some(_) => Err("the end of the line was expected".to_owned()),
        }
    }

    /// Parts of letters, digits, `_` and `-`, separated by dots.
    pub(super) fn name(&mut self) -> Result<&'a str, String> {
        let start = self.at;
        loop {
            if !self.peek().is_some_and(char::is_alphabetic) {
                return Err("a name was expected".to_owned());
            }
            self.take_while(|c| c.is_alphanumeric() || c == '_' || c == '-');
            if !self.eat(".") {
                return Ok(&self.text[start..self.at]);
            }
        }
    }

    pub(super) fn value(&mut self) -> Result<Value, String> {
        match self.peek() {
            Some('"') => return self.quoted().map(Value::Text),
            Some('[') => return self.list(),
            Some('0'..='9') => {
                let number = self.take_while(|c| c.is_ascii_digit() || ".eE+-".contains(c));
                return Ok(Value::Number(number.to_owned()));
            }
            _ => {}
        }
        for (word, flag) in [
            ("on", true),
            ("off", false),
            ("true", true),
            ("false", false),
        ] {
            if self.eat(word) {
                return Ok(Value::Flag(flag));
            }
        }
        Err("a value was expected: a text in double quotes, a number, true, false or a list".into())
    }

    fn list(&mut self) -> Result<Value, String> {
        self.expect("[")?;
        let mut items = Vec::new();
        loop {
            self.skip_lines();
            if items.is_empty() && self.eat("]") {
                return Ok(Value::List(items));
            }
            items.push(self.value()?);
            self.skip_lines();
            if !self.eat(",") {
                self.expect("]")?;
                return Ok(Value::List(items));
            }
        }
    }

    /// A string in double quotes, with backslash escapes.
    pub(super) fn quoted(&mut self) -> Result<String, String> {
        self.expect("\"")?;
        let mut text = String::new();
        loop {
            match self.next() {
                Some('"') => return Ok(text),
                Some('\\') => text.push(self.escaped()?),
                Some(c) => text.push(c),
                None => return Err("the text has no closing quote".to_owned()),
            }
        }
    }

    fn escaped(&mut self) -> Result<char, String> {
        match self.next() {
            Some('n') => Ok('\n'),
            Some('t') => Ok('\t'),
            Some('r') => Ok('\r'),
            Some(c @ ('"' | '\\')) => Ok(c),
            Some('u') => self.unicode(),
            _ => Err("after a backslash one of n t r u \" \\ was expected".to_owned()),
        }
    }

    /// Four hexadecimal digits, or a surrogate pair.
    fn unicode(&mut self) -> Result<char, String> {
        let malformed = || "\\u needs four hexadecimal digits that make a character".to_owned();
        let first = self.quad().ok_or_else(malformed)?;
        let mut units = vec![first];
        if (0xd800..0xdc00).contains(&first) && self.eat("\\u") {
            units.push(self.quad().ok_or_else(malformed)?);
        }
        let decoded: Result<String, _> = char::decode_utf16(units).collect();
        decoded
            .ok()
            .and_then(|text| text.chars().next())
            .ok_or_else(malformed)
    }

    fn quad(&mut self) -> Option<u16> {
        let digits = self.rest().get(..4)?;
        let are_hex = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
        self.at += 4;
        are_hex
            .then(|| u16::from_str_radix(digits, 16).ok())
            .flatten()
    }

    /// Line and column, counted from one.
    pub(super) fn position(&self) -> String {
        let before = &self.text[..self.at];
        let line = before.matches('\n').count() + 1;
        let line_start = before.rfind('\n').map_or(0, |end| end + 1);
        let column = before[line_start..].chars().count() + 1;
        format!("line {line}, column {column}")
    }
}
