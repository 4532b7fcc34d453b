//! Traces columns of views to columns of tables, through any number of views.

use std::{collections::HashMap, sync::Arc};

use super::{
    QualifiedName,
    node_tree::{ColumnId, Sources},
    relations::Relation,
};

/// By oid of a table: the exposed views that have columns of it.
#[derive(Debug, Default)]
pub(super) struct Provenance {
    views: HashMap<u32, Vec<ViewOfTable>>,
}

/// A view, and its columns that come from one table.
#[derive(Debug)]
pub(super) struct ViewOfTable {
    id: u32,
    pub(super) view: QualifiedName,
    /// By position of the table's column: the columns of the view, in the view's order.
    columns: HashMap<i16, Vec<Arc<str>>>,
}

impl Provenance {
    /// `sources`: of all views, exposed or not.
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

    /// The views that have all columns of a key, with the view's columns. If the view has a column
    /// several times, all combinations.
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

    /// As [`Self::keys`], but each view once, by oid, with the first of several columns.
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
        // Columns are grouped by view, so it is the last one or a new one.
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
    /// `None` unless the view has every column of the key.
    fn key_columns(&self, key: &[i16]) -> Option<Vec<&[Arc<str>]>> {
        key.iter()
            .map(|position| self.columns.get(position).map(Vec::as_slice))
            .collect()
    }
}

/// Follows a column through views to a table. `CREATE OR REPLACE VIEW` can make a cycle; then the
/// result is `None`.
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

/// The Cartesian product.
fn combine(choices: &[&[Arc<str>]]) -> Vec<Vec<Arc<str>>> {
    let mut combinations = vec![Vec::with_capacity(choices.len())];
    for choice in choices {
        combinations = combinations
            .iter()
            .flat_map(|prefix| {
                choice.iter().map(move |column| {
                    let mut longer = prefix.clone();
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
