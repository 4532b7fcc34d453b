//! The predefined functions.

use std::cmp::Ordering;

use serde_json::Value;
use url::form_urlencoded::byte_serialize;

use super::{
    RenderError, html,
    syntax::Function,
    value::{compare, is_equal, is_true, print},
};

type CallResult = Result<Value, RenderError>;

/// Calls a function with its arguments.
pub(super) fn call(function: Function, mut arguments: Vec<Value>) -> CallResult {
    match function {
        Function::And => Ok(pick(arguments, |value| !is_true(value))),
        Function::Or => Ok(pick(arguments, is_true)),
        Function::Not => Ok((!is_true(&one_argument(arguments)?)).into()),
        Function::Eq => Ok(equals_any(&arguments)?.into()),
        Function::Ne => {
            let [left, right] = two_arguments(arguments)?;
            Ok((!is_equal(&left, &right)).into())
        }
        Function::Lt => ordered(arguments, |order| order.is_lt()),
        Function::Le => ordered(arguments, |order| order.is_le()),
        Function::Gt => ordered(arguments, |order| order.is_gt()),
        Function::Ge => ordered(arguments, |order| order.is_ge()),
        Function::Len => length(&one_argument(arguments)?),
        Function::Index => Ok(index(&arguments)),
        Function::Print => Ok(join(&arguments, "").into()),
        Function::Println => Ok((join(&arguments, " ") + "\n").into()),
        Function::Printf => {
            if arguments.is_empty() {
                return Err(argument_error("printf needs a format"));
            }
            let format = print(&arguments.remove(0));
            Ok(formatted(&format, &arguments).into())
        }
        Function::Html => Ok(html::escape(&join(&arguments, "")).into()),
        Function::Js => Ok(html::script_text(&join(&arguments, "")).into()),
        Function::UrlQuery => {
            let text = join(&arguments, "");
            Ok(byte_serialize(text.as_bytes()).collect::<String>().into())
        }
    }
}

fn argument_error(reason: &str) -> RenderError {
    RenderError(reason.to_owned())
}

/// The first argument for which `fits` holds, else the last.
fn pick(mut arguments: Vec<Value>, fits: impl Fn(&Value) -> bool) -> Value {
    let last = arguments.pop().unwrap_or_default();
    arguments.into_iter().find(fits).unwrap_or(last)
}

fn one_argument(arguments: Vec<Value>) -> CallResult {
    let [value]: [Value; 1] = arguments
        .try_into()
        .map_err(|_| argument_error("this function takes one argument"))?;
    Ok(value)
}

fn two_arguments(arguments: Vec<Value>) -> Result<[Value; 2], RenderError> {
    arguments
        .try_into()
        .map_err(|_| argument_error("a comparison takes two arguments"))
}

fn equals_any(arguments: &[Value]) -> Result<bool, RenderError> {
    match arguments {
        [first, others @ ..] if !others.is_empty() => {
            Ok(others.iter().any(|other| is_equal(first, other)))
        }
        _ => Err(argument_error("a comparison takes two arguments")),
    }
}

fn ordered(arguments: Vec<Value>, holds: impl Fn(Ordering) -> bool) -> CallResult {
    let [left, right] = two_arguments(arguments)?;
    Ok(compare(&left, &right).is_some_and(holds).into())
}

fn length(value: &Value) -> CallResult {
    match value {
        Value::String(text) => Ok(text.len().into()),
        Value::Array(items) => Ok(items.len().into()),
        Value::Object(fields) => Ok(fields.len().into()),
        Value::Null => Ok(0.into()),
        _ => Err(argument_error("len of a value that has no length")),
    }
}

fn index(arguments: &[Value]) -> Value {
    let Some((first, keys)) = arguments.split_first() else {
        return Value::Null;
    };
    let mut value = first;
    for key in keys {
        let inner = match key {
            Value::String(name) => value.get(name),
            key => key
                .as_u64()
                .and_then(|at| value.get(usize::try_from(at).ok()?)),
        };
        match inner {
            Some(inner) => value = inner,
            None => return Value::Null,
        }
    }
    value.clone()
}

fn join(arguments: &[Value], separator: &str) -> String {
    let texts: Vec<String> = arguments.iter().map(print).collect();
    texts.join(separator)
}

/// Every verb prints its argument; widths and flags are ignored.
fn formatted(format: &str, arguments: &[Value]) -> String {
    let mut arguments = arguments.iter();
    let mut text = String::new();
    let mut chars = format.chars();
    while let Some(c) = chars.next() {
        if c != '%' {
            text.push(c);
            continue;
        }
        let verb = chars.find(|c| c.is_ascii_alphabetic() || *c == '%');
        match verb {
            Some('%') => text.push('%'),
            Some('q') => {
                let value = arguments.next().map(print).unwrap_or_default();
                text.push_str(&Value::String(value).to_string());
            }
            _ => text.push_str(&arguments.next().map(print).unwrap_or_default()),
        }
    }
    text
}
