//! The value of `select`: columns, aggregates, embeds and spreads.

use std::borrow::Cow;

use winnow::{
    Parser,
    combinator::{delimited, preceded, terminated},
    error::EmptyError,
};

use crate::request::{
    Aggregate, AggregateFunction, JoinKind, SelectEmbed, SelectField, SelectItem,
};

use super::{
    Input, Parsed, Production,
    combinators::{Rule, attempt, either, lexeme, nested, optional, separated},
    expectations::{Expectations, Expected::Char},
    names::{field, identifier, is_identifier_char, lookahead, name},
    tokens::{end, not_followed_by, symbol, word},
};

/// Of nested embeds.
const MAX_DEPTH: usize = 32;

/// The value of `select`.
pub(in crate::request) struct Select;

impl Production for Select {
    type Output = Vec<SelectItem>;
    const WHAT: &'static str = "select parameter";

    fn parse<E: Expectations>(input: &mut Input<'_, E>) -> Parsed<Self::Output> {
        items(input)
    }
}

/// Any number of items, none included.
fn items<'a, E: Expectations>(input: &mut Input<'a, E>) -> Parsed<Vec<SelectItem>> {
    let items = optional(separated(item, lexeme(symbol(',')))).parse_next(input)?;
    Ok(items.unwrap_or_default())
}

fn item<'a, E: Expectations>(input: &mut Input<'a, E>) -> Parsed<SelectItem> {
    if !E::RECORDS
        && let Some(name) = plain_column(input)
    {
        return Ok(SelectItem::Field(SelectField::column(name)));
    }
    let embeds = either(attempt(spread_head), attempt(embed_head));
    let embed = (
        embeds,
        delimited(symbol('('), nested(MAX_DEPTH, items), symbol(')')),
    );
    let embed = embed.map(|(head, items)| SelectItem::Embed(SelectEmbed { items, ..head }));
    either(embed, lexeme(column).map(SelectItem::Field)).parse_next(input)
}

/// Fast path for the most common item, a bare column name.
fn plain_column<'a, E: Expectations>(input: &mut Input<'a, E>) -> Option<&'a str> {
    let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
    let text = input.input;
    let length = text.bytes().take_while(is_plain).count();
    match text.as_bytes().get(length) {
        None | Some(b',' | b')') if length > 0 => {}
        _ => return None,
    }
    let (name, rest) = text.split_at(length);
    input.input = rest;
    Some(name)
}

/// `...relation!hint!inner`, up to the parenthesis.
fn spread_head<'a, E: Expectations>(input: &mut Input<'a, E>) -> Parsed<SelectEmbed> {
    let relation = preceded(word("..."), name);
    let (relation, modifiers) = lexeme((relation, modifiers)).parse_next(input)?;
    Ok(head(None, relation, modifiers, true))
}

/// `alias:relation!hint!inner`, up to the parenthesis.
fn embed_head<'a, E: Expectations>(input: &mut Input<'a, E>) -> Parsed<SelectEmbed> {
    let relation = name.verify(|name: &str| name != "count");
    let (alias, relation, modifiers) = lexeme((alias, relation, modifiers)).parse_next(input)?;
    Ok(head(alias, relation, modifiers, false))
}

type Modifiers<'a> = (Option<Cow<'a, str>>, Option<JoinKind>);

fn head(
    alias: Option<String>,
    relation: Cow<'_, str>,
    (hint, join): Modifiers<'_>,
    is_spread: bool,
) -> SelectEmbed {
    SelectEmbed {
        relation: relation.into_owned(),
        alias,
        hint: hint.map(Cow::into_owned),
        join,
        is_spread,
        items: Vec::new(),
    }
}

/// Up to two of `!hint`, `!inner` and `!left`, then a parenthesis, which is not consumed. The first
/// of each kind wins.
fn modifiers<'a, E: Expectations>(input: &mut Input<'a, E>) -> Parsed<Modifiers<'a>> {
    let (mut hint, mut join) = (None, None);
    for _ in 0..2 {
        match optional(modifier).parse_next(input)? {
            Some(Modifier::Join(kind)) => join = join.or(Some(kind)),
            Some(Modifier::Hint(name)) => hint = hint.or(Some(name)),
            None => {}
        }
    }
    lookahead("(").parse_next(input)?;
    Ok((hint, join))
}

