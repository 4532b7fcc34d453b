//! Looking for users by a part of an address or of a name.

use std::collections::HashSet;

use postgres_types::ToSql;

use super::search_index::CommonPieces;

const MATCHES: &str = "(u.email like $2 or u.raw_user_meta_data->>'full_name' ilike $2)";
/// The same, found by pieces that must be there: `$3` in the address, `$4` in the name.
const FOUND_BY_PIECES: &str = "auth.search_users($1, $2, $3, $4)";

/// Pieces of so many letters are enough to find few by.
const MOST_LETTERS: usize = 100;

/// A text that is looked for.
pub(super) struct Search {
    pattern: String,
    pieces: Option<Pieces>,
}

/// Where rows with `id` and `created_at` come from.
pub(super) enum Source {
    /// All users of whom this is true.
    Users(&'static str),
    /// Nobody else than those who are found, all of the audience.
    Found(&'static str),
}

/// Parts of the text that an index is asked for.
struct Pieces {
    email: Vec<String>,
    full_name: Vec<String>,
}

impl Search {
    /// How best to look for a text, given what is common where there is an index.
    pub(super) fn new(text: &str, common: Option<&CommonPieces>) -> Self {
        Self {
            pattern: substring(text),
            pieces: common.and_then(|common| Pieces::of(text, common)),
        }
    }

    /// Where those who are found come from: SQL with the audience as `$1` and this search's
    /// parameters from `$2` on.
    pub(super) fn source(&self) -> Source {
        match self.pieces {
            None => Source::Users(MATCHES),
            Some(_) => Source::Found(FOUND_BY_PIECES),
        }
    }

    pub(super) fn params(&self) -> impl Iterator<Item = &(dyn ToSql + Sync)> {
        let pattern = &self.pattern as &(dyn ToSql + Sync);
        let pieces = self.pieces.iter().flat_map(|pieces| {
            let Pieces { email, full_name } = pieces;
            [email, full_name].map(|part| part as &(dyn ToSql + Sync))
        });
        std::iter::once(pattern).chain(pieces)
    }
}

impl Pieces {
    /// None where they would not help to find anybody.
    fn of(text: &str, common: &CommonPieces) -> Option<Self> {
        let all = pieces(text);
        Some(Self {
            email: common.email.rarest(&all)?,
            full_name: common.full_name.rarest(&all)?,
        })
    }
}

/// What every text has that this one is a part of, in its order, as the index has it, which knows small and
/// capital letters of ASCII only. Nothing if that says nothing.
fn pieces(text: &str) -> Vec<String> {
    let letters: Vec<char> = text.chars().take(MOST_LETTERS).collect();
    // The longer a piece, the fewer have it.
    let by_size = [6, 4, 3].map(|size| pieces_of_size(size, &letters));
    by_size
        .into_iter()
        .find(|pieces| !pieces.is_empty())
        .unwrap_or_default()
}

fn pieces_of_size(size: usize, letters: &[char]) -> Vec<String> {
    let plain = letters
        .windows(size)
        .filter(|piece| piece.iter().all(char::is_ascii));
    let small = plain.map(|piece| piece.iter().map(char::to_ascii_lowercase).collect());
    let mut seen = HashSet::new();
    small
        .filter(|piece: &String| seen.insert(piece.clone()))
        .collect()
}

/// A pattern for `like` that matches the text anywhere, whatever signs are in it.
pub(super) fn substring(text: &str) -> String {
    let mut pattern = String::with_capacity(text.len() + 2);
    pattern.push('%');
    for sign in text.chars() {
        if matches!(sign, '%' | '_' | '\\') {
            pattern.push('\\');
        }
        pattern.push(sign);
    }
    pattern.push('%');
    pattern
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_filter_is_a_text_and_no_pattern() {
        assert_eq!(substring("a_b%c\\"), "%a\\_b\\%c\\\\%");
    }

    #[test]
    fn letters_that_every_locale_writes_alike_narrow_a_search() {
        assert_eq!(
            pieces("ABCabcdabc"),
            ["abcabc", "bcabcd", "cabcda", "abcdab", "bcdabc"]
        );
        assert_eq!(pieces("ABCab"), ["abca", "bcab"]);
        assert_eq!(pieces("ABc"), ["abc"]);
        assert_eq!(pieces("Jürgen"), ["rgen"]);
        assert_eq!(pieces("Zoë Ann"), [" ann"]);
        assert_eq!(pieces("Maß"), [""; 0]);
        assert_eq!(pieces("Jörg"), [""; 0]);
        assert_eq!(pieces("Björg"), [""; 0]);
        assert_eq!(pieces("Annö"), ["ann"]);
        assert_eq!(pieces("ab"), [""; 0]);
        assert_eq!(pieces("äöü"), [""; 0]);
    }
}
