//! Lateral joins of embeds (rest contract §6.4).

use super::writer::Sql;
use crate::{
    plan::tree::{Embed, Qualifier, ReadNode, Shape},
    schema_cache::{Junction, Link},
};

impl<'a> Sql<'a> {
    pub(super) fn join(&mut self, embed: &Embed<'a>, parent: Qualifier<'_>, form: JsonForm) {
        let alias = &embed.join_alias;
        self.push(if embed.is_inner {
            " inner join lateral ("
        } else {
            " left join lateral ("
        });
        let relation = Parent {
            embed,
            parent,
            form,
        };
        let aggregates = match &embed.shape {
            Shape::SpreadMany(columns) => Some(columns.as_slice()),
            Shape::Array => Some(&[][..]),
            Shape::Hidden if !embed.relationship.is_to_one() => Some(&[][..]),
            Shape::Object | Shape::SpreadOne(_) | Shape::Hidden => None,
        };
        let Some(spread) = aggregates else {
            self.read(&embed.node, Some(relation));
            self.push(") as ").ident(alias).push(" on true");
            return;
        };
        self.push("select json_agg(")
            .ident(alias)
            .push(")")
            .push(form.cast())
            .push(" as ")
            .ident(alias);
        for column in spread {
            self.push(", coalesce(json_agg(");
            self.column(Qualifier::Alias(alias), &column.name);
            self.hidden_order(&embed.node, alias);
            self.push("), '[]')").push(form.cast());
            self.push(" as ").ident(&column.name);
        }
        self.push(" from (");
        self.read(&embed.node, Some(relation));
        self.push(") as ").ident(alias).push(") as ").ident(alias);
        if embed.is_inner {
            self.push(" on ").ident(alias).push(" is not null")
        } else {
            self.push(" on true")
        };
    }

    fn hidden_order(&mut self, node: &ReadNode<'a>, alias: &str) {
        if node.hidden.is_empty() {
            return;
        }
        self.push(" order by ");
        self.list(", ", &node.hidden, |sql, hidden| {
            sql.column(Qualifier::Alias(alias), &hidden.alias);
            sql.direction(&hidden.by);
        });
    }
}

/// The type of embedded rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum JsonForm {
    /// `json`, which costs half as much.
    Json,
    /// `jsonb`, which can be compared, as grouping requires.
    Jsonb,
}

impl JsonForm {
    /// Of the embeds of a node. A spread's columns are columns of its parent, so grouping there
    /// counts too.
    pub(super) fn for_embeds_of(node: &ReadNode<'_>, parent: Option<Parent<'_, '_>>) -> Self {
        let is_grouped_above = parent.is_some_and(|parent| {
            let is_spread = matches!(
                parent.embed.shape,
                Shape::SpreadOne(_) | Shape::SpreadMany(_)
            );
            is_spread && parent.form == Self::Jsonb
        });
        if node.has_aggregates() || is_grouped_above {
            Self::Jsonb
        } else {
            Self::Json
        }
    }

    pub(super) fn cast(self) -> &'static str {
        match self {
            Self::Json => "",
            Self::Jsonb => "::jsonb",
        }
    }
}

/// How a node is joined with its parent.
#[derive(Clone, Copy)]
pub(super) struct Parent<'p, 'a> {
    pub(super) embed: &'p Embed<'a>,
    pub(super) parent: Qualifier<'p>,
    /// Of the parent's embeds.
    pub(super) form: JsonForm,
}

/// Two columns that must be equal.
pub(super) type JoinCondition<'p> = (Qualifier<'p>, &'p str, Qualifier<'p>, &'p str);

impl<'p, 'a> Parent<'p, 'a> {
    pub(super) fn conditions(self, node: &'p ReadNode<'a>) -> Vec<JoinCondition<'p>> {
        let own = node.from.qualifier();
        match &self.embed.relationship.link {
            Link::ManyToOne(join) | Link::OneToMany(join) | Link::OneToOne { join, .. } => join
                .columns
                .iter()
                .map(|(column, foreign)| (own, &**foreign, self.parent, &**column))
                .collect(),
            Link::ManyToMany(junction) => self.junction_conditions(junction, own),
            Link::Computed { .. } => Vec::new(),
        }
    }

    fn junction_conditions(
        self,
        junction: &'p Junction,
        own: Qualifier<'p>,
    ) -> Vec<JoinCondition<'p>> {
        let between = Qualifier::Relation(&junction.table);
        let to_target = junction
            .target_columns
            .iter()
            .map(|(column, of_junction)| (between, &**of_junction, own, &**column));
        let to_source = junction
            .source_columns
            .iter()
            .map(|(column, of_junction)| (between, &**of_junction, self.parent, &**column));
        to_target.chain(to_source).collect()
    }
}
