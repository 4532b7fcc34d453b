//! Sorts entries topologically by their dependencies.
//!
//! An entry belongs to a phase. Entries that may be deferred (a view that relies on a primary key)
//! follow their dependencies into a later phase; for others that is an error. Within a phase the
//! kind's rank decides, then the name, so that equal databases give equal texts.

use std::{
    cmp::Reverse,
    collections::{BTreeSet, BinaryHeap},
};

/// The stages of a restore.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Phase {
    /// Before the rows.
    Shape,
    /// Privileges, comments.
    Rights,
    /// Indexes, constraints, triggers, policies.
    Rules,
    /// Refresh of materialized views, run as their owners.
    Refresh,
    /// Default privileges.
    Future,
    /// Event triggers, which must not fire for any of the above.
    Watch,
}

/// Input of the sort.
#[derive(Debug, Clone)]
pub(crate) struct Node {
    pub(crate) phase: Phase,
    pub(crate) rank: u8,
    pub(crate) name: String,
    /// Whether it may move to a later phase than its own.
    pub(crate) may_move_later: bool,
    /// Indexes of the entries it depends on.
    pub(crate) needs: BTreeSet<usize>,
}

/// A dependency cycle: the entries in it, by index.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct DependencyCycle(pub(crate) Vec<usize>);

/// The order as indexes, each with its final phase.
pub(crate) fn order(nodes: &[Node]) -> Result<Vec<(usize, Phase)>, DependencyCycle> {
    let phases = phases(nodes)?;
    let mut waiting: Vec<usize> = nodes.iter().map(|node| node.needs.len()).collect();
    let mut needed_by = vec![Vec::new(); nodes.len()];
    for (index, node) in nodes.iter().enumerate() {
        for &need in &node.needs {
            needed_by[need].push(index);
        }
    }
    let key = |index: usize| {
        let node = &nodes[index];
        Reverse((phases[index], node.rank, node.name.as_str(), index))
    };
    let mut ready: BinaryHeap<_> = (0..nodes.len())
        .filter(|&index| waiting[index] == 0)
        .map(key)
        .collect();
    let mut ordered = Vec::with_capacity(nodes.len());
    while let Some(Reverse((phase, _, _, index))) = ready.pop() {
        ordered.push((index, phase));
        for &next in &needed_by[index] {
            waiting[next] -= 1;
            if waiting[next] == 0 {
                ready.push(key(next));
            }
        }
    }
    Ok(ordered)
}

/// The phase of each entry: its own, or the latest one of its dependencies.
fn phases(nodes: &[Node]) -> Result<Vec<Phase>, DependencyCycle> {
    let mut found: Vec<Option<Phase>> = vec![None; nodes.len()];
    for start in 0..nodes.len() {
        let mut path = vec![start];
        while let Some(&index) = path.last() {
            if found[index].is_some() {
                path.pop();
                continue;
            }
            let node = &nodes[index];
            if let Some(&open) = node.needs.iter().find(|&&need| found[need].is_none()) {
                if let Some(at) = path.iter().position(|&on_path| on_path == open) {
                    return Err(DependencyCycle(path.split_off(at)));
                }
                path.push(open);
                continue;
            }
            let latest = node.needs.iter().filter_map(|&need| found[need]).max();
            let phase = node.phase.max(latest.unwrap_or(node.phase));
            if phase > node.phase && !node.may_move_later {
                let later = |need: &&usize| found[**need] > Some(node.phase);
                let needs = node.needs.iter().filter(later).copied();
                return Err(DependencyCycle([index].into_iter().chain(needs).collect()));
            }
            found[index] = Some(phase);
            path.pop();
        }
    }
    let decided = found.into_iter().flatten().collect::<Vec<_>>();
    Ok(decided)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(phase: Phase, rank: u8, name: &str, may_move_later: bool, needs: &[usize]) -> Node {
        Node {
            phase,
            rank,
            name: name.to_owned(),
            may_move_later,
            needs: needs.iter().copied().collect(),
        }
    }

    #[track_caller]
    fn check(nodes: &[Node], expected: &[&str]) {
        let order = order(nodes).expect("an order");
        let names: Vec<&str> = order
            .iter()
            .map(|(at, _)| nodes[*at].name.as_str())
            .collect();
        assert_eq!(names, expected);
    }

    #[test]
    fn without_needs_rank_and_name_decide() {
        check(
            &[
                node(Phase::Rules, 1, "index", true, &[]),
                node(Phase::Shape, 2, "table b", false, &[]),
                node(Phase::Shape, 2, "table a", false, &[]),
                node(Phase::Shape, 1, "schema", false, &[]),
            ],
            &["schema", "table a", "table b", "index"],
        );
    }

    #[test]
    fn what_is_needed_comes_first_whatever_its_rank() {
        check(
            &[
                node(Phase::Shape, 1, "function of a table", true, &[1]),
                node(Phase::Shape, 2, "table", false, &[]),
            ],
            &["table", "function of a table"],
        );
    }

    #[test]
    fn a_view_that_relies_on_a_primary_key_follows_it_with_all_that_relies_on_the_view() {
        let nodes = [
            node(Phase::Shape, 3, "view of a view", true, &[1]),
            node(Phase::Shape, 3, "view", true, &[2]),
            node(Phase::Rules, 1, "primary key", false, &[3]),
            node(Phase::Shape, 2, "table", false, &[]),
            node(Phase::Rights, 1, "rights of the view", true, &[1]),
        ];
        check(
            &nodes,
            &[
                "table",
                "primary key",
                "view",
                "rights of the view",
                "view of a view",
            ],
        );
    }

    #[test]
    fn a_circle_names_those_in_it() {
        let nodes = [
            node(Phase::Shape, 1, "a", true, &[1]),
            node(Phase::Shape, 1, "b", true, &[2]),
            node(Phase::Shape, 1, "c", true, &[1]),
        ];
        assert_eq!(order(&nodes), Err(DependencyCycle(vec![1, 2])));
    }

    #[test]
    fn a_table_cannot_follow_something_that_needs_the_rows() {
        let nodes = [
            node(Phase::Shape, 1, "table", false, &[1]),
            node(Phase::Rules, 1, "primary key", false, &[]),
        ];
        assert_eq!(order(&nodes), Err(DependencyCycle(vec![0, 1])));
    }
}
