//! The example as the README shows it.

use std::{fs, path::Path};

use anyhow::{Context, Result};

/// Names and texts of the files, and what the script prints.
#[derive(Debug, PartialEq)]
pub(super) struct Example {
    pub(super) migration: (String, String),
    pub(super) script: (String, String),
    /// What people type, one command a line, up to the script.
    pub(super) commands: String,
    pub(super) printed: String,
}

impl Example {
    pub(super) fn read(readme: &Path) -> Result<Self> {
        let text = fs::read_to_string(readme);
        let text = text.with_context(|| format!("{} cannot be read", readme.display()))?;
        Self::parse(&text).context("the README's example has changed its form")
    }

    fn parse(text: &str) -> Option<Self> {
        let (before, sql) = block(text, "sql")?;
        let migration = before.rsplit('`').nth(1)?;
        let (_, script) = block(text, "js")?;
        let name = script.strip_prefix("// ")?.split(':').next()?;
        let (_, after_script) = text.split_once(script)?;
        let (_, typed) = block(after_script, "sh")?;
        let commands = typed.lines().filter(|line| line.starts_with("plinth "));
        let (_, printed) = typed.split_once(&format!(" {name} "))?;
        let printed = printed.trim_start().strip_prefix("# ")?;
        Some(Self {
            migration: (migration.to_owned(), sql.to_owned()),
            script: (name.to_owned(), script.to_owned()),
            commands: commands.map(|line| format!("{line}\n")).collect(),
            printed: printed.lines().next()?.to_owned(),
        })
    }
}

/// What stands before the first block of a language, and its text.
fn block<'a>(text: &'a str, language: &str) -> Option<(&'a str, &'a str)> {
    let (before, rest) = text.split_once(&format!("```{language}\n"))?;
    let (block, _) = rest.split_once("```")?;
    Some((before, block))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workspace;

    #[test]
    fn the_readmes_example_is_found() {
        let example = Example::read(&workspace::root().join("README.md")).expect("it has one");
        assert!(example.migration.0.starts_with("supabase/migrations/"));
        assert!(example.migration.1.contains("create table"));
        assert_eq!(example.script.0, "todos.mjs");
        assert!(example.commands.starts_with("plinth start --detach"));
        assert!(example.commands.contains("plinth status -o env > .plinth"));
        assert!(example.printed.starts_with("1 [ { id: 1"));
    }
}
