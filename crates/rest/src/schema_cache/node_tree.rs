//! Parses the origin of a view's columns from its stored query.
//!
//! PostgreSQL stores a view's query as text of nested nodes: `({QUERY :commandType 1 … :targetList
//! ({TARGETENTRY :expr {VAR …} :resno 1 … :resorigtbl 16400 :resorigcol 2 …} …) …})`. The outer
//! target list has the relation and column that each unchanged column comes from. Everything else
//! is skipped, so it may differ between versions.

use std::collections::HashMap;

/// A column: the relation's oid, the column's position.
pub(super) type ColumnId = (u32, i16);

/// By the position of the view's column.
pub(super) type Sources = HashMap<i16, ColumnId>;

const QUERY_DEPTH: usize = 2;
const ENTRY_DEPTH: usize = 4;

/// The origin of a view's columns; computed ones are left out.
pub(super) fn sources(query: &str) -> Sources {
    let mut sources = Sources::new();
    let mut entry = TargetEntry::default();
    let mut depth = 0;
    let mut is_in_target_list = false;
    let mut tokens = Tokens { rest: query };
    while let Some(token) = tokens.next() {
        match token {
            Token::Open => depth += 1,
            Token::Close => {
                if is_in_target_list && depth == ENTRY_DEPTH {
                    sources.extend(std::mem::take(&mut entry).source());
                }
                depth = usize::saturating_sub(depth, 1);
                if is_in_target_list && depth == QUERY_DEPTH {
                    break;
                }
            }
            Token::Word(":targetList") if depth == QUERY_DEPTH => is_in_target_list = true,
            Token::Word(":resno") if depth == ENTRY_DEPTH => entry.position = tokens.number(),
            Token::Word(":resorigtbl") if depth == ENTRY_DEPTH => entry.relation = tokens.number(),
            Token::Word(":resorigcol") if depth == ENTRY_DEPTH => entry.column = tokens.number(),
            // `:targetList <>`: a view without columns.
            Token::Word(_) if is_in_target_list && depth == QUERY_DEPTH => break,
            Token::Word(_) => {}
        }
    }
    sources
}

#[derive(Default)]
struct TargetEntry {
    position: u32,
    relation: u32,
    column: u32,
}

impl TargetEntry {
    /// Zero means none; column zero is a whole row.
    fn source(self) -> Option<(i16, ColumnId)> {
        let position = i16::try_from(self.position).ok()?;
        let column = i16::try_from(self.column).ok()?;
        (self.relation != 0 && column != 0).then_some((position, (self.relation, column)))
    }
}

enum Token<'a> {
    Open,
    Close,
    Word(&'a str),
}

struct Tokens<'a> {
    rest: &'a str,
}

impl<'a> Tokens<'a> {
    fn next(&mut self) -> Option<Token<'a>> {
        self.rest = self.rest.trim_ascii_start();
        let bytes = self.rest.as_bytes();
        let (token, length) = match bytes.first()? {
            b'{' | b'(' => (Token::Open, 1),
            b'}' | b')' => (Token::Close, 1),
            _ => {
                let length = word_length(bytes);
                (Token::Word(&self.rest[..length]), length)
            }
        };
        self.rest = &self.rest[length..];
        Some(token)
    }

    /// The next number; zero if something else follows.
    fn number(&mut self) -> u32 {
        match self.next() {
            Some(Token::Word(word)) => word.parse().unwrap_or(0),
            _ => 0,
        }
    }
}

/// Up to a space or bracket that is not escaped. The end is a character boundary, because all
/// delimiters are ASCII.
fn word_length(bytes: &[u8]) -> usize {
    let mut length = 0;
    while let Some(byte) = bytes.get(length) {
        match byte {
            b'\\' => length += 1 + utf8_length(bytes.get(length + 1)),
            b' ' | b'\t' | b'\n' | b'\r' | b'\x0c' | b'{' | b'}' | b'(' | b')' => break,
            _ => length += 1,
        }
    }
    length.min(bytes.len())
}

fn utf8_length(first: Option<&u8>) -> usize {
    match first {
        None => 0,
        Some(0xf0..) => 4,
        Some(0xe0..) => 3,
        Some(0xc0..) => 2,
        Some(_) => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(query: &str, expected: &[(i16, ColumnId)]) {
        assert_eq!(
            sources(query),
            expected.iter().copied().collect(),
            "{query}"
        );
    }

    #[test]
    fn columns_of_the_outer_query_are_found() {
        check(
            "({QUERY :commandType 1 :rtable ({RANGETBLENTRY :subquery {QUERY :targetList \
             ({TARGETENTRY :resno 9 :resname z :resorigtbl 9 :resorigcol 9})}}) :targetList \
             ({TARGETENTRY :expr {VAR :varno 1} :resno 1 :resname id :resorigtbl 16400 \
             :resorigcol 2 :resjunk false} {TARGETENTRY :expr {CONST :constvalue 4 [ 1 0 ]} \
             :resno 2 :resname one :resorigtbl 0 :resorigcol 0 :resjunk false}) \
             :returningList ({TARGETENTRY :resno 8 :resorigtbl 8 :resorigcol 8})})",
            &[(1, (16400, 2))],
        );
    }

    #[test]
    fn names_that_look_like_the_format_do_not_confuse() {
        check(
            r"({QUERY :alias \}\ :targetList\ \( :targetList ({TARGETENTRY :resno 1 :resname \
             \:resorigtbl\ 7\{ :resorigtbl 5 :resorigcol 3} {TARGETENTRY :resno 2 :resname \é\\
              :resorigtbl 5 :resorigcol 4})})",
            &[(1, (5, 3)), (2, (5, 4))],
        );
    }

    #[test]
    fn whole_rows_and_nothing_have_no_source() {
        check(
            "({QUERY :targetList ({TARGETENTRY :resno 1 :resorigtbl 5 :resorigcol 0})})",
            &[],
        );
        check("({QUERY :targetList <> :groupClause ({X :resno 1})})", &[]);
        check("<>", &[]);
        check("", &[]);
        check("({QUERY :targetList ({TARGETENTRY :resno", &[]);
        check(r"}})) \", &[]);
    }
}
