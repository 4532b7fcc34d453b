//! Fuzzy matching of names that were not found, for hints (rest contract §5.4).
//!
//! The algorithm of the package fuzzyset, which PostgREST uses: names that share n-grams with the
//! needle are candidates, and the one with the smallest edit distance wins.

use std::collections::HashMap;

/// The most similar candidate, if it scores at least `min_score`. One that differs only in case
/// wins.
///
/// Trigrams are tried first, then bigrams. Among equal scores the candidate with more n-grams in
/// common wins, then the last.
pub(crate) fn best_match<'a>(
    needle: &str,
    candidates: impl Iterator<Item = &'a str>,
    min_score: f64,
) -> Option<&'a str> {
    let needle = needle.to_lowercase();
    let candidates = Candidate::distinct(candidates);
    if let Some(exact) = candidates.iter().find(|candidate| candidate.key == needle) {
        return Some(exact.name);
    }
    [3, 2]
        .into_iter()
        .find_map(|gram_size| nearest(&needle, &candidates, gram_size, min_score))
}

struct Candidate<'a> {
    name: &'a str,
    /// The name in lower case, for comparison.
    key: String,
}

impl<'a> Candidate<'a> {
    /// In reverse order. Of names that differ only in case, keeps one in lower case, else the
    /// first.
    fn distinct(names: impl Iterator<Item = &'a str>) -> Vec<Self> {
        let names: Vec<&str> = names.collect();
        let mut places: HashMap<String, usize> = HashMap::new();
        let mut candidates: Vec<Self> = Vec::new();
        for name in names.into_iter().rev() {
            let key = name.to_lowercase();
            match places.get(&key) {
                Some(&place) if candidates[place].name != key => candidates[place].name = name,
                Some(_) => {}
                None => {
                    places.insert(key.clone(), candidates.len());
                    candidates.push(Self { name, key });
                }
            }
        }
        candidates
    }
}

fn nearest<'a>(
    needle: &str,
    candidates: &[Candidate<'a>],
    gram_size: usize,
    min_score: f64,
) -> Option<&'a str> {
    /// Only these many have their edit distance computed.
    const SHORT_LIST: usize = 50;

    let needle_grams = Grams::of(needle, gram_size);
    let mut related: Vec<(f64, &Candidate<'_>)> = candidates
        .iter()
        .map(|candidate| {
            let grams = Grams::of(&candidate.key, gram_size);
            (needle_grams.cosine(&grams), candidate)
        })
        .filter(|(cosine, _)| *cosine > 0.0)
        .collect();
    related.sort_by(|(left, _), (right, _)| right.total_cmp(left));
    related.truncate(SHORT_LIST);

    let mut best: Option<(f64, &str)> = None;
    for (_, candidate) in related {
        let score = similarity(needle, &candidate.key);
        if score >= min_score && best.is_none_or(|(best_score, _)| score > best_score) {
            best = Some((score, candidate.name));
        }
    }
    best.map(|(_, name)| name)
}

/// From 0, nothing in common, to 1, equal.
fn similarity(left: &str, right: &str) -> f64 {
    let longest = left.chars().count().max(right.chars().count());
    if longest == 0 {
        return 1.0;
    }
    // A single division, so that 33 of 100 equals the constant 0.33.
    (longest - strsim::levenshtein(left, right)) as f64 / longest as f64
}

/// The count of each n-gram in a text. The text is reduced to letters, digits, spaces and commas,
/// and enclosed in hyphens.
struct Grams(HashMap<Box<[char]>, u32>);

impl Grams {
    fn of(text: &str, size: usize) -> Self {
        let is_kept = |c: &char| c.is_alphanumeric() || c.is_whitespace() || *c == ',';
        let kept: Vec<char> = std::iter::once('-')
            .chain(text.chars().filter(is_kept))
            .chain(['-'])
            .collect();
        let mut counts = HashMap::new();
        for gram in kept.windows(size) {
            *counts.entry(gram.into()).or_default() += 1;
        }
        Self(counts)
    }

