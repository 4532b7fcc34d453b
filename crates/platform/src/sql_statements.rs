//! Splits SQL text into statements, as psql does: quotes of all kinds, nested comments, parentheses
//! (a rule's action list) and `begin atomic` bodies may contain semicolons.

/// One statement of a file. Not `Debug`, but in tests: it may set a password.
#[derive(Clone, PartialEq, Eq)]
#[cfg_attr(test, derive(Debug))]
pub struct Statement<'a> {
    /// Its text, without surrounding space and the semicolon at its end.
    pub text: &'a str,
    /// The same from its first word on, without the comments before it.
    pub code: &'a str,
    /// The line of its first word, from 1.
    pub line: usize,
}

/// Splits a file. Comments stay with the statement that follows them.
pub fn split(sql: &str) -> Vec<Statement<'_>> {
    let mut scanner = Scanner::new(sql);
    let mut statements = Vec::new();
    while scanner.position < sql.len() {
        let start = scanner.position;
        let end = scanner.skip_statement();
        let first_word = scanner.first_word.take();
        if let Some(first_word) = first_word {
            let text = sql[start..end].trim();
            let code = sql[first_word..end].trim_end();
            let line = 1 + sql[..first_word].matches('\n').count();
            statements.push(Statement { text, code, line });
        }
    }
    statements
}

struct Scanner<'a> {
    sql: &'a str,
    position: usize,
    /// Offset of the current statement's first word; none so far if there was only space and comments.
    first_word: Option<usize>,
    words: Words,
}

impl<'a> Scanner<'a> {
    fn new(sql: &'a str) -> Self {
        Self {
            sql,
            position: 0,
            first_word: None,
            words: Words::default(),
        }
    }

    /// Moves past the next semicolon that ends a statement; returns where the statement ends.
    fn skip_statement(&mut self) -> usize {
        self.words = Words::default();
        let mut parentheses = 0_usize;
        while let Some(c) = self.rest().chars().next() {
            match c {
                '-' if self.rest().starts_with("--") => self.skip_past("\n"),
                '/' if self.rest().starts_with("/*") => self.skip_block_comment(),
                ';' if parentheses == 0 && !self.words.in_atomic_body() => {
                    let end = self.position;
                    self.position += 1;
                    return end;
                }
                c if c.is_whitespace() || c == '\u{feff}' => self.position += c.len_utf8(),
                _ => {
                    self.first_word.get_or_insert(self.position);
                    self.skip_token(c, &mut parentheses);
                }
            }
        }
        self.sql.len()
    }

    fn skip_token(&mut self, c: char, parentheses: &mut usize) {
        match c {
            '\'' => self.skip_quoted('\'', self.is_escape_string()),
            '"' => self.skip_quoted('"', false),
            '$' => self.skip_dollar(),
            '(' => {
                *parentheses += 1;
                self.position += 1;
            }
            ')' => {
                *parentheses = parentheses.saturating_sub(1);
                self.position += 1;
            }
            c if c.is_alphabetic() || c == '_' => self.skip_word(),
            c => self.position += c.len_utf8(),
        }
    }

    fn rest(&self) -> &'a str {
        &self.sql[self.position..]
    }

    fn skip_past(&mut self, mark: &str) {
        let rest = self.rest();
        self.position += rest.find(mark).map_or(rest.len(), |at| at + mark.len());
    }

    fn skip_block_comment(&mut self) {
        let mut depth = 0_usize;
        loop {
            let rest = self.rest();
            if rest.starts_with("/*") {
                depth += 1;
                self.position += 2;
            } else if rest.starts_with("*/") {
                depth -= 1;
                self.position += 2;
            } else if let Some(c) = rest.chars().next() {
                self.position += c.len_utf8();
            } else {
                return;
            }
            if depth == 0 {
                return;
            }
        }
    }

    /// `E'…'` has backslash escapes; the letter must be a word of its own.
    fn is_escape_string(&self) -> bool {
        let before = &self.sql[..self.position];
        let mut reversed = before.chars().rev();
        let is_e = matches!(reversed.next(), Some('e' | 'E'));
        is_e && !reversed.next().is_some_and(is_word_char)
    }

    fn skip_quoted(&mut self, quote: char, has_escapes: bool) {
        self.position += 1;
        while let Some(c) = self.rest().chars().next() {
            self.position += c.len_utf8();
            if has_escapes && c == '\\' {
                self.position += self.rest().chars().next().map_or(0, char::len_utf8);
            } else if c == quote {
                // A doubled quote is an escaped one.
                if !self.rest().starts_with(quote) {
                    return;
                }
                self.position += 1;
            }
        }
    }

    fn skip_dollar(&mut self) {
        let rest = self.rest();
        let tag_end = rest[1..]
            .find(|c| !is_word_char(c))
            .map_or(rest.len(), |at| at + 1);
        let starts_with_digit = rest[1..].starts_with(|c: char| c.is_ascii_digit());
        if rest[tag_end..].starts_with('$') && !starts_with_digit {
            let tag = &rest[..=tag_end];
            self.position += tag.len();
            self.skip_past(tag);
        } else {
            self.position += tag_end.max(1);
        }
    }

    fn skip_word(&mut self) {
        let rest = self.rest();
        let length = rest
            .find(|c| !is_word_char(c) && c != '$')
            .unwrap_or(rest.len());
        self.words.push(&rest[..length]);
        self.position += length;
    }
}

