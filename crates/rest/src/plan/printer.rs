//! Plans as text, for tests: one line per node, its parts indented below.

use super::tree::{
    Aggregated, Condition, Embed, FieldRef, From, OrderBy, OutputColumn, Qualifier, ReadNode,
    Shape, SpreadColumn,
};
use crate::request::{Direction, JsonOperand, LogicOperator, Nulls};

pub(super) fn lines(node: &ReadNode<'_>) -> Vec<String> {
    let columns = list(&node.columns, column);
    let mut lines = vec![if columns.is_empty() {
        from(&node.from)
    } else {
        format!("{}: {columns}", from(&node.from))
    }];
    let mut add = |words: &str, what: String| {
        if !what.is_empty() {
            lines.push(format!("  {words} {what}"));
        }
    };
    add(
        "where",
        list(&node.conditions, |c| condition(c, &node.embeds)),
    );
    add("order", list(&node.order, |by| order(by, &node.embeds)));
    let hidden = |hidden: &super::tree::HiddenColumn<'_>| {
        format!("{} as {}", order(&hidden.by, &node.embeds), hidden.alias)
    };
    add("order of arrays", list(&node.hidden, hidden));
    if let Some(limit) = node.range.limit {
        add("limit", limit.to_string());
    }
    if node.range.offset != 0 {
        add("offset", node.range.offset.to_string());
    }
    for embed in &node.embeds {
        lines.push(format!("  {}", embed_line(embed)));
        let below = self::lines(&embed.node);
        lines.extend(below.into_iter().map(|line| format!("    {line}")));
    }
    lines
}

fn from(from: &From<'_>) -> String {
    match (from, from.qualifier()) {
        (From::Source { alias }, _) => format!("source as {alias}"),
        (From::Junction { relation, junction }, _) => {
            format!("{} across {}", relation.name, junction.name)
        }
        (
            From::Computed {
                function,
                argument,
                alias,
                ..
            },
            _,
        ) => {
            format!("{}({argument}) as {alias}", function.name)
        }
        (From::Aliased { relation, alias }, _) => format!("{} as {alias}", relation.name),
        (_, Qualifier::Relation(relation)) => relation.name.to_string(),
        (_, Qualifier::Alias(alias)) => alias.to_owned(),
    }
}

fn embed_line(embed: &Embed<'_>) -> String {
    let shape = match &embed.shape {
        Shape::Object => "object".to_owned(),
        Shape::Array => "array".to_owned(),
        Shape::Hidden => "hidden".to_owned(),
        Shape::SpreadOne(columns) => format!("spread ({})", list(columns, spread)),
        Shape::SpreadMany(columns) => format!("arrays ({})", list(columns, spread)),
    };
    let join = if embed.is_inner { "inner " } else { "" };
    format!("{join}{} = {shape} of {}", embed.name, embed.join_alias)
}

fn spread(column: &SpreadColumn<'_>) -> String {
    match (column.aggregate, column.aggregates_here) {
        (None, _) => column.name.to_string(),
        (Some(function), true) => aggregate(function, &column.name),
        (Some(_), false) => format!("{} for an ancestor to aggregate", column.name),
    }
}

fn column(column: &OutputColumn<'_>) -> String {
    let mut text = if column.is_whole_row {
        "row".to_owned()
    } else {
        field(&column.field)
    };
    if let Some(function) = column.formatter {
        text = format!("{function}({text})");
    }
    if let Some(cast) = column.cast {
        text = format!("{text}::{cast}");
    }
    if let Some(function) = column.aggregate {
        text = aggregate(function, &text);
    }
    match &column.alias {
        Some(alias) => format!("{text} as {alias}"),
        None => text,
    }
}

fn aggregate(aggregated: Aggregated<'_>, of: &str) -> String {
    let cast = aggregated
        .cast
        .map_or(String::new(), |cast| format!("::{cast}"));
    format!("{}({of}){cast}", aggregated.function.name())
}

fn field(field: &FieldRef<'_>) -> String {
    let mut text = if field.needs_to_jsonb && !field.path.is_empty() {
        format!("to_jsonb({})", field.name)
    } else {
        field.name.to_owned()
    };
    for step in field.path {
        text += if step.is_text { "->>" } else { "->" };
        text += match &step.operand {
            JsonOperand::Key(key) | JsonOperand::Index(key) => key,
        };
    }
    text
}

fn condition(condition: &Condition<'_>, embeds: &[Embed<'_>]) -> String {
    let (is_negated, text) = match condition {
        Condition::Filter(filter) => {
            let mut text = field(&filter.field);
            if filter.needs_to_tsvector {
                text = format!("to_tsvector({text})");
            }
            if let Some(function) = filter.parser {
                text = format!("{text} by {function}");
            }
            (filter.is_negated, text)
        }
        Condition::EmbedIsNull { embed, is_negated } => {
            (*is_negated, format!("no {}", embeds[*embed].join_alias))
        }
        Condition::Group {
            is_negated,
            operator,
            children,
        } => {
            let operator = match operator {
                LogicOperator::And => "and",
                LogicOperator::Or => "or",
            };
            let children = list(children, |child| self::condition(child, embeds));
            (*is_negated, format!("{operator}({children})"))
        }
    };
    if is_negated {
        format!("not {text}")
    } else {
        text
    }
}

fn order(by: &OrderBy<'_>, embeds: &[Embed<'_>]) -> String {
    let mut text = match by.embed {
        Some(embed) => format!("{}.{}", embeds[embed].join_alias, field(&by.field)),
        None => field(&by.field),
    };
    text += match by.direction {
        Some(Direction::Ascending) => " asc",
        Some(Direction::Descending) => " desc",
        None => "",
    };
    text += match by.nulls {
        Some(Nulls::First) => " nulls first",
        Some(Nulls::Last) => " nulls last",
        None => "",
    };
    text
}

fn list<T>(items: &[T], text: impl Fn(&T) -> String) -> String {
    items.iter().map(text).collect::<Vec<_>>().join(", ")
}
