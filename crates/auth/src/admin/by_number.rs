//! Pages of users by their number, however far down.

use std::{sync::Arc, time::Duration};

use plinth_db::{DbError, Queries};
use time::OffsetDateTime;

use super::{
    cursor::Position,
    milestones::{List, Milestone, Milestones, store},
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
/// So many rows before the first milestone are counted for each page; with more, others are made.
const MOST_BEFORE: u64 = 20_000;

/// A list whose pages have numbers.
pub(super) struct ByNumber<'a> {
    pub(super) context: &'a Context,
    pub(super) selection: &'a Selection<'a>,
    pub(super) order: Order,
}

impl ByNumber<'_> {
    /// Rows of a page, and how many there are in all, as was remembered or is counted.
    pub(super) async fn page(
        &self,
        db: &mut impl Queries,
        limit: i64,
        offset: i64,
    ) -> Result<(Vec<User>, u64), DbError> {
        if self.selection.filter.is_some() {
            let found = self.selection.search(db, self.order, limit, offset);
            return found.await;
        }
        let total = self.total(db).await?;
        Ok((self.read(db, limit, offset, total).await?, total))
    }

    /// Counting shows whether milestones are right, too.
    async fn total(&self, db: &mut impl Queries) -> Result<u64, DbError> {
        let (aud, now) = (self.selection.aud, self.context.now);
        let totals = &self.context.state.user_totals;
        if let Some(total) = totals.remembered(aud, now) {
            return Ok(total);
        }
        let total = self.count_all(db).await?;
        totals.remember(aud, total, now);
        Ok(total)
    }

    async fn count_all(&self, db: &mut impl Queries) -> Result<u64, DbError> {
        let (aud, now) = (self.selection.aud, self.context.now);
        let kept = &self.context.state.user_milestones;
        let lists = [Order::NewestFirst, Order::OldestFirst].map(|order| List { aud, order });
        let found = lists.map(|list| kept.find(list, now));
        let (lists, found): (Vec<List<'_>>, Vec<Arc<Milestones>>) = lists
            .into_iter()
            .zip(found)
            .filter_map(|(list, milestones)| Some((list, milestones?)))
            .unzip();
        let (total, spanned) = store::count_all(db, aud, &found).await?;
        for ((list, milestones), spanned) in lists.into_iter().zip(&found).zip(spanned) {
            if spanned != milestones.last().place {
                kept.forget(list, milestones);
            }
        }
        Ok(total)
    }

    /// Rows of a page of a list that has so many rows in all.
    async fn read(
        &self,
        db: &mut impl Queries,
        limit: i64,
        offset: i64,
        total: u64,
    ) -> Result<Vec<User>, DbError> {
        let milestones = match total >= LARGE {
            true => self.begin(db, offset.unsigned_abs()).await?,
            false => None,
        };
        let Some(milestones) = milestones else {
            return self.read_from_top(db, limit, offset).await;
        };
        match self.place(db, &milestones, offset.unsigned_abs()).await? {
            None => self.read_above(db, milestones, limit, offset).await,
            Some(place) => {
                let users = self.read_below(db, milestones, limit, place).await?;
                // Rows without a time, which seeds may have left, are the last ones there.
                let is_end = self.order == Order::OldestFirst && (users.len() as i64) < limit;
                match is_end && store::count_undated(db, self.list()).await? > 0 {
                    true => self.read_from_top(db, limit, offset).await,
                    false => Ok(users),
                }
            }
        }
    }

    /// What is skipped beyond the first milestone; none if the page begins before it.
    async fn place(
        &self,
        db: &mut impl Queries,
        milestones: &Arc<Milestones>,
        offset: u64,
    ) -> Result<Option<u64>, DbError> {
        if offset == 0 {
            return Ok(None);
        }
        let before = store::count_before(db, self.list(), milestones.first().row).await?;
        if before > MOST_BEFORE {
            let kept = &self.context.state.user_milestones;
            kept.forget(self.list(), milestones);
        }
        Ok(offset.checked_sub(before))
    }

    async fn read_from_top(
        &self,
        db: &mut impl Queries,
        limit: i64,
        offset: i64,
    ) -> Result<Vec<User>, DbError> {
        let read = self
            .selection
            .read(db, self.order, From::TheTop, limit, offset);
        read.await
    }

    /// A page that begins before the first milestone.
    async fn read_above(
        &self,
        db: &mut impl Queries,
        milestones: Arc<Milestones>,
        limit: i64,
        offset: i64,
    ) -> Result<Vec<User>, DbError> {
        let users = self.read_from_top(db, limit, offset).await?;
        let rows = places(&users);
        let first = milestones.first();
        let above = rows.partition_point(|row| self.order.is_before(*row, first.row));
        if above > 0 || offset == 0 {
            self.learn(db, milestones, first, 0, &rows[above..]).await?;
        }
        Ok(users)
    }

    /// A page that begins after the first milestone.
    async fn read_below(
        &self,
        db: &mut impl Queries,
        milestones: Arc<Milestones>,
        limit: i64,
        place: u64,
    ) -> Result<Vec<User>, DbError> {
        let milestones = self.extend(db, milestones, place).await?;
        let nearest = milestones.nearest(place);
        let from = From::Milestone(nearest.row);
        let skip = (place - nearest.place).cast_signed();
        let users = self.selection.read(db, self.order, from, limit, skip);
        let users = users.await?;
        self.learn(db, milestones, nearest, place, &places(&users))
            .await?;
        Ok(users)
    }

    /// Milestones that are there, or the first ones if somebody goes far.
    async fn begin(
        &self,
        db: &mut impl Queries,
        offset: u64,
    ) -> Result<Option<Arc<Milestones>>, DbError> {
        let kept = &self.context.state.user_milestones;
        let found = kept.find(self.list(), self.context.now);
        if found.is_some() || offset < FAR {
            return Ok(found);
        }
        let Some(_turn) = kept.turn_to_make() else {
            return Ok(None);
        };
        let rows = self.read_on(db, None, offset).await?;
        let begun = Milestones::new(self.order, rows).map(Arc::new);
        if let Some(begun) = &begun {
            kept.begin(self.list(), Arc::clone(begun), self.context.now);
        }
        Ok(begun)
    }

    /// Goes on with milestones up to a place, unless somebody else is at it: then the way from the
    /// last one is longer.
    async fn extend(
        &self,
        db: &mut impl Queries,
        mut milestones: Arc<Milestones>,
        place: u64,
    ) -> Result<Arc<Milestones>, DbError> {
        let kept = &self.context.state.user_milestones;
        if milestones.reach(place) {
            return Ok(milestones);
        }
        let Some(_turn) = kept.turn_to_make() else {
            return Ok(milestones);
        };
        while !milestones.reach(place) {
            let last = milestones.last();
            let rows = self.read_on(db, Some(last.row), place - last.place);
            let rows = rows.await?;
            if rows.is_empty() {
                break;
            }
            let shorter = Arc::clone(&milestones);
            Arc::make_mut(&mut milestones).extend(rows);
            kept.replace(self.list(), &shorter, Arc::clone(&milestones));
        }
        Ok(milestones)
    }

    /// Rows that become milestones.
    async fn read_on(
        &self,
        db: &mut impl Queries,
        from: Option<Position>,
        wanted: u64,
    ) -> Result<Vec<Position>, DbError> {
        let until = self.context.now - SETTLED;
        store::read_on(db, self.list(), from, wanted, until).await
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
        let mut right = Arc::clone(&milestones);
        while let Some(stretch) = right.astray(from, start, rows) {
            let length = match stretch.length {
                Some(length) => length,
                None => store::count_in(db, self.list(), stretch).await?,
            };
            Arc::make_mut(&mut right).correct(stretch, length);
            // What lies beyond is for those who read on.
            if stretch.length.is_none() {
                break;
            }
        }
        if !Arc::ptr_eq(&right, &milestones) {
            let kept = &self.context.state.user_milestones;
            kept.replace(self.list(), &milestones, right);
        }
        Ok(())
    }

    fn list(&self) -> List<'_> {
        List {
            aud: self.selection.aud,
            order: self.order,
        }
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
