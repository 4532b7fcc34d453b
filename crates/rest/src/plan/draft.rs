//! The select tree with every filter, order and range at its place (rest contract §1.6).
//!
//! Nothing is looked up yet: which names are embeds is known from `select` alone.

use crate::{
    RestError,
    request::{
        Filter, LogicTree, OrderTerm, QueryParams, SelectEmbed, SelectField, SelectItem,
        range::RowRange,
    },
};

/// One level of `select`.
#[derive(Debug, Default)]
pub(super) struct Draft<'a> {
    /// `None` for the root.
    pub(super) embed: Option<&'a SelectEmbed>,
    pub(super) fields: Vec<&'a SelectField>,
    pub(super) filters: Vec<&'a Filter>,
    pub(super) logic: Vec<&'a LogicTree>,
    pub(super) order: &'a [OrderTerm],
    pub(super) range: RowRange,
    pub(super) children: Vec<Draft<'a>>,
    /// It was named by its relation although it has an alias.
    pub(super) is_named_the_old_way: bool,
}

/// Which parts of the query string concern the read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Scope {
    /// All of them.
    Everything,
    /// Of a mutation, root filters restrict what is changed, and ranges mean nothing.
    Representation,
}

impl<'a> Draft<'a> {
    pub(super) fn new(
        query: &'a QueryParams,
        scope: Scope,
        allows_old_names: bool,
    ) -> Result<Self, RestError> {
        let mut root = Self::level(None, &query.select);
        let is_for_read = |path: &[String]| scope == Scope::Everything || !path.is_empty();
        for (path, filter) in query.filters.iter().filter(|(path, _)| is_for_read(path)) {
            root.at(path, allows_old_names)?.filters.push(filter);
        }
        for (path, order) in &query.order {
            root.at(path, allows_old_names)?.order = order;
        }
        if scope == Scope::Everything {
            for (path, range) in &query.ranges {
                root.at(path, allows_old_names)?.range = *range;
            }
        }
        for (path, tree) in query.logic.iter().filter(|(path, _)| is_for_read(path)) {
            root.at(path, allows_old_names)?.logic.push(tree);
        }
        Ok(root)
    }

    fn level(embed: Option<&'a SelectEmbed>, items: &'a [SelectItem]) -> Self {
        let mut level = Self {
            embed,
            ..Self::default()
        };
        for item in items {
            match item {
                SelectItem::Field(field) => level.fields.push(field),
                SelectItem::Embed(embed) => {
                    level.children.push(Self::level(Some(embed), &embed.items));
                }
            }
        }
        level
    }

    /// The level that a path names. Names of the result come first, then relations' own names.
    fn at(&mut self, path: &[String], allows_old_names: bool) -> Result<&mut Self, RestError> {
        let Some((name, rest)) = path.split_first() else {
            return Ok(self);
        };
        let by_name = self.position(|embed| output_name(embed) == name);
        let found = match by_name {
            Some(index) => Some(index),
            None => {
                let by_relation = self.position(|embed| embed.relation == *name);
                if let Some(index) = by_relation
                    && !allows_old_names
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
        child.is_named_the_old_way |= by_name.is_none();
        child.at(rest, allows_old_names)
    }

    fn position(&self, is_it: impl Fn(&SelectEmbed) -> bool) -> Option<usize> {
        self.children
            .iter()
            .position(|child| child.embed.is_some_and(&is_it))
    }

    /// Relations that were named although they have an alias, each with its alias.
    pub(super) fn old_names(&self) -> Vec<(&'a str, &'a str)> {
        let mut names = Vec::new();
        for child in &self.children {
            if child.is_named_the_old_way
                && let Some(embed) = child.embed
                && let Some(alias) = &embed.alias
            {
                names.push((embed.relation.as_str(), alias.as_str()));
            }
            names.extend(child.old_names());
        }
        names
    }
}

/// Its key in the result.
pub(super) fn output_name(embed: &SelectEmbed) -> &str {
    embed.alias.as_deref().unwrap_or(&embed.relation)
}

fn not_embedded(name: &str, alias: Option<String>) -> RestError {
    RestError::NotEmbedded {
        name: name.to_owned(),
        alias,
    }
}
