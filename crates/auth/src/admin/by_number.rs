//! Pages of users by their number, however far down.

use std::{sync::Arc, time::Duration};

use plinth_db::{DbError, Queries};
use time::OffsetDateTime;

use super::{
    cursor::Position,
    milestones::{Milestone, Milestones, store},
    order::Order,
    selection::{From, Selection},
    total::LARGE,
};
use crate::{model::User, request::Context};

/// Up to here rows are skipped at next to no cost.
const FAR: u64 = 1000;
/// Who signs up is in the table some time after the moment that the row tells: no request takes
/// longer.
const SETTLED: Duration = Duration::from_secs(15);

/// A list whose pages have numbers.
pub(super) struct ByNumber<'a> {
    pub(super) context: &'a Context,
    pub(super) selection: &'a Selection<'a>,
    pub(super) order: Order,
}

impl ByNumber<'_> {
    /// How many rows there are in all, by what was remembered or counted.
    pub(super) async fn total(&self, db: &mut impl Queries) -> Result<u64, DbError> {
        let Selection { aud, filter } = self.selection;
        let totals = &self.context.state.user_totals;
        let what = format!("{aud}\n{}", filter.unwrap_or_default());
        if let Some(total) = totals.remembered(&what, self.context.now) {
            return Ok(total);
        }
        let kept = &self.context.state.user_milestones;
        let total = match kept.find(aud).filter(|_| filter.is_none()) {
            None => self.selection.count(db).await?,
            Some(milestones) => {
                let counted = store::count(db, aud, &milestones).await?;
                kept.check(aud, &milestones, &counted);
                counted.total
            }
        };
        totals.remember(&what, total, self.context.now);
        Ok(total)
    }

    /// Rows of a page of a list that has so many rows in all.
    pub(super) async fn read(
        &self,
        db: &mut impl Queries,
        limit: i64,
        offset: i64,
        total: u64,
    ) -> Result<Vec<User>, DbError> {
        let milestones = match self.selection.filter.is_none() && total >= LARGE {
            true => self.milestones(db, offset.unsigned_abs(), total).await?,
            false => None,
        };
        let Some(milestones) = milestones else {
            return self.read_from_top(db, limit, offset).await;
        };
        let first = milestones.first(self.order);
        let place = match offset {
            0 => None,
            _ => {
                let ahead = store::count_before(db, self.selection.aud, self.order, first.row);
                offset.unsigned_abs().checked_sub(ahead.await?)
            }
        };
        match place {
            None => {
                let users = self.read_from_top(db, limit, offset).await?;
                let rows = places(&users);
                let is_above = |row: &Position| self.order.is_before_milestone(*row, first.row);
                let below = &rows[rows.partition_point(is_above)..];
                if below.len() < rows.len() || offset == 0 {
                    self.learn(db, milestones, first, 0, below).await?;
                }
                Ok(users)
            }
            Some(place) => {
                let nearest = milestones.nearest(self.order, place);
                let users = self.read_from(db, nearest, limit, place).await?;
                self.learn(db, milestones, nearest, place, &places(&users))
                    .await?;
                // Rows without a time, which seeds may have left, are the last ones there.
                let is_end = self.order == Order::OldestFirst && (users.len() as i64) < limit;
                if is_end && store::count_undated(db, self.selection.aud).await? > 0 {
                    return self.read_from_top(db, limit, offset).await;
                }
                Ok(users)
            }
        }
    }

    async fn read_from_top(
        &self,
        db: &mut impl Queries,
        limit: i64,
        offset: i64,
    ) -> Result<Vec<User>, DbError> {
        let selection = self.selection;
        selection
            .read(db, self.order, From::TheTop, limit, offset)
            .await
    }

    async fn read_from(
        &self,
        db: &mut impl Queries,
        milestone: Milestone,
        limit: i64,
        place: u64,
    ) -> Result<Vec<User>, DbError> {
        let from = From::Milestone(milestone.row);
        let skip = (place - milestone.place).cast_signed();
        self.selection.read(db, self.order, from, limit, skip).await
    }

    /// Those of the list. Whoever is the first to go far makes them; meanwhile others use older
    /// ones, or do without.
    async fn milestones(
        &self,
        db: &mut impl Queries,
        offset: u64,
        total: u64,
    ) -> Result<Option<Arc<Milestones>>, DbError> {
        let (aud, now) = (self.selection.aud, self.context.now);
        let kept = &self.context.state.user_milestones;
        if offset < FAR && kept.are_due(aud, now) {
            return Ok(None);
        }
        if let Some(_turn) = kept.turn_to_make(aud, now) {
            let milestones = store::make(db, aud, now - SETTLED).await?;
            kept.keep(aud, milestones, total, now);
        }
        Ok(kept.find(aud))
    }

    /// Corrects milestones that the rows of a page show to be elsewhere.
    async fn learn(
        &self,
        db: &mut impl Queries,
        milestones: Arc<Milestones>,
        from: Milestone,
        start: u64,
        rows: &[Position],
    ) -> Result<(), DbError> {
        let aud = self.selection.aud;
        let mut right = Arc::clone(&milestones);
        while let Some(stretch) = right.astray(self.order, from, start, rows) {
            let length = match stretch.length {
                Some(length) => length,
                None => store::count_between(db, aud, stretch.newer, stretch.older).await?,
            };
            Arc::make_mut(&mut right).correct(self.order, stretch, length);
            // What lies beyond is for those who read on.
            if stretch.length.is_none() {
                break;
            }
        }
        if !Arc::ptr_eq(&right, &milestones) {
            let kept = &self.context.state.user_milestones;
            kept.replace(aud, &milestones, right);
        }
        Ok(())
    }
}

/// Of rows that have one: those without a time are outside of all milestones.
fn places(users: &[User]) -> Vec<Position> {
    let users = users.iter();
    users
        .filter(|user| user.created_at != OffsetDateTime::UNIX_EPOCH)
        .map(Position::of)
        .collect()
}
