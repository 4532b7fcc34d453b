use std::collections::BTreeMap;

use proptest::{collection::vec, prelude::*};
use time::{Duration, OffsetDateTime};
use uuid::Uuid;

use super::*;

/// A list in memory that is read like the one in the database.
struct List {
    order: Order,
    /// In the order of the list.
    rows: Vec<Position>,
    milestones: Milestones,
    next_id: u128,
}

#[derive(Debug, Clone, Copy)]
enum Change {
    SignUp,
    /// Of any row.
    Delete(usize),
    /// With the `created_at` of another row.
    Insert(usize),
}

/// Enough for a milestone.
const MIN_ROWS: usize = 2 * DISTANCE;
/// Between milestones.
const DISTANCE: usize = 5;

impl List {
    /// With `count` rows and at most this many milestones.
    fn new(order: Order, count: usize, milestones: usize) -> Self {
        let mut list = Self {
            order,
            rows: Vec::new(),
            milestones: Milestones {
                order,
                rows: Vec::new(),
                lengths: Vec::new(),
            },
            next_id: 1,
        };
        (0..count).for_each(|_| list.change(Change::SignUp));
        let rows = list.rows.iter().skip(DISTANCE).step_by(DISTANCE);
        let rows: Vec<Position> = rows.take(milestones).copied().collect();
        list.milestones.lengths = vec![DISTANCE as u64; rows.len() - 1];
        list.milestones.rows = rows;
        list
    }

    /// Three users sign up within each second.
    fn change(&mut self, change: Change) {
        self.next_id += 1;
        let id = self.next_id.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        match change {
            Change::SignUp => self.rows.push(row((self.next_id / 3) as i64, id)),
            Change::Delete(index) if !self.rows.is_empty() => {
                self.rows.remove(index % self.rows.len());
            }
            Change::Insert(index) if !self.rows.is_empty() => {
                let Position { created_at, .. } = self.rows[index % self.rows.len()];
                self.rows.push(Position {
                    created_at,
                    id: Uuid::from_u128(id),
                });
            }
            Change::Delete(_) | Change::Insert(_) => {}
        }
        self.rows.sort();
        if self.order == Order::NewestFirst {
            self.rows.reverse();
        }
    }

    /// One row more than a page has.
    fn page(&mut self, offset: usize, limit: usize) -> Vec<Position> {
        let first = self.milestones.first();
        let before = self.offset_of(first.row);
        match offset.checked_sub(before) {
            None => {
                let rows = self.skip(offset, limit);
                let below = rows.get(before - offset..).unwrap_or_default();
                self.correct(first, 0, below);
                rows
            }
            Some(offset) => {
                let nearest = self.milestones.nearest(offset as u64);
                let skip = offset - nearest.offset as usize;
                let rows = self.skip(self.offset_of(nearest.row) + skip, limit);
                self.correct(nearest, offset as u64, &rows);
                rows
            }
        }
    }

    /// What the page would be if rows were counted from the top.
    fn skip(&self, offset: usize, limit: usize) -> Vec<Position> {
        let rows = self.rows.iter().skip(offset).take(limit + 1);
        rows.copied().collect()
    }

    fn offset_of(&self, milestone: Position) -> usize {
        let order = self.order;
        self.rows
            .partition_point(|row| order.is_before(*row, milestone))
    }

    fn correct(&mut self, from: Milestone, start: u64, rows: &[Position]) {
        while let Some(wrong) = self.milestones.find_wrong_length(from, start, rows) {
            let Segment { start, end } = wrong.segment;
            let counted = self.offset_of(end) - self.offset_of(start);
            let length = wrong.length.unwrap_or(counted as u64);
            assert_eq!(length, counted as u64, "{wrong:?}");
            self.milestones.correct(wrong, length);
            if wrong.length.is_none() {
                break;
            }
        }
    }

    /// How often each row was seen by a client that read all pages during these changes.
    fn walk(&mut self, limit: usize, changes: &[Change]) -> BTreeMap<Position, usize> {
        let mut changes = changes.iter();
        let mut seen = BTreeMap::new();
        for offset in (0..).step_by(limit) {
            let rows = self.page(offset, limit);
            for row in rows.iter().take(limit) {
                assert!(self.rows.contains(row));
                *seen.entry(*row).or_default() += 1;
            }
            if rows.len() <= limit {
                break;
            }
            if let Some(change) = changes.next() {
                self.change(*change);
            }
        }
        seen
    }
}

