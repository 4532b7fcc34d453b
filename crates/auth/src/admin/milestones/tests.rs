use std::collections::BTreeMap;

use proptest::{collection::vec, prelude::*};
use time::{Duration, OffsetDateTime};
use uuid::Uuid;

use super::*;

const INTERVAL: u64 = 5;

/// A list in memory that is read as the one in the database is.
#[derive(Clone)]
struct List {
    /// The newest first.
    rows: Vec<Position>,
    milestones: Milestones,
    next_id: u128,
}

#[derive(Debug, Clone, Copy)]
enum Change {
    SignUp,
    /// Somewhere among all.
    Delete(usize),
    /// Somebody who is said to be as old as another.
    Insert(usize),
}

impl List {
    fn new(count: usize) -> Self {
        let mut list = Self {
            rows: Vec::new(),
            milestones: Milestones::new(vec![row(0, 0)], INTERVAL).expect("one row"),
            next_id: 1,
        };
        (0..count).for_each(|_| list.change(Change::SignUp));
        let interval = INTERVAL as usize;
        let rows = list.rows.iter().skip(interval).step_by(interval);
        let milestones = Milestones::new(rows.copied().collect(), INTERVAL);
        list.milestones = milestones.expect("enough rows");
        list
    }

    /// Three people sign up within each second.
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
        self.rows.sort_by(|one, other| other.cmp(one));
    }

    fn in_order(&self, order: Order) -> Vec<Position> {
        let mut rows = self.rows.clone();
        if order == Order::OldestFirst {
            rows.reverse();
        }
        rows
    }

    /// One row more than a page has.
    fn page(&mut self, order: Order, offset: usize, limit: usize) -> Vec<Position> {
        let list = self.in_order(order);
        let read = |start: usize| -> Vec<Position> {
            list.iter().skip(start).take(limit + 1).copied().collect()
        };
        let first = self.milestones.first(order);
        let ahead = place_of(order, first, &list);
        match offset.checked_sub(ahead) {
            None => {
                let rows = read(offset);
                let below = rows
                    .iter()
                    .skip(ahead - offset)
                    .copied()
                    .collect::<Vec<_>>();
                self.learn(order, first, 0, &below);
                rows
            }
            Some(place) => {
                let nearest = self.milestones.nearest(order, place as u64);
                let skip = place - nearest.place as usize;
                assert!(skip < list.len().max(place + 1));
                let rows = read(place_of(order, nearest, &list) + skip);
                self.learn(order, nearest, place as u64, &rows);
                rows
            }
        }
    }

    fn learn(&mut self, order: Order, from: Milestone, start: u64, rows: &[Position]) {
        while let Some(stretch) = self.milestones.astray(order, from, start, rows) {
            let between = self.rows.iter();
            let between = between.filter(|row| **row <= stretch.newer && **row > stretch.older);
            let counted = between.count() as u64;
            let length = stretch.length.unwrap_or(counted);
            assert_eq!(length, counted, "{stretch:?}");
            self.milestones.correct(order, stretch, length);
            if stretch.length.is_none() {
                break;
            }
        }
    }

    /// How often each row was seen by whoever read all pages, while others did this.
    fn walk(
        &mut self,
        order: Order,
        limit: usize,
        changes: &[Change],
    ) -> BTreeMap<Position, usize> {
        let mut changes = changes.iter();
        let mut seen = BTreeMap::new();
        for offset in (0..).step_by(limit) {
            let rows = self.page(order, offset, limit);
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

/// Of a list in that order.
fn place_of(order: Order, milestone: Milestone, list: &[Position]) -> usize {
    list.partition_point(|row| order.is_before_milestone(*row, milestone.row))
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
fn the_nearest_is_the_last_one_above() {
    let list = List::new(23);
    let check = |order, place, expected| {
        assert_eq!(list.milestones.nearest(order, place).place, expected);
    };
    for order in [Order::NewestFirst, Order::OldestFirst] {
        check(order, 0, 0);
        check(order, 4, 0);
        check(order, 5, 5);
        check(order, 14, 10);
        check(order, u64::MAX, 15);
    }
    assert_eq!(list.milestones.span(), 15);
}

#[test]
fn without_rows_there_are_none() {
    assert_eq!(Milestones::new(Vec::new(), INTERVAL), None);
}

proptest! {
    #[test]
    fn any_page_of_a_list_that_nobody_changed_is_right(
        count in 10..200usize, order in orders(), offset in 0..220usize, limit in 1..30usize,
    ) {
        let mut list = List::new(count);
        let expected = list.in_order(order).into_iter().skip(offset).take(limit + 1);
        prop_assert_eq!(list.page(order, offset, limit), expected.collect::<Vec<_>>());
    }

    #[test]
    fn sign_ups_move_all_pages(
        count in 10..200usize, order in orders(), offset in 0..220usize, sign_ups in 0..30usize,
    ) {
        let mut list = List::new(count);
        (0..sign_ups).for_each(|_| list.change(Change::SignUp));
        let expected = list.in_order(order).into_iter().skip(offset).take(6);
        prop_assert_eq!(list.page(order, offset, 5), expected.collect::<Vec<_>>());
    }

    #[test]
    fn whoever_reads_all_pages_sees_everybody_once_whatever_happened_before(
        count in 10..200usize, order in orders(), limit in 1..30usize, changes in changes(),
    ) {
        let mut list = List::new(count);
        changes.iter().for_each(|change| list.change(*change));
        let seen = list.walk(order, limit, &[]);
        prop_assert_eq!(seen.len(), list.rows.len());
        prop_assert!(seen.values().all(|times| *times == 1));
        // What was learned on the way holds for everybody.
        let rows = list.in_order(order);
        for offset in 0..=rows.len() {
            let expected = rows.iter().skip(offset).take(limit + 1).copied();
            prop_assert_eq!(list.page(order, offset, limit), expected.collect::<Vec<_>>());
        }
    }

    #[test]
    fn what_happens_meanwhile_hides_or_repeats_no_more_rows_than_it_concerns(
        count in 10..200usize, order in orders(), limit in 1..30usize, changes in changes(),
    ) {
        let mut list = List::new(count);
        let before = list.rows.clone();
        let seen = list.walk(order, limit, &changes);
        let deleted = changes.iter().filter(|change| matches!(change, Change::Delete(_)));
        let deleted = deleted.count();
        let missed = before.iter().filter(|row| list.rows.contains(row));
        let missed = missed.filter(|row| !seen.contains_key(row)).count();
        prop_assert!(missed <= deleted, "{missed} missed, {deleted} deleted");
        let repeated: usize = seen.values().map(|times| times - 1).sum();
        prop_assert!(repeated <= changes.len() - deleted, "{repeated} repeated");
    }
}
