//! What is known of the indexes that find users by pieces of a text.
//!
//! An index that is asked for pieces that everybody has (`.com`, `@exa`) reads its lists of everybody
//! for nothing. PostgreSQL knows which those are; asking it anew for every search would cost as much
//! as the search.

use std::{
    cmp::Reverse,
    collections::HashMap,
    sync::{Arc, Mutex},
    time::Duration,
};

use plinth_db::{DbError, Queries};
use time::OffsetDateTime;

const READ: &str = include_str!("search_index.sql");
/// PostgreSQL looks at a table again after many changes only.
const REMEMBERED: Duration = Duration::from_secs(60);
/// So many rare pieces leave few rows to look at, and few lists to read.
const ENOUGH: usize = 2;
/// Of what so many have, an index is no shorter way than the table itself.
const COMMON: f32 = 0.1;

/// Of one project.
#[derive(Default)]
pub(crate) struct SearchIndex(Mutex<Option<Known>>);

struct Known {
    at: OffsetDateTime,
    pieces: Option<Arc<CommonPieces>>,
}

/// How often pieces are in addresses and names.
#[derive(Default)]
pub(super) struct CommonPieces {
    pub(super) email: Frequencies,
    pub(super) full_name: Frequencies,
}

/// Of the pieces of one index that many rows have. Empty if nothing is known of it.
#[derive(Default)]
pub(super) struct Frequencies(HashMap<String, f32>);

impl SearchIndex {
    /// What is common. None where a schema that another program made has no such index.
    pub(super) async fn common_pieces(
        &self,
        db: &mut impl Queries,
        now: OffsetDateTime,
    ) -> Result<Option<Arc<CommonPieces>>, DbError> {
        if let Some(known) = self.remembered(now) {
            return Ok(known);
        }
        let pieces = read(db).await?.map(Arc::new);
        let known = Known {
            at: now,
            pieces: pieces.clone(),
        };
        *self.0.lock().unwrap_or_else(|broken| broken.into_inner()) = Some(known);
        Ok(pieces)
    }

    fn remembered(&self, now: OffsetDateTime) -> Option<Option<Arc<CommonPieces>>> {
        let known = self.0.lock().unwrap_or_else(|broken| broken.into_inner());
        let known = known.as_ref()?;
        let is_good = now >= known.at && now < known.at + REMEMBERED;
        is_good.then(|| known.pieces.clone())
    }
}

async fn read(db: &mut impl Queries) -> Result<Option<CommonPieces>, DbError> {
    let rows = db.query(READ, &[]).await?;
    let mut common = CommonPieces::default();
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

impl Frequencies {
    /// Those of the pieces, which come in the order of the text, that are worth looking up; all while
    /// nothing is known. None if many rows have each of them.
    ///
    /// How rare those are that nothing is known of can be guessed: they share most of their letters with
    /// their neighbours, so the further from one that many have, the fewer have them.
    pub(super) fn rarest(&self, pieces: &[String]) -> Option<Vec<String>> {
        let frequencies = pieces.iter().map(|piece| self.0.get(piece).copied());
        let frequencies: Vec<Option<f32>> = frequencies.collect();
        let known = || (0..pieces.len()).filter(|place| frequencies[*place].is_some());
        let rarity = |place: usize| {
            let away = known().map(|known| known.abs_diff(place)).min();
            let frequency = frequencies[place].unwrap_or_default();
            (frequency, Reverse(away.unwrap_or_default()))
        };
        let mut ranked: Vec<_> = (0..pieces.len())
            .map(|place| (rarity(place), place))
            .collect();
        ranked.sort_by(|(a, _), (b, _)| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        let is_rare = ranked.first().is_some_and(|(rarity, _)| rarity.0 < COMMON);
        let enough = match self.0.is_empty() {
            true => pieces.len(),
            false => ENOUGH,
        };
        let chosen = ranked.iter().take(enough);
        is_rare.then(|| chosen.map(|(_, place)| pieces[*place].clone()).collect())
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