    /// The cosine similarity of two texts as vectors of counts.
    fn cosine(&self, other: &Self) -> f64 {
        let common: u32 = self
            .0
            .iter()
            .filter_map(|(gram, count)| Some(count * other.0.get(gram)?))
            .sum();
        if common == 0 {
            return 0.0;
        }
        f64::from(common) / (self.magnitude() * other.magnitude())
    }

    fn magnitude(&self) -> f64 {
        f64::from(self.0.values().map(|count| count * count).sum::<u32>()).sqrt()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The thresholds in use.
    const STRICT: f64 = 0.75;
    const LOOSE: f64 = 0.33;

    const SHOP: &[&str] = &[
        "customers",
        "customer_addresses",
        "orders",
        "order_lines",
        "products",
        "product_reviews",
        "Warehouses",
    ];

    #[track_caller]
    fn check(needle: &str, candidates: &[&str], min_score: f64, expected: Option<&str>) {
        let found = best_match(needle, candidates.iter().copied(), min_score);
        assert_eq!(found, expected, "{needle}");
    }

    #[test]
    fn the_smallest_distance_wins() {
        check("costumers", SHOP, LOOSE, Some("customers"));
        check("orderlines", SHOP, LOOSE, Some("order_lines"));
        check("reviews", SHOP, LOOSE, Some("product_reviews"));
        check("customer adresses", SHOP, LOOSE, Some("customer_addresses"));
        check("house", SHOP, LOOSE, Some("Warehouses"));
        check("xyz", SHOP, LOOSE, None);
        check("orders", &[], LOOSE, None);
    }

    #[test]
    fn what_is_too_far_is_not_named() {
        check("fil", &["film"], STRICT, Some("film"));
        check("fi", &["film"], STRICT, None);
        check("fi", &["film"], LOOSE, Some("film"));
        check("filmses", &["films_of_the_year"], STRICT, None);
    }

    #[test]
    fn case_does_not_count() {
        check("FILMS", &["film", "Films"], STRICT, Some("Films"));
        check("films", &["Films", "films"], STRICT, Some("films"));
        check("films", &["films", "Films"], STRICT, Some("films"));
        check("filmS", &["FILMS", "Films"], STRICT, Some("FILMS"));
    }

    #[test]
    fn pairs_are_tried_when_runs_of_three_lead_nowhere() {
        // "abxcd" and "abycd" have no three characters in common but the first, "-ab".
        check("abxcd", &["abycd"], STRICT, Some("abycd"));
        check("xaby", &["zabw"], LOOSE, Some("zabw"));
        // The first is found by three, "-lo", but is too far away; the second only by two.
        check("lox", &["loxxxxxxxxxxxxxxx", "mlo"], 0.3, Some("mlo"));
    }

    #[test]
    fn lists_of_parameters_are_compared_as_text() {
        let overloads = ["(city, street, zip)", "(lat, lon)"];
        let check = |given: &str, expected: Option<&str>| {
            check(given, &overloads, LOOSE, expected);
        };

        check("(citty, stret, zip)", Some("(city, street, zip)"));
        check("(city, zip)", Some("(city, street, zip)"));
        check("(lat, long)", Some("(lat, lon)"));
        check("(lon)", Some("(lat, lon)"));
        check("(planet)", None);
    }

    #[test]
    fn a_tie_goes_to_more_common_grams_then_to_the_last() {
        check("cart", &["carts", "carte"], LOOSE, Some("carte"));
        check("cart", &["carte", "carts"], LOOSE, Some("carts"));
        // Both are one letter away, but "abce" shares "abc" too.
        check("abcd", &["abce", "abxd"], LOOSE, Some("abce"));
        check("abcd", &["abxd", "abce"], LOOSE, Some("abce"));
    }

    #[test]
    fn odd_texts_do_no_harm() {
        check("", &["films"], LOOSE, None);
        check("%%%", &["***"], LOOSE, None);
        check("ä", &["Ä"], LOOSE, Some("Ä"));
        check("größe", &["größen"], LOOSE, Some("größen"));
    }
}