fn is_word_char(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Recognises `create function … begin atomic … end`, whose body has semicolons of its own.
#[derive(Default)]
struct Words {
    count: usize,
    is_create: bool,
    is_routine: bool,
    after_begin: bool,
    depth: usize,
}

impl Words {
    fn push(&mut self, word: &str) {
        self.count += 1;
        let is = |keyword: &str| word.eq_ignore_ascii_case(keyword);
        match self.count {
            1 => self.is_create = is("create"),
            2..=4 if self.is_create && (is("function") || is("procedure")) => {
                self.is_routine = true;
            }
            _ => {}
        }
        if !self.is_routine {
            return;
        }
        if self.depth == 0 {
            if self.after_begin && is("atomic") {
                self.depth = 1;
            }
        } else if is("case") {
            self.depth += 1;
        } else if is("end") {
            self.depth -= 1;
        }
        self.after_begin = is("begin");
    }

    fn in_atomic_body(&self) -> bool {
        self.depth > 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(sql: &str, expected: &[&str]) {
        let texts: Vec<&str> = split(sql).iter().map(|statement| statement.text).collect();
        assert_eq!(texts, expected, "{sql}");
    }

    #[test]
    fn statements_end_at_semicolons() {
        check("select 1; select 2;", &["select 1", "select 2"]);
        check("select 1", &["select 1"]);
        check(" ;; \n ; ", &[]);
        check("-- nothing here\n", &[]);
    }

    #[test]
    fn quotes_hide_semicolons() {
        check(
            "select 'a;b''c;'; select 2",
            &["select 'a;b''c;'", "select 2"],
        );
        check(
            r"select E'a\';b'; select 2",
            &[r"select E'a\';b'", "select 2"],
        );
        check(
            r#"select "a;b"; select 2"#,
            &[r#"select "a;b""#, "select 2"],
        );
        check(
            "do $$ begin; end $$; select 2",
            &["do $$ begin; end $$", "select 2"],
        );
        check(
            "do $x$ $$;$$ ; $x$; select 2",
            &["do $x$ $$;$$ ; $x$", "select 2"],
        );
        check("select $1; select 2", &["select $1", "select 2"]);
    }

    #[test]
    fn comments_hide_semicolons_and_stay() {
        check(
            "-- a;b\nselect 1; select 2",
            &["-- a;b\nselect 1", "select 2"],
        );
        check(
            "/* a; /* b; */ c; */ select 1; select 2",
            &["/* a; /* b; */ c; */ select 1", "select 2"],
        );
    }

    #[test]
    fn bodies_with_semicolons_stay_whole() {
        let rule = "create rule r as on insert to t do (select 1; select 2)";
        check(&format!("{rule}; select 3"), &[rule, "select 3"]);
        let atomic = "create or replace function f() returns int language sql begin atomic \
                      select case when true then 1 else 2 end; select 2; end";
        check(&format!("{atomic}; select 3"), &[atomic, "select 3"]);
    }

    #[test]
    fn begin_outside_a_routine_is_an_ordinary_word() {
        check(
            "begin; select 1; end; select 2",
            &["begin", "select 1", "end", "select 2"],
        );
    }

    #[test]
    fn lines_are_those_of_the_first_word() {
        let statements = split("-- one\n\nselect 1;\n\n-- two\nselect\n2;");
        let lines: Vec<usize> = statements.iter().map(|statement| statement.line).collect();
        assert_eq!(lines, [3, 6]);
    }

    #[test]
    fn unfinished_text_does_not_panic() {
        for sql in [
            "'",
            "\"",
            "$",
            "$a",
            "$$",
            "/*",
            "--",
            "E'\\",
            "(",
            "select $é$",
            "\u{feff}",
        ] {
            split(sql);
        }
    }

    proptest::proptest! {
        #[test]
        fn any_text_splits_into_parts_of_itself(sql in "[ -~\n\t$'\"é;]{0,80}") {
            for statement in split(&sql) {
                assert!(sql.contains(statement.text));
                assert!(!statement.text.is_empty());
            }
        }
    }
}