enum Modifier<'a> {
    Join(JoinKind),
    Hint(Cow<'a, str>),
}

fn modifier<'a, E: Expectations>(input: &mut Input<'a, E>) -> Parsed<Modifier<'a>> {
    let left = whole_word("left").value(JoinKind::Left);
    let inner = whole_word("inner").value(JoinKind::Inner);
    let join = either(left, inner).map(Modifier::Join);
    let hint = attempt(name).map(Modifier::Hint);
    preceded(symbol('!'), either(join, hint)).parse_next(input)
}

/// A word that is not the prefix of a longer one, such as the hint `left_fk`.
fn whole_word<'a, E: Expectations>(text: &'static str) -> impl Rule<'a, E, ()> {
    move |input: &mut Input<'a, E>| {
        let rest = input.input.strip_prefix(text).unwrap_or_default();
        let goes_on = rest.starts_with(|char| is_identifier_char(char) || char == '-');
        if goes_on {
            Err(EmptyError)
        } else {
            attempt(word(text)).parse_next(input)
        }
    }
}

/// `name:`
fn alias<'a, E: Expectations>(input: &mut Input<'a, E>) -> Parsed<Option<String>> {
    let separator = (
        symbol(':'),
        not_followed_by(|next| next == ':', &[Char(':')]),
    );
    optional(attempt(terminated(name, separator)))
        .map(|alias| alias.map(Cow::into_owned))
        .parse_next(input)
}

fn column<'a, E: Expectations>(input: &mut Input<'a, E>) -> Parsed<SelectField> {
    let star = attempt((word("*"), end_of_column)).map(|_| SelectField::all());
    either(star, either(attempt(count_all), ordinary_column)).parse_next(input)
}

/// `alias:count()::cast`
fn count_all<'a, E: Expectations>(input: &mut Input<'a, E>) -> Parsed<SelectField> {
    let alias = alias(input)?;
    word("count()").parse_next(input)?;
    let cast = cast(input)?;
    end_of_column(input)?;
    let function = AggregateFunction::Count;
    Ok(SelectField {
        alias,
        aggregate: Some(Aggregate { function, cast }),
        ..SelectField::all()
    })
}

/// `alias:name->path::cast.aggregate()::cast`
fn ordinary_column<'a, E: Expectations>(input: &mut Input<'a, E>) -> Parsed<SelectField> {
    let alias = alias(input)?;
    let field = field(input)?;
    let first_cast = cast(input)?;
    let function = optional(attempt(aggregate_function)).parse_next(input)?;
    let second_cast = cast(input)?;
    end_of_column(input)?;
    let aggregate = function.map(|function| Aggregate {
        function,
        cast: second_cast,
    });
    Ok(SelectField {
        field,
        alias,
        cast: first_cast,
        aggregate,
    })
}

fn cast<'a, E: Expectations>(input: &mut Input<'a, E>) -> Parsed<Option<String>> {
    optional(preceded(word("::"), identifier.map(str::to_owned))).parse_next(input)
}

/// `.sum()`
fn aggregate_function<'a, E: Expectations>(input: &mut Input<'a, E>) -> Parsed<AggregateFunction> {
    delimited(symbol('.'), aggregate_name, word("()")).parse_next(input)
}

fn aggregate_name<'a, E: Expectations>(input: &mut Input<'a, E>) -> Parsed<AggregateFunction> {
    let sum = word("sum").value(AggregateFunction::Sum);
    let avg = word("avg").value(AggregateFunction::Avg);
    let count = word("count").value(AggregateFunction::Count);
    let max = attempt(word("max")).value(AggregateFunction::Max);
    let min = attempt(word("min")).value(AggregateFunction::Min);
    either(sum, either(avg, either(count, either(max, min)))).parse_next(input)
}

fn end_of_column<'a, E: Expectations>(input: &mut Input<'a, E>) -> Parsed<()> {
    either(lookahead(")"), either(lookahead(","), end)).parse_next(input)
}
