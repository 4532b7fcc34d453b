//! Filters and logic trees (rest contract §1.4).

use super::writer::Sql;
use crate::{
    plan::tree::{Condition, Embed, FieldFilter, FieldRef, Qualifier},
    request::{
        FullTextOperator, IsValue, JsonOperand, LogicOperator, Operation, QuantOperator,
        Quantifier, SimpleOperator,
    },
};

/// How to test whether an embed has no rows: on the joined row in a read, by EXISTS in a count,
/// which has no joins.
pub(super) trait EmbedNullTest<'a> {
    fn embed_is_null(&self, sql: &mut Sql<'a>, embed: usize, is_negated: bool);
}

/// In a read, which joins every embed.
pub(super) struct ByJoin<'p, 'a>(pub(super) &'p [Embed<'a>]);

impl<'a> EmbedNullTest<'a> for ByJoin<'_, 'a> {
    fn embed_is_null(&self, sql: &mut Sql<'a>, embed: usize, is_negated: bool) {
        let words = if is_negated {
            " is distinct from null"
        } else {
            " is not distinct from null"
        };
        sql.ident(&self.0[embed].join_alias).push(words);
    }
}

impl<'a> Sql<'a> {
    pub(super) fn conditions(
        &mut self,
        conditions: &[Condition<'a>],
        qualifier: Qualifier<'_>,
        embeds: &impl EmbedNullTest<'a>,
    ) -> &mut Self {
        self.list(" and ", conditions, |sql, condition| {
            sql.condition(condition, qualifier, embeds);
        })
    }

    fn condition(
        &mut self,
        condition: &Condition<'a>,
        qualifier: Qualifier<'_>,
        embeds: &impl EmbedNullTest<'a>,
    ) {
        match condition {
            Condition::Filter(filter) => self.filter(filter, qualifier),
            Condition::EmbedIsNull { embed, is_negated } => {
                embeds.embed_is_null(self, *embed, *is_negated);
            }
            Condition::Group {
                is_negated,
                operator,
                children,
            } => {
                if *is_negated {
                    self.push("not ");
                }
                let separator = match operator {
                    LogicOperator::And => " and ",
                    LogicOperator::Or => " or ",
                };
                self.push("(");
                self.list(separator, children, |sql, child| {
                    sql.condition(child, qualifier, embeds);
                });
                self.push(")");
            }
        }
    }

    fn filter(&mut self, filter: &FieldFilter<'a>, qualifier: Qualifier<'_>) {
        if filter.is_negated {
            self.push("not ");
        }
        self.searched_field(filter, qualifier);
        match filter.operation {
            Operation::Simple(operator, value) => {
                self.push(simple(*operator));
                self.parsed_value(filter.parser, value);
            }
            Operation::Quantified {
                operator,
                quantifier,
                value,
            } => {
                self.push(quantified(*operator));
                let quantifier_words = match quantifier {
                    None => "",
                    Some(Quantifier::Any) => "any(",
                    Some(Quantifier::All) => "all(",
                };
                self.push(quantifier_words);
                match operator {
                    QuantOperator::Like | QuantOperator::ILike => {
                        self.value(value.replace('*', "%"));
                    }
                    _ => self.parsed_value(filter.parser, value),
                }
                if quantifier.is_some() {
                    self.push(")");
                }
            }
            Operation::In(values) => self.in_list(values, filter.parser),
            Operation::Is(value) => {
                self.push(match value {
                    IsValue::Null => " is null",
                    IsValue::NotNull => " is not null",
                    IsValue::True => " is true",
                    IsValue::False => " is false",
                    IsValue::Unknown => " is unknown",
                });
            }
            Operation::IsDistinctFrom(value) => {
                self.push(" is distinct from ").value(value.as_str());
            }
            Operation::FullText {
                operator,
                language,
                value,
            } => {
                self.push(match operator {
                    FullTextOperator::Plain => " @@ to_tsquery(",
                    FullTextOperator::PlainTo => " @@ plainto_tsquery(",
                    FullTextOperator::Phrase => " @@ phraseto_tsquery(",
                    FullTextOperator::WebSearch => " @@ websearch_to_tsquery(",
                });
                self.language(language.as_deref());
                self.value(value.as_str()).push(")");
            }
        }
    }

    fn searched_field(&mut self, filter: &FieldFilter<'a>, qualifier: Qualifier<'_>) {
        let Operation::FullText { language, .. } = filter.operation else {
            self.field(&filter.field, qualifier);
            return;
        };
        if !filter.needs_to_tsvector {
            self.field(&filter.field, qualifier);
            return;
        }
        self.push("to_tsvector(");
        self.language(language.as_deref());
        self.field(&filter.field, qualifier).push(")");
    }

    fn language(&mut self, language: Option<&'a str>) {
        if let Some(language) = language {
            self.value(language).push(", ");
        }
    }

    /// A value, converted by the function of a domain representation.
    fn parsed_value(&mut self, parser: Option<&'a str>, value: &'a str) {
        match parser {
            Some(function) => {
                self.catalog(function).push("(").value(value).push(")");
            }
            None => {
                self.value(value);
            }
        }
    }

    /// One array parameter, so that the statement does not depend on the number of values.
    fn in_list(&mut self, values: &'a [String], parser: Option<&'a str>) {
        if values.len() == 1 && values[0].is_empty() {
            self.push(" = any('{}')");
            return;
        }
        let array = array_literal(values.iter().map(String::as_str));
        match parser {
            Some(function) => {
                self.push(" = any(select ")
                    .catalog(function)
                    .push("(unnest(");
                self.value(array).push("::text[])))");
            }
            None => {
                self.push(" = any(").value(array).push(")");
            }
        }
    }

    /// A column or a path into it.
    pub(super) fn field(&mut self, field: &FieldRef<'a>, qualifier: Qualifier<'_>) -> &mut Self {
        let converts = field.needs_to_jsonb && !field.path.is_empty();
        if converts {
            self.push("to_jsonb(");
        }
        self.column(qualifier, field.name);
        if converts {
            self.push(")");
        }
        for step in field.path {
            self.push(if step.is_text { "->>" } else { "->" });
            match &step.operand {
                JsonOperand::Key(key) => self.value(key.as_str()),
                JsonOperand::Index(index) => self.value(index.as_str()).push("::int"),
            };
        }
        self
    }
}

/// The text form of `text[]`.
pub(super) fn array_literal<'v>(values: impl Iterator<Item = &'v str>) -> String {
    let mut array = String::from("{");
    for (index, value) in values.enumerate() {
        if index > 0 {
            array.push(',');
        }
        array.push('"');
        for c in value.chars() {
            if matches!(c, '"' | '\\') {
                array.push('\\');
            }
            array.push(c);
        }
        array.push('"');
    }
    array.push('}');
    array
}

fn simple(operator: SimpleOperator) -> &'static str {
    match operator {
        SimpleOperator::NotEqual => " <> ",
        SimpleOperator::Contains => " @> ",
        SimpleOperator::ContainedIn => " <@ ",
        SimpleOperator::Overlaps => " && ",
        SimpleOperator::StrictlyLeft => " << ",
        SimpleOperator::StrictlyRight => " >> ",
        SimpleOperator::NotExtendsRight => " &< ",
        SimpleOperator::NotExtendsLeft => " &> ",
        SimpleOperator::Adjacent => " -|- ",
    }
}

fn quantified(operator: QuantOperator) -> &'static str {
    match operator {
        QuantOperator::Equal => " = ",
        QuantOperator::GreaterThanEqual => " >= ",
        QuantOperator::GreaterThan => " > ",
        QuantOperator::LessThanEqual => " <= ",
        QuantOperator::LessThan => " < ",
        QuantOperator::Like => " like ",
        QuantOperator::ILike => " ilike ",
        QuantOperator::Match => " ~ ",
        QuantOperator::IMatch => " ~* ",
    }
}
