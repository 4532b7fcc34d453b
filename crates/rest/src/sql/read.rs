//! Reads: one SELECT per node (rest contract §6.3).

use super::{
    condition::{ByJoin, EmbedNullTest},
    join::{JsonForm, Parent},
    writer::Sql,
};
use crate::{
    plan::tree::{
        Aggregated, Embed, From, OrderBy, OutputColumn, Qualifier, ReadNode, Shape, SpreadColumn,
    },
    request::{AggregateFunction, Direction, Nulls, range::RowRange},
};

/// The CTE with the rows of a mutation or call.
pub(super) const SOURCE: &str = "pgrst_source";

impl<'a> Sql<'a> {
    /// The rows of a node and its embeds.
    pub(super) fn read(&mut self, node: &ReadNode<'a>, parent: Option<Parent<'_, 'a>>) {
        let qualifier = node.from.qualifier();
        let form = JsonForm::for_embeds_of(node, parent);
        self.push("select ");
        self.select_list(node, qualifier, form);
        self.push(" from ").from(&node.from);
        for embed in &node.embeds {
            self.join(embed, qualifier, form);
        }
        self.where_clause(node, parent, &ByJoin(&node.embeds), &[]);
        self.group_by(node, qualifier);
        if !node.order.is_empty() {
            self.push(" order by ");
            self.list(", ", &node.order, |sql, by| {
                sql.order_by(by, node, qualifier);
            });
        }
        self.limit(node.range);
    }

    /// One row per row of the node, without limit: for counts and EXISTS.
    pub(super) fn count(&mut self, node: &ReadNode<'a>, parent: Option<Parent<'_, 'a>>) {
        self.push("select 1 from ").from(&node.from);
        let required: Vec<&Embed<'a>> = node.embeds.iter().filter(|embed| embed.is_inner).collect();
        self.where_clause(node, parent, &ByExists(node), &required);
    }

    /// WHERE: the node's conditions, the join with its parent, and embeds that must exist.
    fn where_clause(
        &mut self,
        node: &ReadNode<'a>,
        parent: Option<Parent<'_, 'a>>,
        embeds: &impl EmbedNullTest<'a>,
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
        let form = JsonForm::Json;
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

    fn group_by(&mut self, node: &ReadNode<'a>, qualifier: Qualifier<'_>) {
        if !node.has_aggregates() {
            return;
        }
        let mut is_first = true;
        let mut next = |sql: &mut Self| {
            let words = if std::mem::take(&mut is_first) {
                " group by "
            } else {
                ", "
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

    pub(super) fn direction(&mut self, by: &OrderBy<'a>) {
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

/// In a count, which has no joins.
struct ByExists<'p, 'a>(&'p ReadNode<'a>);

impl<'a> EmbedNullTest<'a> for ByExists<'_, 'a> {
    fn embed_is_null(&self, sql: &mut Sql<'a>, embed: usize, is_negated: bool) {
        if !is_negated {
            sql.push("not ");
        }
        sql.exists(&self.0.embeds[embed], self.0.from.qualifier());
    }
}