fn row(second: i64, id: u128) -> Position {
    Position {
        created_at: OffsetDateTime::UNIX_EPOCH + Duration::seconds(second),
        id: Uuid::from_u128(id),
    }
}

fn lists() -> impl Strategy<Value = List> {
    let list = (orders(), MIN_ROWS..200, 1..40_usize);
    list.prop_map(|(order, count, milestones)| List::new(order, count, milestones))
}

fn orders() -> impl Strategy<Value = Order> {
    prop_oneof![Just(Order::NewestFirst), Just(Order::OldestFirst)]
}

fn changes() -> impl Strategy<Value = Vec<Change>> {
    let change = prop_oneof![
        Just(Change::SignUp),
        any::<usize>().prop_map(Change::Delete),
        any::<usize>().prop_map(Change::Delete),
        any::<usize>().prop_map(Change::Insert),
    ];
    vec(change, 0..60)
}

#[test]
fn the_nearest_is_the_last_one_before() {
    for order in [Order::NewestFirst, Order::OldestFirst] {
        let List { milestones, .. } = List::new(order, 23, 100);
        let check = |offset, expected| assert_eq!(milestones.nearest(offset).offset, expected);
        check(0, 0);
        check(4, 0);
        check(5, 5);
        check(14, 10);
        check(u64::MAX, 15);
        assert_eq!(milestones.last(), milestones.nearest(15));
    }
}

#[test]
fn they_continue_at_the_same_interval() {
    let List { rows, .. } = List::new(Order::NewestFirst, 6, 1);
    let milestones = |rows: &[Position]| Milestones::new(Order::NewestFirst, rows.to_vec());
    let mut some = milestones(&rows[..2]).expect("two");
    some.extend(rows[2..].to_vec());

    assert_eq!(Some(some), milestones(&rows));
    assert_eq!(milestones(&[]), None);
}

impl std::fmt::Debug for List {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (rows, milestones) = (self.rows.len(), self.milestones.rows.len());
        write!(f, "{:?}, {rows} rows, {milestones} milestones", self.order)
    }
}

proptest! {
    #[test]
    fn any_page_of_an_unchanged_list_is_right(
        mut list in lists(), offset in 0..220_usize, limit in 1..30_usize,
    ) {
        prop_assert_eq!(list.page(offset, limit), list.skip(offset, limit));
    }

    #[test]
    fn sign_ups_move_all_pages(
        mut list in lists(), offset in 0..220_usize, sign_ups in 0..30_usize,
    ) {
        (0..sign_ups).for_each(|_| list.change(Change::SignUp));
        prop_assert_eq!(list.page(offset, 5), list.skip(offset, 5));
    }

    #[test]
    fn reading_all_pages_shows_every_row_once_after_any_changes(
        mut list in lists(), limit in 1..30_usize, changes in changes(),
    ) {
        changes.iter().for_each(|change| list.change(*change));
        let seen = list.walk(limit, &[]);
        prop_assert_eq!(seen.len(), list.rows.len());
        prop_assert!(seen.values().all(|times| *times == 1));
        // The corrections hold for other pages, too.
        for offset in 0..=list.rows.len() {
            prop_assert_eq!(list.page(offset, limit), list.skip(offset, limit));
        }
    }

    #[test]
    fn changes_while_reading_hide_or_repeat_no_more_rows_than_they_concern(
        mut list in lists(), limit in 1..30_usize, changes in changes(),
    ) {
        let before = list.rows.clone();
        let seen = list.walk(limit, &changes);
        let deleted = changes.iter().filter(|change| matches!(change, Change::Delete(_)));
        let deleted = deleted.count();
        let missed = before.iter().filter(|row| list.rows.contains(row));
        let missed = missed.filter(|row| !seen.contains_key(row)).count();
        prop_assert!(missed <= deleted, "{missed} missed, {deleted} deleted");
        let repeated: usize = seen.values().map(|times| times - 1).sum();
        // Deletions are noticed at different times in different segments: a row may come twice.
        prop_assert!(repeated <= changes.len(), "{repeated} repeated");
    }
}
