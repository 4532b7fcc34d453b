//! Globs over URLs, in which `*` stops at `.` and `/` (auth contract §6.3).

/// A pattern, with its alternatives expanded.
#[derive(Debug, Clone)]
pub(super) struct Glob {
    alternatives: Vec<Vec<Piece>>,
}

#[derive(Debug, Clone, PartialEq)]
enum Piece {
    Char(char),
    /// `?`
    One,
    /// `*`
    Run,
    /// `**`
    AnyRun,
    /// `[a-z]`, `[!abc]`
    Set {
        is_negated: bool,
        ranges: Vec<(char, char)>,
    },
}

/// Braces multiply the alternatives.
const MAX_ALTERNATIVES: usize = 256;

impl Glob {
    /// `None` for what is empty or malformed.
    pub(super) fn parse(pattern: &str) -> Option<Self> {
        if pattern.is_empty() {
            return None;
        }
        let mut chars: Vec<char> = pattern.chars().collect();
        chars.reverse();
        let alternatives = sequence(&mut chars, 0)?;
        chars.is_empty().then_some(Self { alternatives })
    }

    pub(super) fn matches(&self, text: &str) -> bool {
        let text: Vec<char> = text.chars().collect();
        let mut all = self.alternatives.iter();
        all.any(|pieces| matches(pieces, &text))
    }
}

/// Reads up to the end, or to the `,` or `}` that ends an alternative. `rest` is reversed.
fn sequence(rest: &mut Vec<char>, depth: usize) -> Option<Vec<Vec<Piece>>> {
    let mut all = vec![Vec::new()];
    while let Some(&next) = rest.last() {
        if depth > 0 && (next == ',' || next == '}') {
            break;
        }
        rest.pop();
        let piece = match next {
            '{' => {
                all = combine(&all, &choices(rest, depth + 1)?)?;
                continue;
            }
            '*' if rest.last() == Some(&'*') => {
                while rest.last() == Some(&'*') {
                    rest.pop();
                }
                Piece::AnyRun
            }
            '*' => Piece::Run,
            '?' => Piece::One,
            '[' => set(rest)?,
            '\\' => Piece::Char(rest.pop()?),
            other => Piece::Char(other),
        };
        for pieces in &mut all {
            pieces.push(piece.clone());
        }
    }
    Some(all)
}

/// `a,b}` behind the brace.
fn choices(rest: &mut Vec<char>, depth: usize) -> Option<Vec<Vec<Piece>>> {
    if depth > 8 {
        return None;
    }
    let mut all = Vec::new();
    loop {
        all.extend(sequence(rest, depth)?);
        match rest.pop()? {
            ',' => {}
            _ => return Some(all),
        }
    }
}

fn combine(heads: &[Vec<Piece>], tails: &[Vec<Piece>]) -> Option<Vec<Vec<Piece>>> {
    if heads.len() * tails.len() > MAX_ALTERNATIVES {
        return None;
    }
    let pairs = heads.iter().flat_map(|head| {
        let joined = tails.iter().map(|tail| [head.as_slice(), tail].concat());
        joined.collect::<Vec<_>>()
    });
    Some(pairs.collect())
}

/// `abc]`, `!a-z]` behind the bracket.
fn set(rest: &mut Vec<char>) -> Option<Piece> {
    let is_negated = rest.last() == Some(&'!');
    if is_negated {
        rest.pop();
    }
    let mut ranges = Vec::new();
    loop {
        let first = match rest.pop()? {
            ']' if !ranges.is_empty() => return Some(Piece::Set { is_negated, ranges }),
            '\\' => rest.pop()?,
            other => other,
        };
        let is_range =
            rest.last() == Some(&'-') && rest.get(rest.len().checked_sub(2)?) != Some(&']');
        let last = if is_range {
            rest.pop();
            rest.pop()?
        } else {
            first
        };
        ranges.push((first, last));
    }
}

fn is_separator(c: char) -> bool {
    c == '.' || c == '/'
}

impl Piece {
    fn takes(&self, c: char) -> bool {
        match self {
            Self::Char(own) => *own == c,
            Self::One | Self::Run => !is_separator(c),
            Self::AnyRun => true,
            Self::Set { is_negated, ranges } => {
                let is_listed = ranges
                    .iter()
                    .any(|(first, last)| (*first..=*last).contains(&c));
                is_listed != *is_negated
            }
        }
    }
}

/// Matches without backtracking, in time proportional to pattern times text: for each piece, which
/// prefixes of the text can be matched so far.
fn matches(pieces: &[Piece], text: &[char]) -> bool {
    let mut reached = vec![false; text.len() + 1];
    reached[0] = true;
    for piece in pieces {
        let is_run = matches!(piece, Piece::Run | Piece::AnyRun);
        let mut next = if is_run {
            reached.clone()
        } else {
            vec![false; text.len() + 1]
        };
        for (at, c) in text.iter().enumerate() {
            let from = if is_run { next[at] } else { reached[at] };
            if from && piece.takes(*c) {
                next[at + 1] = true;
            }
        }
        reached = next;
    }
    reached[text.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(pattern: &str, text: &str, expected: bool) {
        let glob = Glob::parse(pattern).expect(pattern);
        assert_eq!(glob.matches(text), expected, "{pattern} {text}");
    }

    #[test]
    fn wildcards() {
        check("a*c", "abbc", true);
        check("a*c", "ab.c", false);
        check("a**c", "ab./c", true);
        check("a?c", "abc", true);
        check("a?c", "a/c", false);
        check("a***", "a/b.c", true);
        check("*", "", true);
    }

    #[test]
    fn sets_and_choices() {
        check("[abc]x", "bx", true);
        check("[!abc]x", "bx", false);
        check("[!abc]x", "dx", true);
        check("[a-f0-9]", "d", true);
        check("[a-f]", "g", false);
        check("{a,b}c", "bc", true);
        check("{a,b}c", "cc", false);
        check("x{a{1,2},}y", "xa2y", true);
        check("x{a{1,2},}y", "xy", true);
        check("a\\*b", "a*b", true);
        check("a\\*b", "axb", false);
    }

    #[test]
    fn what_cannot_be_read_is_no_pattern() {
        for pattern in ["", "{a", "[a", "a\\", "{a,{b}"] {
            assert!(Glob::parse(pattern).is_none(), "{pattern}");
        }
        assert!(Glob::parse(&"{a,b}".repeat(9)).is_none());
    }

    #[test]
    fn long_patterns_of_stars_end_soon() {
        let pattern = "*a".repeat(200);
        check(&pattern, &"a".repeat(5000), true);
        check(&pattern, &format!("{}b", "a".repeat(5000)), false);
    }
}
