//! Results on stdout, everything else on stderr. Tables are never truncated.

use std::io::{IsTerminal, Write};

use clap::ValueEnum;
use serde_json::Value;

use crate::failure::{Failure, Outcome};

/// How results are printed.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Format {
    /// For people.
    #[value(alias = "table")]
    Pretty,
    /// For programs.
    Json,
    /// NAME="value" lines.
    Env,
}

/// Prints named values.
pub(crate) fn print_pairs(format: Format, pairs: &[(String, String)]) -> Outcome {
    let text = match format {
        Format::Json => {
            let object = pairs
                .iter()
                .map(|(k, v)| (k.clone(), Value::from(v.as_str())));
            to_json(&Value::Object(object.collect()))?
        }
        Format::Env => pairs
            .iter()
            .map(|(name, value)| env_line(name, value))
            .collect(),
        Format::Pretty => {
            let width = pairs.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
            pairs
                .iter()
                .map(|(name, value)| format!("{name:>width$}: {value}\n"))
                .collect()
        }
    };
    print(&text)
}

/// Prints a list: the given columns as a table, or all members as JSON.
pub(crate) fn print_list(format: Format, rows: &Value, columns: &[(&str, &str)]) -> Outcome {
    let items = rows.as_array().map(Vec::as_slice).unwrap_or_default();
    match format {
        Format::Json => print(&to_json(rows)?),
        Format::Env => Err(Failure::usage("-o env does not support lists; use -o json")),
        Format::Pretty => print(&table(items, columns)),
    }
}

fn table(items: &[Value], columns: &[(&str, &str)]) -> String {
    let head: Vec<String> = columns
        .iter()
        .map(|(title, _)| (*title).to_owned())
        .collect();
    let body = items.iter().map(|item| {
        columns
            .iter()
            .map(|(_, member)| cell(&item[*member]))
            .collect::<Vec<_>>()
    });
    let rows: Vec<Vec<String>> = std::iter::once(head).chain(body).collect();
    let widths: Vec<usize> = (0..columns.len())
        .map(|column| {
            rows.iter()
                .map(|row| row[column].chars().count())
                .max()
                .unwrap_or(0)
        })
        .collect();
    let line = |row: &Vec<String>| {
        let cells: Vec<String> = row
            .iter()
            .zip(&widths)
            .map(|(cell, width)| format!("{cell}{}", " ".repeat(width - cell.chars().count())))
            .collect();
        format!("{}\n", cells.join("  ").trim_end())
    };
    rows.iter().map(line).collect()
}

fn cell(value: &Value) -> String {
    match value {
        Value::Null => "-".to_owned(),
        Value::String(text) => text.clone(),
        Value::Bool(true) => "yes".to_owned(),
        Value::Bool(false) => "no".to_owned(),
        Value::Array(items) => items.iter().map(cell).collect::<Vec<_>>().join(","),
        other => other.to_string(),
    }
}

/// Quoted for both `eval` and dotenv parsers.
fn env_line(name: &str, value: &str) -> String {
    let quoted: String = value
        .chars()
        .flat_map(|c| match c {
            '"' | '\\' | '$' | '`' => vec!['\\', c],
            c => vec![c],
        })
        .collect();
    format!("{name}=\"{quoted}\"\n")
}

pub(crate) fn to_json(value: &Value) -> Outcome<String> {
    Ok(serde_json::to_string_pretty(value)? + "\n")
}

/// Writes to stdout; a closed pipe (`| head`) is no failure.
pub(crate) fn print(text: &str) -> Outcome {
    match std::io::stdout().write_all(text.as_bytes()) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => Err(error.into()),
        _ => Ok(()),
    }
}

/// Asks on a terminal; without one, `--yes` is required.
pub(crate) fn confirm(question: &str, yes: bool) -> Outcome<bool> {
    if yes {
        return Ok(true);
    }
    let reply = ask(&format!("{question} [y/N] "))?;
    Ok(matches!(reply.trim(), "y" | "Y" | "yes"))
}

/// One line from the terminal.
pub(crate) fn ask(question: &str) -> Outcome<String> {
    if !std::io::stdin().is_terminal() {
        return Err(
            Failure::usage("this asks for confirmation, and there is no terminal")
                .next_step("Repeat it with --yes (to delete a project: --confirm NAME)."),
        );
    }
    eprint!("{question}");
    let mut reply = String::new();
    std::io::stdin().read_line(&mut reply)?;
    Ok(reply.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn env_lines_survive_a_shell() {
        assert_eq!(env_line("A", r#"p"a$s`s\"#), "A=\"p\\\"a\\$s\\`s\\\\\"\n");
    }

    #[test]
    fn tables_line_up() {
        let rows = [
            serde_json::json!({"a": "long value", "b": null}),
            serde_json::json!({"a": "x", "b": true}),
            serde_json::json!({"a": ["x", "y"], "b": 1}),
        ];
        assert_eq!(
            table(&rows, &[("A", "a"), ("B", "b")]),
            "A           B\nlong value  -\nx           yes\nx,y         1\n"
        );
    }
}
