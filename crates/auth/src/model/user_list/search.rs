//! Finding users by a part of an address or of a name.

use std::collections::HashSet;

use postgres_types::ToSql;

use super::common_pieces::CommonPieces;
use crate::model::like;

const MATCHES: &str = "(u.email like $2 or u.raw_user_meta_data->>'full_name' ilike $2)";
/// The same, found by an index: `$3` are pieces of the address, `$4` of the name.
const FOUND_BY_PIECES: &str = "auth.search_users($1, $2, $3, $4)";

/// Pieces of so many letters find few enough rows.
const MAX_LETTERS: usize = 100;

/// A text that is searched for.
pub(crate) struct Search {
    pattern: String,
    pieces: Option<Pieces>,
}

/// Where rows with `id` and `created_at` come from.
pub(super) enum Source {
    /// All users for whom this condition holds.
    Users(&'static str),
    /// A function that returns users of the audience.
    Found(&'static str),
}

/// Parts of the text that are looked up in an index.
pub(crate) struct Pieces {
    pub(crate) email: Vec<String>,
    pub(crate) full_name: Vec<String>,
}

impl Search {
    /// `common` are the statistics of the indexes, `None` where there are no indexes.
    pub(crate) fn new(text: &str, common: Option<&CommonPieces>) -> Self {
        Self {
            pattern: like::containing(text),
            pieces: common.and_then(|common| Pieces::choose(text, common)),
        }
    }

    /// SQL with the audience as `$1` and this search's parameters from `$2` on.
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
    /// Of an address alone; `None` where an index would not help.
    pub(crate) fn of_email(text: &str, common: &CommonPieces) -> Option<Vec<String>> {
        common.email.rarest(&pieces(text))
    }

    /// Of a name alone; `None` where an index would not help.
    pub(crate) fn of_name(text: &str, common: &CommonPieces) -> Option<Vec<String>> {
        common.full_name.rarest(&pieces(text))
    }

    /// `None` where an index would not help.
    pub(crate) fn choose(text: &str, common: &CommonPieces) -> Option<Self> {
        let all = pieces(text);
        Some(Self {
            email: common.email.rarest(&all)?,
            full_name: common.full_name.rarest(&all)?,
        })
    }
}

/// Pieces that every text has which contains this one, in its order and as the index has them: in
/// lower case by the rules of ASCII.
fn pieces(text: &str) -> Vec<String> {
    let letters: Vec<char> = text.chars().take(MAX_LETTERS).collect();
    // The longer a piece, the fewer rows have it.
    let by_size = [6, 4, 3].map(|size| pieces_of_size(size, &letters));
    by_size
        .into_iter()
        .find(|pieces| !pieces.is_empty())
        .unwrap_or_default()
}

fn pieces_of_size(size: usize, letters: &[char]) -> Vec<String> {
    let ascii = letters
        .windows(size)
        .filter(|piece| piece.iter().all(char::is_ascii));
    let lower_case = ascii.map(|piece| piece.iter().map(char::to_ascii_lowercase).collect());
    let mut seen = HashSet::new();
    lower_case
        .filter(|piece: &String| seen.insert(piece.clone()))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

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
