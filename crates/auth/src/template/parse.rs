//! Parses the text of a template into items.

use serde_json::Value;
use winnow::{
    Parser,
    ascii::{digit1, multispace0, multispace1},
    combinator::{alt, cut_err, opt, preceded, repeat, separated, terminated},
    error::{ContextError, ErrMode, StrContext, StrContextValue},
    token::{any, one_of, rest, take_until, take_while},
};

use super::{
    TemplateError,
    syntax::{Command, Function, Item, Operand, Pipeline},
};

/// The maximum nesting of parentheses and blocks.
pub(super) const MAX_DEPTH: usize = 50;

type Parsed<T> = Result<T, ErrMode<ContextError>>;

/// The input, and how many parentheses are open.
type Input<'a> = winnow::Stateful<&'a str, usize>;

/// An item with the line it stands in.
pub(super) type Placed = (usize, Item);

/// Everything that the text consists of, trim markers applied.
pub(super) fn items(text: &str) -> Result<Vec<Placed>, TemplateError> {
    let mut input = Input {
        input: text,
        state: 0,
    };
    let mut items: Vec<Placed> = Vec::new();
    let mut trims_next = false;
    while !input.input.is_empty() {
        let line = 1 + newlines(&text[..text.len() - input.input.len()]);
        let failed = |error: ErrMode<ContextError>| TemplateError {
            line,
            reason: describe(&error),
        };
        if input.input.starts_with("{{") {
            let (trims_before, item, trims_after) = action(&mut input).map_err(failed)?;
            if trims_before && let Some((_, Item::Text(before))) = items.last_mut() {
                before.truncate(before.trim_end().len());
            }
            trims_next = trims_after;
            items.push((line, item));
        } else {
            let plain = text_part(&mut input).map_err(failed)?;
            let plain = if trims_next {
                plain.trim_start()
            } else {
                plain
            };
            trims_next = false;
            items.push((line, Item::Text(plain.to_owned())));
        }
    }
    Ok(items)
}

fn newlines(text: &str) -> usize {
    text.bytes().filter(|byte| *byte == b'\n').count()
}

fn describe(error: &ErrMode<ContextError>) -> String {
    let context = match error {
        ErrMode::Backtrack(context) | ErrMode::Cut(context) => context.to_string(),
        ErrMode::Incomplete(_) => String::new(),
    };
    if context.is_empty() {
        "what stands between {{ and }} cannot be understood".to_owned()
    } else {
        context.replace('\n', ", ")
    }
}

fn text_part<'a>(input: &mut Input<'a>) -> Parsed<&'a str> {
    alt((take_until(1.., "{{"), rest)).parse_next(input)
}

/// `{{ … }}` with its trim markers.
fn action(input: &mut Input<'_>) -> Parsed<(bool, Item, bool)> {
    "{{".parse_next(input)?;
    let trims_before = opt(('-', multispace1)).parse_next(input)?.is_some();
    multispace0.parse_next(input)?;
    let item = cut_err(alt((comment, block, output))).parse_next(input)?;
    // The spaces before `-}}` may have been taken as the end of the last word.
    multispace0.parse_next(input)?;
    let trims_after = cut_err(alt(("-}}".value(true), "}}".value(false))))
        .context(StrContext::Expected(StrContextValue::StringLiteral("}}")))
        .parse_next(input)?;
    Ok((trims_before, item, trims_after))
}

fn comment(input: &mut Input<'_>) -> Parsed<Item> {
    ("/*", cut_err(take_until(0.., "*/")), "*/")
        .context(StrContext::Label("comment"))
        .value(Item::Comment)
        .parse_next(input)
}

fn output(input: &mut Input<'_>) -> Parsed<Item> {
    pipeline.map(Item::Output).parse_next(input)
}

fn block(input: &mut Input<'_>) -> Parsed<Item> {
    alt((
        keyword("end").value(Item::End),
        (keyword("else"), multispace1, keyword("if"), pipeline)
            .map(|(_, _, _, pipeline)| Item::ElseIf(pipeline)),
        (keyword("else"), multispace1, keyword("with"), pipeline)
            .map(|(_, _, _, pipeline)| Item::ElseWith(pipeline)),
        keyword("else").value(Item::Else),
        preceded(keyword("if"), cut_err(pipeline)).map(Item::If),
        preceded(keyword("with"), cut_err(pipeline)).map(Item::With),
        preceded(keyword("range"), cut_err(pipeline)).map(Item::Range),
    ))
    .parse_next(input)
}

/// A word, and not the beginning of a longer one.
fn keyword<'a>(word: &'static str) -> impl Parser<Input<'a>, &'a str, ErrMode<ContextError>> {
    name.verify(move |found: &str| found == word)
}

fn name<'a>(input: &mut Input<'a>) -> Parsed<&'a str> {
    (
        one_of(|c: char| c.is_alphabetic() || c == '_'),
        take_while(0.., |c: char| c.is_alphanumeric() || c == '_'),
    )
        .take()
        .parse_next(input)
}

