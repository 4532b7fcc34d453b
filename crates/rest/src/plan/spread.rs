//! Columns of spread embeds, which become columns of their parent (rest contract §1.3).

use std::borrow::Cow;

use super::tree::{HiddenColumn, ReadNode, Shape, SpreadColumn};

/// The columns of a to-one spread for its parent. Its aggregates are computed there, or further up
/// if the parent is a spread too: inside the spread there is only one row.
pub(super) fn lift_aggregates<'a>(
    node: &mut ReadNode<'a>,
    aggregates_here: bool,
) -> Vec<SpreadColumn<'a>> {
    let mut columns = spread_columns(node);
    for (column, lifted) in node.columns.iter_mut().zip(&mut columns) {
        lifted.aggregate = column.aggregate.take();
    }
    for column in &mut columns {
        column.aggregates_here = aggregates_here;
    }
    columns
}

/// All columns of a spread node: its own, then those of its embeds.
pub(super) fn spread_columns<'a>(node: &ReadNode<'a>) -> Vec<SpreadColumn<'a>> {
    let plain = |name: Cow<'a, str>| SpreadColumn {
        name,
        aggregate: None,
        aggregates_here: false,
    };
    let mut columns: Vec<_> = node
        .columns
        .iter()
        .map(|column| match &column.alias {
            Some(alias) => plain(alias.clone()),
            None => plain(Cow::Borrowed(column.field.name)),
        })
        .collect();
    for embed in &node.embeds {
        match &embed.shape {
            Shape::Hidden => {}
            Shape::Object | Shape::Array => columns.push(plain(Cow::Borrowed(embed.name))),
            Shape::SpreadOne(lifted) | Shape::SpreadMany(lifted) => {
                columns.extend(lifted.iter().cloned());
            }
        }
    }
    columns
}

/// Moves the order of a to-many spread into hidden columns, because it applies where the rows are
/// aggregated into arrays.
pub(super) fn hide_order(node: &mut ReadNode<'_>, join_alias: &str) {
    let order = std::mem::take(&mut node.order);
    node.hidden = order
        .into_iter()
        .enumerate()
        .map(|(index, by)| HiddenColumn {
            alias: format!("{join_alias}_{}_{}", by.field.name, index + 1),
            by,
        })
        .collect();
}
