//! Which views show the columns of which tables, through any number of views in between.

use std::{collections::HashMap, sync::Arc};

use super::{
    QualifiedName,
    node_tree::{ColumnId, Sources},
    relations::Relation,
};

/// For each table, by its id, the exposed views that show some of its columns.
#[derive(Debug, Default)]
pub(super) struct Provenance {
    views: HashMap<u32, Vec<ViewOfTable>>,
}

/// One view, seen from one of its tables.
#[derive(Debug)]
pub(super) struct ViewOfTable {
    id: u32,
    pub(super) view: QualifiedName,
    /// For a column of the table the columns of the view that show it, in the view's order.
    columns: HashMap<i16, Vec<Arc<str>>>,
}

impl Provenance {
    /// `sources`: of all views on the way, exposed or not.
    pub(super) fn new(sources: HashMap<u32, Sources>, relations: &HashMap<u32, Relation>) -> Self {
        let mut provenance = Self::default();
        for (&id, relation) in relations {
            if !relation.table.is_view {
                continue;
            }
            for (&position, column) in relation.positions.iter().zip(&relation.table.columns) {
                if let Some((table, base)) = trace(&sources, (id, position)) {
                    let view = provenance.view_of_table(table, id, &relation.table.name);
                    view.columns
                        .entry(base)
                        .or_default()
                        .push(column.name.clone());
                }
            }
        }
        provenance
    }

    /// The views that show a whole key, each with the view's columns for it: all combinations
    /// where a column is shown more than once.
    pub(super) fn keys<'a>(
        &'a self,
        table: u32,
        key: &'a [i16],
    ) -> impl Iterator<Item = (&'a QualifiedName, Vec<Arc<str>>)> {
        self.views_of(table).flat_map(move |view| {
            let combinations = view.key_columns(key).map_or_else(Vec::new, |c| combine(&c));
            combinations
                .into_iter()
                .map(|columns| (&view.view, columns))
        })
    }

    /// As [`Self::keys`], but each view once (by its id), with the first column of several.
    pub(super) fn first_keys<'a>(
        &'a self,
        table: u32,
        key: &'a [i16],
    ) -> impl Iterator<Item = (u32, Vec<Arc<str>>)> {
        self.views_of(table).filter_map(move |view| {
            let columns = view.key_columns(key)?;
            let first = columns
                .into_iter()
                .filter_map(|shown| shown.first().cloned());
            Some((view.id, first.collect()))
        })
    }

    fn views_of(&self, table: u32) -> impl Iterator<Item = &ViewOfTable> {
        self.views.get(&table).into_iter().flatten()
    }

    fn view_of_table(&mut self, table: u32, id: u32, view: &QualifiedName) -> &mut ViewOfTable {
        let views = self.views.entry(table).or_default();
        // Columns come view by view, so it is the last one or a new one.
        if views.last().is_none_or(|last| last.id != id) {
            views.push(ViewOfTable {
                id,
                view: view.clone(),
                columns: HashMap::new(),
            });
        }
        let last = views.len() - 1;
        &mut views[last]
    }
}

impl ViewOfTable {
    /// `None` unless the view shows every column of the key.
    fn key_columns(&self, key: &[i16]) -> Option<Vec<&[Arc<str>]>> {
        key.iter()
            .map(|position| self.columns.get(position).map(Vec::as_slice))
            .collect()
    }
}

/// Follows a column through views to what is none. Views cannot be built in a circle, but
/// replaced into one: then there is no end, and no answer.
fn trace(sources: &HashMap<u32, Sources>, start: ColumnId) -> Option<ColumnId> {
    let mut column = start;
    for _ in 0..=sources.len() {
        match sources.get(&column.0) {
            Some(view) => column = *view.get(&column.1)?,
            None => return Some(column),
        }
    }
    None
}

/// One choice from each list, in every way.
fn combine(choices: &[&[Arc<str>]]) -> Vec<Vec<Arc<str>>> {
    let mut combinations = vec![Vec::with_capacity(choices.len())];
    for choice in choices {
        combinations = combinations
            .iter()
            .flat_map(|begun| {
                choice.iter().map(move |column| {
                    let mut longer = begun.clone();
                    longer.push(column.clone());
                    longer
                })
            })
            .collect();
    }
    combinations
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_column_is_followed_through_views_but_not_in_a_circle() {
        let sources = HashMap::from([
            (10, Sources::from([(1, (11, 2)), (2, (12, 1))])),
            (11, Sources::from([(2, (5, 7))])),
            (12, Sources::from([(1, (10, 2))])),
        ]);

        assert_eq!(trace(&sources, (10, 1)), Some((5, 7)));
        assert_eq!(trace(&sources, (10, 2)), None);
        assert_eq!(trace(&sources, (11, 1)), None);
    }

    #[test]
    fn repeated_columns_combine_in_every_way() {
        let texts = |names: &[&str]| names.iter().map(|&name| name.into()).collect::<Vec<_>>();

        let combinations = combine(&[&texts(&["a", "b"]), &texts(&["c"])]);

        assert_eq!(combinations, [texts(&["a", "c"]), texts(&["b", "c"])]);
    }
}