fn pipeline(input: &mut Input<'_>) -> Parsed<Pipeline> {
    multispace0.parse_next(input)?;
    let (variables, is_declaration) = opt(assignment).parse_next(input)?.unwrap_or_default();
    let commands = separated(1.., command, (multispace0, '|', multispace0)).parse_next(input)?;
    Ok(Pipeline {
        variables,
        is_declaration,
        commands,
    })
}

/// `$a :=`, `$a, $b :=` or `$a =`
fn assignment(input: &mut Input<'_>) -> Parsed<(Vec<String>, bool)> {
    let variables: Vec<&str> =
        separated(1..=2, variable_name, (multispace0, ',', multispace0)).parse_next(input)?;
    multispace0.parse_next(input)?;
    let is_declaration = alt((":=".value(true), "=".value(false))).parse_next(input)?;
    multispace0.parse_next(input)?;
    Ok((
        variables.into_iter().map(str::to_owned).collect(),
        is_declaration,
    ))
}

fn variable_name<'a>(input: &mut Input<'a>) -> Parsed<&'a str> {
    preceded('$', name).parse_next(input)
}

fn command(input: &mut Input<'_>) -> Parsed<Command> {
    let first = operand.parse_next(input)?;
    match first {
        Operand::Call(function) => {
            let arguments = repeat(0.., preceded(multispace1, operand)).parse_next(input)?;
            Ok(Command::Call(function, arguments))
        }
        value => Ok(Command::Value(value)),
    }
}

fn operand(input: &mut Input<'_>) -> Parsed<Operand> {
    alt((
        number.map(Operand::Literal),
        text.map(|text| Operand::Literal(Value::String(text))),
        group,
        variable,
        field,
        word,
    ))
    .context(StrContext::Label("value"))
    .parse_next(input)
}

fn word(input: &mut Input<'_>) -> Parsed<Operand> {
    let word = name.parse_next(input)?;
    match word {
        "true" => Ok(Operand::Literal(true.into())),
        "false" => Ok(Operand::Literal(false.into())),
        "nil" => Ok(Operand::Literal(Value::Null)),
        _ => match Function::named(word) {
            Some(function) => Ok(Operand::Call(function)),
            None => Err(ErrMode::Backtrack(ContextError::new())),
        },
    }
}

fn group(input: &mut Input<'_>) -> Parsed<Operand> {
    '('.parse_next(input)?;
    input.state += 1;
    if input.state > MAX_DEPTH {
        return Err(ErrMode::Cut(ContextError::new()));
    }
    let inside = terminated(pipeline, (multispace0, ')')).parse_next(input);
    input.state -= 1;
    let fields = fields.parse_next(input)?;
    Ok(Operand::Group(Box::new(inside?), fields))
}

fn variable(input: &mut Input<'_>) -> Parsed<Operand> {
    '$'.parse_next(input)?;
    let name = opt(name).parse_next(input)?.unwrap_or_default();
    let fields = fields.parse_next(input)?;
    Ok(Operand::Variable(name.to_owned(), fields))
}

/// `.A.B`, or a dot alone.
fn field(input: &mut Input<'_>) -> Parsed<Operand> {
    alt((
        fields.verify(|fields: &Vec<String>| !fields.is_empty()),
        '.'.value(Vec::new()),
    ))
    .map(Operand::Field)
    .parse_next(input)
}

fn fields(input: &mut Input<'_>) -> Parsed<Vec<String>> {
    repeat(0.., preceded('.', name).map(str::to_owned)).parse_next(input)
}

fn number(input: &mut Input<'_>) -> Parsed<Value> {
    (
        opt(one_of(['+', '-'])),
        digit1,
        opt(('.', digit1)),
        opt((one_of(['e', 'E']), opt(one_of(['+', '-'])), digit1)),
    )
        .take()
        .verify_map(|text: &str| serde_json::from_str(text.trim_start_matches('+')).ok())
        .parse_next(input)
}

fn text(input: &mut Input<'_>) -> Parsed<String> {
    alt((quoted, raw)).parse_next(input)
}

fn raw(input: &mut Input<'_>) -> Parsed<String> {
    ('`', take_until(0.., '`'), '`')
        .map(|(_, text, _): (_, &str, _)| text.to_owned())
        .parse_next(input)
}

fn quoted(input: &mut Input<'_>) -> Parsed<String> {
    '"'.parse_next(input)?;
    let mut text = String::new();
    loop {
        match any.parse_next(input)? {
            '"' => return Ok(text),
            '\\' => text.push(escaped(input)?),
            '\n' => return Err(ErrMode::Backtrack(ContextError::new())),
            plain => text.push(plain),
        }
    }
}

fn escaped(input: &mut Input<'_>) -> Parsed<char> {
    match any.parse_next(input)? {
        'n' => Ok('\n'),
        't' => Ok('\t'),
        'r' => Ok('\r'),
        'u' => take_while(4, |c: char| c.is_ascii_hexdigit())
            .verify_map(|digits: &str| char::from_u32(u32::from_str_radix(digits, 16).ok()?))
            .parse_next(input),
        same @ ('"' | '\\' | '\'') => Ok(same),
        _ => Err(ErrMode::Backtrack(ContextError::new())),
    }
}
