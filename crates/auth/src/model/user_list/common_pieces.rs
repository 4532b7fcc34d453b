//! Which pieces of a text are common in addresses and names, as PostgreSQL's statistics say.
//!
//! The indexes that find users by pieces of a text are slow for pieces that nearly every row has
//! (`.com`, `@exa`), so a search leaves those out.

use std::{cmp::Reverse, collections::HashMap};

use plinth_db::{DbError, Queries};

const READ: &str = include_str!("common_pieces.sql");
/// So many rare pieces leave few rows to check.
const ENOUGH_PIECES: usize = 2;
/// Above this frequency the index is no faster than reading the table.
const MAX_FREQUENCY: f32 = 0.1;

/// How frequent pieces are in addresses and names.
#[derive(Default)]
pub(crate) struct CommonPieces {
    pub(super) email: Frequencies,
    pub(super) full_name: Frequencies,
}

/// Frequencies of the common pieces of one index. Empty if there are no statistics.
#[derive(Default)]
pub(super) struct Frequencies(HashMap<String, f32>);

impl CommonPieces {
    /// `None` where a schema that another program made has no such index.
    pub(crate) async fn read(db: &mut impl Queries) -> Result<Option<Self>, DbError> {
        let rows = db.query(READ, &[]).await?;
        let mut common = Self::default();
        for row in &rows {
            let pieces: Option<Vec<String>> = row.try_get("pieces")?;
            let frequencies: Option<Vec<f32>> = row.try_get("frequencies")?;
            let pairs = pieces.into_iter().flatten();
            let pairs = pairs.zip(frequencies.into_iter().flatten());
            let of_index = Frequencies(pairs.collect());
            match row.try_get::<_, &str>("name")? {
                "users_email_search_idx" => common.email = of_index,
                _ => common.full_name = of_index,
            }
        }
        Ok((!rows.is_empty()).then_some(common))
    }
}

impl Frequencies {
    /// The pieces that are worth looking up, of those that a text consists of, in its order; all
    /// while there are no statistics. `None` if each of them is common.
    ///
    /// The frequency of pieces without statistics is estimated: neighbours share most of their
    /// letters, so the further from a common piece, the rarer.
    pub(super) fn rarest(&self, pieces: &[String]) -> Option<Vec<String>> {
        let frequencies = pieces.iter().map(|piece| self.0.get(piece).copied());
        let frequencies: Vec<Option<f32>> = frequencies.collect();
        let known = || (0..pieces.len()).filter(|index| frequencies[*index].is_some());
        let rarity = |index: usize| {
            let distance = known().map(|known| known.abs_diff(index)).min();
            let frequency = frequencies[index].unwrap_or_default();
            (frequency, Reverse(distance.unwrap_or_default()))
        };
        let mut ranked: Vec<_> = (0..pieces.len())
            .map(|index| (rarity(index), index))
            .collect();
        ranked.sort_by(|(a, _), (b, _)| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        let is_rare = ranked
            .first()
            .is_some_and(|(rarity, _)| rarity.0 < MAX_FREQUENCY);
        let enough = if self.0.is_empty() {
            pieces.len()
        } else {
            ENOUGH_PIECES
        };
        let chosen = ranked.iter().take(enough);
        is_rare.then(|| chosen.map(|(_, index)| pieces[*index].clone()).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(texts: &[&str]) -> Vec<String> {
        texts.iter().map(|text| (*text).to_owned()).collect()
    }

    #[test]
    fn what_few_have_is_looked_up() {
        let common = [(".co", 0.9), ("@ex", 0.8), ("ann", 0.05)];
        let common = common.map(|(piece, frequency)| (piece.to_owned(), frequency));
        let known = Frequencies(common.into());

        let all = texts(&[".co", "@ex", "ann", "nna", "xyz", "yzz"]);
        assert_eq!(known.rarest(&all), Some(texts(&["yzz", "xyz"])));
        assert_eq!(known.rarest(&all[..3]), Some(texts(&["ann", "@ex"])));
    }

    #[test]
    fn what_many_have_is_not_looked_up() {
        let known = Frequencies([(".co".to_owned(), 0.9)].into());

        assert_eq!(known.rarest(&texts(&[".co"])), None);
        assert_eq!(known.rarest(&[]), None);
    }

    #[test]
    fn all_is_looked_up_while_nothing_is_known() {
        let all = texts(&["a@b", "b.c", "bcd", "cde", "def"]);
        assert_eq!(Frequencies::default().rarest(&all), Some(all));
    }
}
