//! Names and JSON paths, and the lists and keys made of them.

use std::{borrow::Cow, collections::BTreeSet};

use winnow::{
    Parser,
    combinator::{preceded, terminated},
};

use crate::request::{EmbedPath, Field, JsonOperand, JsonStep};

use super::{
    Input, Parsed, Production,
    combinators::{Rule, attempt, either, label, lexeme, optional, peek, repeat, separated},
    expectations::{
        Expectations,
        Expected::{self, Char, Label},
    },
    tokens::{any_char, chars0, chars1, end, not_followed_by, symbol, word},
};

/// The key of a filter, an order or a limit: `embed.embed.column->path`.
pub(in crate::request) struct TreePath;

impl Production for TreePath {
    type Output = (EmbedPath, Field);
    const WHAT: &'static str = "tree path";

    fn parse<E: Expectations>(input: &mut Input<'_, E>) -> Parsed<Self::Output> {
        let mut names = owned_path(input)?;
        let path = json_path(input)?;
        let name = names.pop().unwrap_or_default();
        Ok((names, Field { name, path }))
    }
}

/// The value of `columns`.
pub(in crate::request) struct Columns;

impl Production for Columns {
    type Output = BTreeSet<String>;
    const WHAT: &'static str = "columns parameter";

    fn parse<E: Expectations>(input: &mut Input<'_, E>) -> Parsed<Self::Output> {
        Ok(name_list(input)?.into_iter().collect())
    }
}

/// The value of `on_conflict`.
pub(in crate::request) struct OnConflict;

impl Production for OnConflict {
    type Output = Vec<String>;
    const WHAT: &'static str = "on_conflict parameter";

    fn parse<E: Expectations>(input: &mut Input<'_, E>) -> Parsed<Self::Output> {
        name_list(input)
    }
}

fn name_list<'a, E: Expectations>(input: &mut Input<'a, E>) -> Parsed<Vec<String>> {
    separated(name.map(Cow::into_owned), lexeme(symbol(','))).parse_next(input)
}

/// `name.name.name`
pub(super) fn owned_path<'a, E: Expectations>(input: &mut Input<'a, E>) -> Parsed<Vec<String>> {
    separated(name.map(Cow::into_owned), delimiter).parse_next(input)
}

pub(super) fn delimiter<'a, E: Expectations>(input: &mut Input<'a, E>) -> Parsed<()> {
    label("delimiter (.)", symbol('.')).parse_next(input)
}

/// A column, or a path into a json column.
pub(super) fn field<'a, E: Expectations>(input: &mut Input<'a, E>) -> Parsed<Field> {
    let (name, path) = lexeme((name, json_path)).parse_next(input)?;
    let name = name.into_owned();
    Ok(Field { name, path })
}

pub(super) fn name<'a, E: Expectations>(input: &mut Input<'a, E>) -> Parsed<Cow<'a, str>> {
    let name = either(quoted, dashed(identifier));
    label("field name (* or [a..z0..9_$])", name).parse_next(input)
}

/// Letters, digits, `_`, `$` and inner spaces.
pub(super) fn identifier<'a, E: Expectations>(input: &mut Input<'a, E>) -> Parsed<&'a str> {
    const EXPECTED: &[Expected] = &[Label("letter"), Label("digit")];
    chars1(is_identifier_char, EXPECTED)
        .map(str::trim)
        .parse_next(input)
}

pub(super) fn is_identifier_char(char: char) -> bool {
    matches!(char, 'a'..='z' | 'A'..='Z' | '0'..='9' | '_' | ' ' | '$') || char.is_alphabetic()
}

/// `"…"`, with backslash escapes.
pub(super) fn quoted<'a, E: Expectations>(input: &mut Input<'a, E>) -> Parsed<Cow<'a, str>> {
    let mut plain = chars0(|char| !matches!(char, '"' | '\\'), &[Char('\\')]);
    symbol('"').parse_next(input)?;
    let mut text = Cow::Borrowed(plain.parse_next(input)?);
    while input.input.starts_with('\\') {
        let escaped = preceded(symbol('\\'), any_char).parse_next(input)?;
        let text = text.to_mut();
        text.push(escaped);
        text.push_str(plain.parse_next(input)?);
    }
    symbol('"').parse_next(input)?;
    Ok(text)
}

/// Parts joined by dashes. The dash of an arrow (`->`) does not count.
fn dashed<'a, E: Expectations>(
    mut part: impl Rule<'a, E, &'a str>,
) -> impl Rule<'a, E, Cow<'a, str>> {
    move |input: &mut Input<'a, E>| {
        let mut text = Cow::Borrowed(part.parse_next(input)?);
        let dash = attempt((
            symbol('-'),
            not_followed_by(|next| next == '>', &[Char('>')]),
        ));
        let more = preceded(dash, part.by_ref());
        let append = |part: &str| {
            let text = text.to_mut();
            text.push('-');
            text.push_str(part);
        };
        repeat(more, append).parse_next(input)?;
        Ok(text)
    }
}

/// `->a->>b`, or nothing.
pub(super) fn json_path<'a, E: Expectations>(input: &mut Input<'a, E>) -> Parsed<Vec<JsonStep>> {
    let mut path = Vec::new();
    repeat(json_step, |step| path.push(step)).parse_next(input)?;
    Ok(path)
}

fn json_step<'a, E: Expectations>(input: &mut Input<'a, E>) -> Parsed<JsonStep> {
    let text_arrow = attempt(word("->>")).value(true);
    let json_arrow = attempt(word("->")).value(false);
    let is_text = either(text_arrow, json_arrow).parse_next(input)?;
    let index = attempt(json_index).map(|index| JsonOperand::Index(index.to_owned()));
    let key = attempt(json_key).map(|key| JsonOperand::Key(key.into_owned()));
    let operand = either(index, key).parse_next(input)?;
    Ok(JsonStep { is_text, operand })
}

fn json_index<'a, E: Expectations>(input: &mut Input<'a, E>) -> Parsed<&'a str> {
    let digits = chars1(|char| char.is_ascii_digit(), &[Label("digit")]);
    let index = (optional(symbol('-')), digits).take();
    terminated(index, end_of_index).parse_next(input)
}

/// What may follow an index. The closing parenthesis is not in PostgREST's grammar, so it does not
/// appear in error messages.
fn end_of_index<'a, E: Expectations>(input: &mut Input<'a, E>) -> Parsed<()> {
    if input.input.starts_with(')') {
        return Ok(());
    }
    let arrow_or_cast = either(lookahead("->"), lookahead("::"));
    let dot_or_comma = either(lookahead("."), lookahead(","));
    either(arrow_or_cast, either(dot_or_comma, end)).parse_next(input)
}

fn json_key<'a, E: Expectations>(input: &mut Input<'a, E>) -> Parsed<Cow<'a, str>> {
    let is_key = |char| !matches!(char, '(' | '-' | ':' | '.' | ',' | '>' | ')');
    let key = either(quoted, dashed(chars1(is_key, &[]).map(str::trim)));
    label("any non reserved character different from: .,>()", key).parse_next(input)
}

/// A word that follows; it is not consumed.
pub(super) fn lookahead<'a, E: Expectations>(text: &'static str) -> impl Rule<'a, E, ()> {
    attempt(peek(word(text)))
}
