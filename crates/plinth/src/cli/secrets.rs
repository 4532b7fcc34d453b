//! `plinth secrets`. Values are never printed, and can be read from a pipe or a file, to keep them
//! out of the shell's history.

use std::{collections::BTreeMap, io::Read, path::PathBuf};

use clap::Subcommand;
use serde_json::{Value, json};

use super::{
    Client, Global,
    output::print_list,
    projects::{confirm_change, resolve},
};
use crate::failure::{Failure, Outcome};

const COLUMNS: &[(&str, &str)] = &[
    ("NAME", "name"),
    ("DIGEST", "value"),
    ("UPDATED", "updated_at"),
];

#[derive(Subcommand)]
pub(crate) enum SecretsCommand {
    /// Names and digests: SHA-256 of the values.
    List,
    /// Set secrets; functions receive them without a new deployment.
    Set {
        /// NAME=VALUE, or - to read such lines from a pipe.
        #[arg(required_unless_present = "env_file", value_name = "NAME=VALUE|-")]
        assignments: Vec<String>,
        /// A file of NAME=VALUE lines. Names that begin with SUPABASE_ are skipped.
        #[arg(long, value_name = "FILE")]
        env_file: Option<PathBuf>,
    },
    /// Remove secrets.
    Unset {
        /// Their names.
        #[arg(required = true)]
        names: Vec<String>,
    },
}

pub(super) async fn run(global: &Global, command: SecretsCommand) -> Outcome {
    // Read before the confirmation, so that errors come first.
    let values = match &command {
        SecretsCommand::Set {
            assignments,
            env_file,
        } => read(assignments, env_file.as_ref())?,
        _ => BTreeMap::new(),
    };
    let client = Client::connect(global)?;
    let reference = resolve(&client, &global.reference).await?;
    let path = format!("/v1/projects/{reference}/secrets");
    let is_change = !matches!(command, SecretsCommand::List);
    if is_change && !confirm_change(&client, global, &reference).await? {
        return Ok(());
    }
    match command {
        SecretsCommand::List => print_list(global.output, &client.get(&path).await?, COLUMNS),
        SecretsCommand::Set { .. } => {
            let count = values.len();
            let body = values
                .into_iter()
                .map(|(name, value)| json!({ "name": name, "value": value }));
            client.post(&path, Value::Array(body.collect())).await?;
            eprintln!("Set {count} secret(s).");
            Ok(())
        }
        SecretsCommand::Unset { names } => {
            client.delete_with_body(&path, json!(names)).await?;
            eprintln!("Removed {}.", names.join(", "));
            Ok(())
        }
    }
}

/// Arguments override the file.
fn read(assignments: &[String], env_file: Option<&PathBuf>) -> Outcome<BTreeMap<String, String>> {
    let mut values = BTreeMap::new();
    if let Some(path) = env_file {
        let text = std::fs::read_to_string(path)
            .map_err(|error| anyhow::anyhow!("{} cannot be read: {error}", path.display()))?;
        values.extend(lines(&text, &path.display().to_string())?);
    }
    for assignment in assignments {
        if assignment == "-" {
            let mut text = String::new();
            std::io::stdin().read_to_string(&mut text)?;
            values.extend(lines(&text, "the input")?);
            continue;
        }
        let (name, value) = assignment.split_once('=').ok_or_else(|| {
            Failure::usage("expected NAME=VALUE").next_step("Use - to read such lines from a pipe.")
        })?;
        values.insert(name.to_owned(), value.to_owned());
    }
    if values.is_empty() {
        Err(Failure::usage("there is no secret to set"))
    } else {
        Ok(values)
    }
}

fn lines(text: &str, place: &str) -> Outcome<BTreeMap<String, String>> {
    let mut values = plinth_settings::parse_dotenv(text)
        .map_err(|line| Failure::usage(format!("line {line} of {place} is not NAME=VALUE")))?;
    values.retain(|name, _| {
        let is_reserved = name.starts_with("SUPABASE_");
        if is_reserved {
            eprintln!("Env name cannot start with SUPABASE_, skipping: {name}");
        }
        !is_reserved
    });
    Ok(values)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_override_a_file() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join(".env");
        let text = "A=1\nB=\"two\\nlines\"\nSUPABASE_URL=x\n# comment\n";
        std::fs::write(&file, text).expect("a file");

        let values = read(&["A=typed=x".to_owned()], Some(&file)).expect("values");

        let expected = [("A", "typed=x"), ("B", "two\nlines")];
        let expected = expected.map(|(name, value)| (name.to_owned(), value.to_owned()));
        assert_eq!(values, BTreeMap::from(expected));
    }

    #[test]
    fn invalid_assignments_are_rejected() {
        assert!(read(&["A".to_owned()], None).is_err());
        assert!(read(&[], None).is_err());
        assert!(lines("= nonsense", "x").is_err());
    }
}
