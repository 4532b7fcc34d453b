//! Looking for users by a part of an address or of a name.

use postgres_types::ToSql;

use super::search_index::CommonTrigrams;

const MATCHES: &str = "(u.email like $2 or u.raw_user_meta_data->>'full_name' ilike $2)";
/// The same, found by trigrams that must be there: `$3` in the address, `$4` in the name. Where they
/// are no help after all, what costs less stands first.
const MATCHES_BY_TRIGRAMS: &str = "
    (u.email like $2 and auth.search_trigrams(u.email) operator(pg_catalog.@>) $3
     or u.raw_user_meta_data->>'full_name' ilike $2
         and auth.search_trigrams(u.raw_user_meta_data->>'full_name') operator(pg_catalog.@>) $4)";

/// A text that is looked for.
pub(super) struct Search {
    pattern: String,
    trigrams: Option<Trigrams>,
}

/// Parts of the text that an index is asked for.
struct Trigrams {
    email: Vec<String>,
    full_name: Vec<String>,
}

impl Search {
    /// How best to look for a text, given what is common where there is an index.
    pub(super) fn new(text: &str, common: Option<&CommonTrigrams>) -> Self {
        let all = trigrams(text);
        let trigrams = common.filter(|_| !all.is_empty()).map(|common| Trigrams {
            email: common.email.rarest(&all),
            full_name: common.full_name.rarest(&all),
        });
        Self {
            pattern: substring(text),
            trigrams,
        }
    }

    /// What is true of users who are found, as SQL with parameters from `$2` on.
    pub(super) fn condition(&self) -> &'static str {
        match self.trigrams {
            None => MATCHES,
            Some(_) => MATCHES_BY_TRIGRAMS,
        }
    }

    pub(super) fn params(&self) -> impl Iterator<Item = &(dyn ToSql + Sync)> {
        let pattern = &self.pattern as &(dyn ToSql + Sync);
        let trigrams = self.trigrams.iter().flat_map(|trigrams| {
            let Trigrams { email, full_name } = trigrams;
            [email, full_name].map(|part| part as &(dyn ToSql + Sync))
        });
        std::iter::once(pattern).chain(trigrams)
    }
}

/// What every text has that this one is a part of, as the index has it, which knows small and
/// capital letters of ASCII only. Nothing if that says nothing.
fn trigrams(text: &str) -> Vec<String> {
    let letters: Vec<char> = text.chars().collect();
    let plain = letters
        .windows(3)
        .filter(|three| three.iter().all(char::is_ascii));
    let mut trigrams: Vec<String> = plain
        .map(|three| three.iter().map(char::to_ascii_lowercase).collect())
        .collect();
    trigrams.sort_unstable();
    trigrams.dedup();
    trigrams
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
    fn three_letters_that_every_locale_writes_alike_narrow_a_search() {
        assert_eq!(trigrams("ABCabcd"), ["abc", "bca", "bcd", "cab"]);
        assert_eq!(trigrams("Jürgen"), ["gen", "rge"]);
        assert_eq!(trigrams("ab"), [""; 0]);
        assert_eq!(trigrams("äöü"), [""; 0]);
    }
}
