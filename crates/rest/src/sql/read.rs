//! Reads: one SELECT per node, embeds as lateral joins (rest contract §6.3, §6.4).

use super::{
    condition::{EmbedTest, Joined},
    writer::Sql,
};
use crate::{
    plan::tree::{
        Aggregated, Embed, From, OrderBy, OutputColumn, Qualifier, ReadNode, Shape, SpreadColumn,
    },
    request::{AggregateFunction, Direction, Nulls, range::RowRange},
    schema_cache::{Junction, Link},
};

/// What mutations and calls name the rows that they give to their read.
pub(super) const SOURCE: &str = "pgrst_source";

impl<'a> Sql<'a> {
    /// The rows of a node, with everything that is embedded in them.
    pub(super) fn read(&mut self, node: &ReadNode<'a>, parent: Option<Parent<'_, 'a>>) {
        let qualifier = node.from.qualifier();
        let form = JsonForm::in_rows_of(node, parent);
        self.push("select ");
        self.select_list(node, qualifier, form);
        self.push(" from ").from(&node.from);
        for embed in &node.embeds {
            self.join(embed, qualifier, form);
        }
        self.filters(node, parent, &Joined(&node.embeds), &[]);
        self.group_by(node, qualifier);
        if !node.order.is_empty() {
            self.push(" order by ");
            self.list(", ", &node.order, |sql, by| {
                sql.order_by(by, node, qualifier)
            });
        }
        self.limit(node.range);
    }

    /// One row for each row of the root, whatever the page: what an exact count counts.
    pub(super) fn count(&mut self, node: &ReadNode<'a>, parent: Option<Parent<'_, 'a>>) {
        self.push("select 1 from ").from(&node.from);
        let required: Vec<&Embed<'a>> = node.embeds.iter().filter(|embed| embed.is_inner).collect();
        self.filters(node, parent, &Existing(node), &required);
    }

