//! The tree of `select`, with each filter, order and range at its level (rest contract §1.6).
//!
//! The schema cache is not needed yet: `select` alone shows which names are embeds.

use crate::{
    RestError,
    request::{
        Filter, LogicTree, OrderTerm, QueryParams, SelectEmbed, SelectField, SelectItem,
        range::RowRange,
    },
};

/// One level of `select`.
#[derive(Debug, Default)]
pub(super) struct SelectNode<'a> {
    /// `None` for the root.
    pub(super) embed: Option<&'a SelectEmbed>,
    pub(super) fields: Vec<&'a SelectField>,
    pub(super) filters: Vec<&'a Filter>,
    pub(super) logic: Vec<&'a LogicTree>,
    pub(super) order: &'a [OrderTerm],
    pub(super) range: RowRange,
    pub(super) children: Vec<SelectNode<'a>>,
    /// Whether a filter, order or range names its relation although it has an alias.
    pub(super) uses_deprecated_name: bool,
}

/// Which parts of the query string apply to the read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Scope {
    /// All of them.
    Everything,
    /// The read of a mutation's rows: filters of the root select what is changed instead, and
    /// ranges are ignored.
    Representation,
}

impl<'a> SelectNode<'a> {
    pub(super) fn new(
        query: &'a QueryParams,
        scope: Scope,
        allows_deprecated_names: bool,
    ) -> Result<Self, RestError> {
        let mut root = Self::from_items(None, &query.select);
        let is_for_read = |path: &[String]| scope == Scope::Everything || !path.is_empty();
        for (path, filter) in query.filters.iter().filter(|(path, _)| is_for_read(path)) {
            root.node_at(path, allows_deprecated_names)?
                .filters
                .push(filter);
        }
        for (path, order) in &query.order {
            root.node_at(path, allows_deprecated_names)?.order = order;
        }
        if scope == Scope::Everything {
            for (path, range) in &query.ranges {
                root.node_at(path, allows_deprecated_names)?.range = *range;
            }
        }
        for (path, tree) in query.logic.iter().filter(|(path, _)| is_for_read(path)) {
            root.node_at(path, allows_deprecated_names)?
                .logic
                .push(tree);
        }
        Ok(root)
    }

    fn from_items(embed: Option<&'a SelectEmbed>, items: &'a [SelectItem]) -> Self {
        let mut node = Self {
            embed,
            ..Self::default()
        };
        for item in items {
            match item {
                SelectItem::Field(field) => node.fields.push(field),
                SelectItem::Embed(embed) => {
                    node.children
                        .push(Self::from_items(Some(embed), &embed.items));
                }
            }
        }
        node
    }

    /// The node of a path. Aliases are tried before the names of relations.
    fn node_at(
        &mut self,
        path: &[String],
        allows_deprecated_names: bool,
    ) -> Result<&mut Self, RestError> {
        let Some((name, rest)) = path.split_first() else {
            return Ok(self);
        };
        let by_name = self.position(|embed| output_name(embed) == name);
        let found = match by_name {
            Some(index) => Some(index),
            None => {
                let by_relation = self.position(|embed| embed.relation == *name);
                if let Some(index) = by_relation
                    && !allows_deprecated_names
                {
                    let alias = self.children[index].embed.and_then(|e| e.alias.clone());
                    return Err(not_embedded(name, alias));
                }
                by_relation
            }
        };
        let Some(index) = found else {
            return Err(not_embedded(name, None));
        };
        let child = &mut self.children[index];
        child.uses_deprecated_name |= by_name.is_none();
        child.node_at(rest, allows_deprecated_names)
    }

    fn position(&self, is_match: impl Fn(&SelectEmbed) -> bool) -> Option<usize> {
        self.children
            .iter()
            .position(|child| child.embed.is_some_and(&is_match))
    }

    /// Relations named by their own name although they have an alias, each with the alias.
    pub(super) fn deprecated_names(&self) -> Vec<(&'a str, &'a str)> {
        let mut names = Vec::new();
        for child in &self.children {
            if child.uses_deprecated_name
                && let Some(embed) = child.embed
                && let Some(alias) = &embed.alias
            {
                names.push((embed.relation.as_str(), alias.as_str()));
            }
            names.extend(child.deprecated_names());
        }
        names
    }
}

/// The embed's key in the result.
pub(super) fn output_name(embed: &SelectEmbed) -> &str {
    embed.alias.as_deref().unwrap_or(&embed.relation)
}

fn not_embedded(name: &str, alias: Option<String>) -> RestError {
    RestError::NotEmbedded {
        name: name.to_owned(),
        alias,
    }
}
