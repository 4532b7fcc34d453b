//! Pages of users by number, however far down.

use std::{sync::Arc, time::Duration};

use plinth_db::{DbError, Queries};
use time::OffsetDateTime;

use super::{
    milestones::{INTERVAL, Milestone, Milestones},
    total::MIN_CACHED,
};
use crate::{
    model::{
        User,
        user_list::{self, Order, Position, Start, UserList, UserOrder},
    },
    request::RequestContext,
};

/// Below this offset skipping rows is cheap.
const MIN_OFFSET: u64 = 1000;
/// How long after its `created_at` a row is surely committed: no request takes longer.
const COMMIT_DELAY: Duration = Duration::from_secs(15);
/// With more rows than this before the first milestone, milestones are built again.
const MAX_ROWS_BEFORE: u64 = 20_000;

/// A list whose pages have numbers.
pub(super) struct NumberedPages<'a> {
    pub(super) context: &'a RequestContext,
    pub(super) users: &'a UserList<'a>,
    pub(super) order: Order,
}

impl NumberedPages<'_> {
    /// Rows of a page, and how many there are in all, cached or counted.
    pub(super) async fn read_page(
        &self,
        db: &mut impl Queries,
        limit: i64,
        offset: i64,
    ) -> Result<(Vec<User>, u64), DbError> {
        if self.users.is_search() {
            let found = self.users.read_search(db, self.order, limit, offset);
            return found.await;
        }
        let total = self.total(db).await?;
        Ok((self.read(db, limit, offset, total).await?, total))
    }

    async fn total(&self, db: &mut impl Queries) -> Result<u64, DbError> {
        let (aud, now) = (self.users.audience(), self.context.now);
        let totals = &self.context.state.user_totals;
        if let Some(total) = totals.get(aud, now) {
            return Ok(total);
        }
        let total = self.count_all(db).await?;
        totals.insert(aud, total, now);
        Ok(total)
    }

    /// Counts all rows, and with them those between the first and the last milestone: wrong
    /// milestones are evicted.
    async fn count_all(&self, db: &mut impl Queries) -> Result<u64, DbError> {
        let (aud, now) = (self.users.audience(), self.context.now);
        let cache = &self.context.state.user_milestones;
        let lists = [Order::NewestFirst, Order::OldestFirst].map(|order| UserOrder { aud, order });
        let cached: Vec<(UserOrder<'_>, Arc<Milestones>)> = lists
            .into_iter()
            .filter_map(|list| Some((list, cache.get(list, now)?)))
            .collect();
        let spans: Vec<_> = cached.iter().map(|(_, cached)| cached.span()).collect();
        let (total, counted) = user_list::count_with_segments(db, aud, &spans).await?;
        for ((list, milestones), counted) in cached.into_iter().zip(counted) {
            if counted != milestones.last().offset {
                cache.evict(list, &milestones);
            }
        }
        Ok(total)
    }

    /// Rows of a page of a list that has `total` rows.
    async fn read(
        &self,
        db: &mut impl Queries,
        limit: i64,
        offset: i64,
        total: u64,
    ) -> Result<Vec<User>, DbError> {
        let milestones = if total >= MIN_CACHED {
            self.find_or_build(db, offset.unsigned_abs()).await?
        } else {
            None
        };
        let Some(milestones) = milestones else {
            return self.read_from_top(db, limit, offset).await;
        };
        let behind_first = self.offset_behind_first(db, &milestones, offset.unsigned_abs());
        match behind_first.await? {
            None => self.read_before_first(db, milestones, limit, offset).await,
            Some(skip) => {
                let users = self.read_behind_first(db, milestones, limit, skip).await?;
                // Rows without `created_at`, as seeds may insert them, are the last ones here.
                let is_end = self.order == Order::OldestFirst && (users.len() as i64) < limit;
                if is_end && user_list::count_undated(db, self.list()).await? > 0 {
                    self.read_from_top(db, limit, offset).await
                } else {
                    Ok(users)
                }
            }
        }
    }

    /// How far behind the first milestone an offset is; `None` if it is before it.
    async fn offset_behind_first(
        &self,
        db: &mut impl Queries,
        milestones: &Arc<Milestones>,
        offset: u64,
    ) -> Result<Option<u64>, DbError> {
        if offset == 0 {
            return Ok(None);
        }
        let before = user_list::count_before(db, self.list(), milestones.first().row).await?;
        if before > MAX_ROWS_BEFORE {
            let cache = &self.context.state.user_milestones;
            cache.evict(self.list(), milestones);
        }
        Ok(offset.checked_sub(before))
    }

    async fn read_from_top(
        &self,
        db: &mut impl Queries,
        limit: i64,
        offset: i64,
    ) -> Result<Vec<User>, DbError> {
        let read = self.users.read(db, self.order, Start::First, limit, offset);
        read.await
    }

    /// A page that begins before the first milestone.
    async fn read_before_first(
        &self,
        db: &mut impl Queries,
        milestones: Arc<Milestones>,
        limit: i64,
        offset: i64,
    ) -> Result<Vec<User>, DbError> {
        let users = self.read_from_top(db, limit, offset).await?;
        let rows = positions(&users);
        let first = milestones.first();
        let above = rows.partition_point(|row| self.order.is_before(*row, first.row));
        if above > 0 || offset == 0 {
            self.correct(db, milestones, first, 0, &rows[above..])
                .await?;
        }
        Ok(users)
    }

    /// A page that begins behind the first milestone, after `offset` rows.
    async fn read_behind_first(
        &self,
        db: &mut impl Queries,
        milestones: Arc<Milestones>,
        limit: i64,
        offset: u64,
    ) -> Result<Vec<User>, DbError> {
        let milestones = self.extend(db, milestones, offset).await?;
        let nearest = milestones.nearest(offset);
        let start = Start::At(nearest.row);
        let skip = (offset - nearest.offset).cast_signed();
        let users = self.users.read(db, self.order, start, limit, skip);
        let users = users.await?;
        self.correct(db, milestones, nearest, offset, &positions(&users))
            .await?;
        Ok(users)
    }

    /// Cached milestones, or the first ones if the page is far down and no other request builds any.
    async fn find_or_build(
        &self,
        db: &mut impl Queries,
        offset: u64,
    ) -> Result<Option<Arc<Milestones>>, DbError> {
        let cache = &self.context.state.user_milestones;
        let found = cache.get(self.list(), self.context.now);
        if found.is_some() || offset < MIN_OFFSET {
            return Ok(found);
        }
        let Some(_lock) = cache.try_build_lock() else {
            return Ok(None);
        };
        let rows = self.read_positions(db, None, offset).await?;
        let built = Milestones::new(self.order, rows).map(Arc::new);
        if let Some(built) = &built {
            cache.insert(self.list(), Arc::clone(built), self.context.now);
        }
        Ok(built)
    }

    /// Appends milestones up to an offset, unless another request builds some: then more rows are
    /// skipped from the last one.
    async fn extend(
        &self,
        db: &mut impl Queries,
        mut milestones: Arc<Milestones>,
        offset: u64,
    ) -> Result<Arc<Milestones>, DbError> {
        let cache = &self.context.state.user_milestones;
        if milestones.cover(offset) {
            return Ok(milestones);
        }
        let Some(_lock) = cache.try_build_lock() else {
            return Ok(milestones);
        };
        while !milestones.cover(offset) {
            let last = milestones.last();
            let rows = self.read_positions(db, Some(last.row), offset - last.offset);
            let rows = rows.await?;
            if rows.is_empty() {
                break;
            }
            let shorter = Arc::clone(&milestones);
            Arc::make_mut(&mut milestones).extend(rows);
            cache.replace(self.list(), &shorter, Arc::clone(&milestones));
        }
        Ok(milestones)
    }

    /// Rows that become milestones.
    async fn read_positions(
        &self,
        db: &mut impl Queries,
        from: Option<Position>,
        wanted: u64,
    ) -> Result<Vec<Position>, DbError> {
        let until = self.context.now - COMMIT_DELAY;
        user_list::read_every_nth(db, self.list(), INTERVAL, from, wanted, until).await
    }

    /// Corrects milestones that the rows of a page show to be elsewhere.
    async fn correct(
        &self,
        db: &mut impl Queries,
        milestones: Arc<Milestones>,
        from: Milestone,
        start: u64,
        rows: &[Position],
    ) -> Result<(), DbError> {
        let mut corrected = Arc::clone(&milestones);
        while let Some(wrong) = corrected.find_wrong_length(from, start, rows) {
            let length = match wrong.length {
                Some(length) => length,
                None => user_list::count_in(db, self.list(), wrong.segment).await?,
            };
            Arc::make_mut(&mut corrected).correct(wrong, length);
            // The page does not show what lies beyond.
            if wrong.length.is_none() {
                break;
            }
        }
        if !Arc::ptr_eq(&corrected, &milestones) {
            let cache = &self.context.state.user_milestones;
            cache.replace(self.list(), &milestones, corrected);
        }
        Ok(())
    }

    fn list(&self) -> UserOrder<'_> {
        UserOrder {
            aud: self.users.audience(),
            order: self.order,
        }
    }
}

/// Positions of the rows that have a `created_at`; others are outside of all milestones.
fn positions(users: &[User]) -> Vec<Position> {
    let users = users.iter();
    users
        .filter(|user| user.created_at != OffsetDateTime::UNIX_EPOCH)
        .map(Position::of)
        .collect()
}