    /// WHERE: the node's own conditions, what joins it to its parent, and embeds that must be
    /// there.
    fn filters(
        &mut self,
        node: &ReadNode<'a>,
        parent: Option<Parent<'_, 'a>>,
        embeds: &impl EmbedTest<'a>,
        required: &[&Embed<'a>],
    ) {
        let joins = parent.map_or(Vec::new(), |parent| parent.conditions(node));
        if node.conditions.is_empty() && joins.is_empty() && required.is_empty() {
            return;
        }
        let qualifier = node.from.qualifier();
        self.push(" where ");
        self.conditions(&node.conditions, qualifier, embeds);
        let mut needs_and = !node.conditions.is_empty();
        for (left, left_column, right, right_column) in joins {
            if needs_and {
                self.push(" and ");
            }
            self.column(left, left_column).push(" = ");
            self.column(right, right_column);
            needs_and = true;
        }
        for embed in required {
            if needs_and {
                self.push(" and ");
            }
            self.exists(embed, qualifier);
            needs_and = true;
        }
    }

    fn exists(&mut self, embed: &Embed<'a>, parent: Qualifier<'_>) {
        let form = JsonForm::Text;
        self.push("exists (");
        self.count(
            &embed.node,
            Some(Parent {
                embed,
                parent,
                form,
            }),
        );
        self.push(")");
    }

    fn from(&mut self, from: &From<'a>) -> &mut Self {
        match from {
            From::Relation(relation) => self.name(relation),
            From::Source { alias } => self.push(SOURCE).push(" as ").ident(alias),
            From::Aliased { relation, alias } => self.name(relation).push(" as ").ident(alias),
            From::Junction { relation, junction } => self.name(relation).push(", ").name(junction),
            From::Computed {
                function,
                argument,
                argument_type,
                alias,
            } => {
                self.name(function).push("(").ident(argument).push("::");
                self.name(argument_type).push(") as ").ident(alias)
            }
        }
    }

    fn select_list(&mut self, node: &ReadNode<'a>, qualifier: Qualifier<'_>, form: JsonForm) {
        let mut is_first = true;
        let mut comma = |sql: &mut Self| {
            if !std::mem::take(&mut is_first) {
                sql.push(", ");
            }
        };
        if node.columns.is_empty() && node.embeds.is_empty() {
            comma(self);
            self.column(qualifier, "*");
        }
        for column in &node.columns {
            comma(self);
            self.output_column(column, qualifier, &node.from);
        }
        for hidden in &node.hidden {
            comma(self);
            self.ordered_field(&hidden.by, node, qualifier);
            self.push(" as ").ident(&hidden.alias);
        }
        for embed in &node.embeds {
            match &embed.shape {
                Shape::Hidden => {}
                Shape::Object => {
                    comma(self);
                    self.push("row_to_json(").ident(&embed.join_alias);
                    self.push(".*)").push(form.cast());
                    self.push(" as ").ident(embed.name);
                }
                Shape::Array => {
                    comma(self);
                    self.push("coalesce(");
                    self.column(Qualifier::Alias(&embed.join_alias), &embed.join_alias);
                    self.push(", '[]') as ").ident(embed.name);
                }
                Shape::SpreadOne(columns) | Shape::SpreadMany(columns) => {
                    for column in columns {
                        comma(self);
                        self.spread_column(column, &embed.join_alias);
                    }
                }
            }
        }
    }

    fn output_column(
        &mut self,
        column: &OutputColumn<'a>,
        qualifier: Qualifier<'_>,
        from: &From<'a>,
    ) {
        self.aggregated(column.aggregate, |sql| {
            sql.cast(column.cast, |sql| {
                if column.is_whole_row {
                    sql.ident(from.row_name());
                    return;
                }
                match column.formatter {
                    Some(function) => {
                        sql.catalog(function).push("(");
                        sql.field(&column.field, qualifier).push(")");
                    }
                    None => {
                        sql.field(&column.field, qualifier);
                    }
                }
            });
        });
        if let Some(alias) = &column.alias {
            self.push(" as ").ident(alias);
        }
    }

    fn spread_column(&mut self, column: &SpreadColumn<'a>, join_alias: &str) {
        let aggregate = column.aggregate.filter(|_| column.aggregates_here);
        self.aggregated(aggregate, |sql| {
            sql.column(Qualifier::Alias(join_alias), &column.name);
        });
        if aggregate.is_some() {
            self.push(" as ").ident(&column.name);
        }
    }

    fn aggregated(
        &mut self,
        aggregate: Option<Aggregated<'a>>,
        inner: impl FnOnce(&mut Self),
    ) -> &mut Self {
        let Some(aggregate) = aggregate else {
            inner(self);
            return self;
        };
        self.cast(aggregate.cast, |sql| {
            sql.push(match aggregate.function {
                AggregateFunction::Sum => "sum(",
                AggregateFunction::Avg => "avg(",
                AggregateFunction::Count => "count(",
                AggregateFunction::Max => "max(",
                AggregateFunction::Min => "min(",
            });
            inner(sql);
            sql.push(")");
        })
    }

    fn cast(&mut self, cast: Option<&str>, inner: impl FnOnce(&mut Self)) -> &mut Self {
        match cast {
            Some(cast) => {
                self.push("cast(");
                inner(self);
                self.push(" as ").client_type(cast).push(")")
            }
            None => {
                inner(self);
                self
            }
        }
    }

    fn join(&mut self, embed: &Embed<'a>, parent: Qualifier<'_>, form: JsonForm) {
        let alias = &embed.join_alias;
        self.push(match embed.is_inner {
            true => " inner join lateral (",
            false => " left join lateral (",
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
        match embed.is_inner {
            true => self.push(" on ").ident(alias).push(" is not null"),
            false => self.push(" on true"),
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

    fn group_by(&mut self, node: &ReadNode<'a>, qualifier: Qualifier<'_>) {
        if !node.has_aggregates() {
            return;
        }
        let mut is_first = true;
        let mut next = |sql: &mut Self| {
            let words = match std::mem::take(&mut is_first) {
                true => " group by ",
                false => ", ",
            };
            sql.push(words);
        };
        for column in node
            .columns
            .iter()
            .filter(|column| column.aggregate.is_none())
        {
            next(self);
            match &column.alias {
                Some(alias) => self.ident(alias),
                None => self.field(&column.field, qualifier),
            };
        }
        for embed in &node.embeds {
            match &embed.shape {
                Shape::Hidden => {}
                Shape::Object | Shape::Array => {
                    next(self);
                    self.ident(embed.name);
                }
                Shape::SpreadOne(columns) | Shape::SpreadMany(columns) => {
                    let is_plain = |column: &&SpreadColumn<'_>| {
                        column.aggregate.is_none() || !column.aggregates_here
                    };
                    for column in columns.iter().filter(is_plain) {
                        next(self);
                        self.column(Qualifier::Alias(&embed.join_alias), &column.name);
                    }
                }
            }
        }
    }

    fn order_by(&mut self, by: &OrderBy<'a>, node: &ReadNode<'a>, qualifier: Qualifier<'_>) {
        self.ordered_field(by, node, qualifier);
        self.direction(by);
    }

    fn ordered_field(&mut self, by: &OrderBy<'a>, node: &ReadNode<'a>, qualifier: Qualifier<'_>) {
        let qualifier = match by.embed {
            Some(index) => Qualifier::Alias(&node.embeds[index].join_alias),
            None => qualifier,
        };
        self.field(&by.field, qualifier);
    }

    fn direction(&mut self, by: &OrderBy<'a>) {
        match by.direction {
            Some(Direction::Ascending) => self.push(" asc"),
            Some(Direction::Descending) => self.push(" desc"),
            None => self,
        };
        match by.nulls {
            Some(Nulls::First) => self.push(" nulls first"),
            Some(Nulls::Last) => self.push(" nulls last"),
            None => self,
        };
    }

    fn limit(&mut self, range: RowRange) {
        if range.is_all() {
            return;
        }
        self.push(" limit ");
        match range.limit {
            Some(limit) => self.value(limit.to_string()),
            None => self.push("all"),
        };
        self.push(" offset ").value(range.offset.to_string());
    }
}

/// What embedded rows are made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum JsonForm {
    /// As text, which costs half of the other.
    Text,
    /// As a value that can be compared, which grouping needs.
    Comparable,
}

impl JsonForm {
    /// The columns of a spread are its parent's columns, too.
    fn in_rows_of(node: &ReadNode<'_>, parent: Option<Parent<'_, '_>>) -> Self {
        let is_grouped_above = parent.is_some_and(|parent| {
            let is_spread = matches!(
                parent.embed.shape,
                Shape::SpreadOne(_) | Shape::SpreadMany(_)
            );
            is_spread && parent.form == Self::Comparable
        });
        match node.has_aggregates() || is_grouped_above {
            true => Self::Comparable,
            false => Self::Text,
        }
    }

    fn cast(self) -> &'static str {
        match self {
            Self::Text => "",
            Self::Comparable => "::jsonb",
        }
    }
}

/// What a node hangs on.
#[derive(Clone, Copy)]
pub(super) struct Parent<'p, 'a> {
    embed: &'p Embed<'a>,
    parent: Qualifier<'p>,
    /// What the parent's rows need.
    form: JsonForm,
}

/// Two columns that must be equal.
type JoinCondition<'p> = (Qualifier<'p>, &'p str, Qualifier<'p>, &'p str);

impl<'p, 'a> Parent<'p, 'a> {
    fn conditions(self, node: &'p ReadNode<'a>) -> Vec<JoinCondition<'p>> {
        let own = node.from.qualifier();
        match &self.embed.relationship.link {
            Link::ManyToOne(join) | Link::OneToMany(join) | Link::OneToOne { join, .. } => join
                .columns
                .iter()
                .map(|(column, foreign)| (own, &**foreign, self.parent, &**column))
                .collect(),
            Link::ManyToMany(junction) => self.across(junction, own),
            Link::Computed { .. } => Vec::new(),
        }
    }

    fn across(self, junction: &'p Junction, own: Qualifier<'p>) -> Vec<JoinCondition<'p>> {
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

/// In a count, where embeds are only looked for.
struct Existing<'p, 'a>(&'p ReadNode<'a>);

impl<'a> EmbedTest<'a> for Existing<'_, 'a> {
    fn embed_is_null(&self, sql: &mut Sql<'a>, embed: usize, is_negated: bool) {
        if !is_negated {
            sql.push("not ");
        }
        sql.exists(&self.0.embeds[embed], self.0.from.qualifier());
    }
}
