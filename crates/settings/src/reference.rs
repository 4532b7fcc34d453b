//! The reference of all settings: as a Markdown page, and with the values of a project.

use serde::Serialize;

use crate::declaration::Declaration;
use crate::keys;
use crate::path::SettingPath;
use crate::settings::{Settings, Source};
use crate::table;

/// One setting as `plinth settings` and the console show it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Row {
    /// Dotted name.
    pub name: String,
    /// The value, with secrets masked; absent when it is not set.
    pub value: Option<String>,
    /// Where the value comes from.
    pub source: String,
    /// Whether a layer above the stored settings decides the value.
    pub is_fixed: bool,
    /// The default; absent when there is none.
    pub default: Option<String>,
    /// The form of the value in words.
    pub expected: String,
    /// What the setting does.
    pub meaning: &'static str,
}

/// All settings with their values. Settings of maps appear once for each configured member.
pub fn describe(settings: &Settings) -> Vec<Row> {
    keys::all()
        .flat_map(|key| instances(key, settings))
        .collect()
}

/// The whole reference as a Markdown page.
pub fn render_reference() -> String {
    let mut page = String::from(INTRODUCTION);
    let mut section = None;
    for key in keys::all() {
        if section != Some(section_of(key)) {
            section = Some(section_of(key));
            let title = match section_of(key) {
                "" => "Before the first section".to_owned(),
                section => format!("`[{}]`", section.replace('*', "<name>")),
            };
            page.push_str(&format!("\n## {title}\n\n"));
            page.push_str("| Setting | Value | Default | Meaning |\n|---|---|---|---|\n");
        }
        page.push_str(&render_row(key));
    }
    page
}

const INTRODUCTION: &str = "\
# Settings

This page is generated from `crates/settings/src/keys`; `plinth settings` prints the same with your
values.

A setting is taken from the first of these that has it: the command line (`--set name=value`), the
environment, `supabase/config.toml`, the settings that operators stored in the console, the default
below.

The environment variable of a setting is its name in upper case with `_` for every dot and hyphen:
`PLINTH_API_PORT` for `api.port`, `PLINTH_PUBLIC_URL` for `plinth.public_url`. The sections of the
official file can also be set by `SUPABASE_…` (`SUPABASE_API_PORT`); `PLINTH_…` takes precedence.
Lists are separated by commas, tables are JSON objects or `name=value` separated by commas. Empty
variables count as not set.

In `config.toml`, `env(NAME)` is replaced by the variable `NAME`, from the environment,
`supabase/.env.local` or `supabase/.env`, in this order. Durations are written like `1h30m`, sizes
like `50MiB`; units of sizes are powers of 1024.

Settings marked *accepted* are ignored; they are accepted so that existing files load.
";

fn render_row(key: &Declaration) -> String {
    let default = match key.default_value() {
        Some(value) => format!("`{value}`"),
        None => "–".to_owned(),
    };
    let note = if key.is_inert() { " *Accepted.*" } else { "" };
    format!(
        "| `{}` | {} | {} | {}{note} |\n",
        key.shown_path(),
        cell(&key.kind().expected()),
        cell(&default),
        cell(key.meaning())
    )
}

/// Text escaped for a cell of a Markdown table.
fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}

/// The section of a setting: the first part of its name, the first two for `auth` and `plinth`.
fn section_of(key: &Declaration) -> &'static str {
    let path = key.path();
    let depth = if path.starts_with("plinth.") || path.starts_with("auth.") {
        2
    } else {
        1
    };
    let mut dots = path.match_indices('.').map(|(index, _)| index);
    let first = dots.next().map_or("", |index| &path[..index]);
    match dots.next() {
        Some(second) if depth == 2 => &path[..second],
        _ => first,
    }
}

fn instances(key: &'static Declaration, settings: &Settings) -> Vec<Row> {
    let paths = key.paths(settings).into_iter();
    paths.map(|path| row(key, &path, settings)).collect()
}

impl Declaration {
    /// The names of this setting: for a setting of a map one for each configured member.
    pub(crate) fn paths(&self, settings: &Settings) -> Vec<SettingPath> {
        let Some((map, rest)) = self.path().split_once(".*.") else {
            return vec![SettingPath::parse(self.path())];
        };
        let map = SettingPath::parse(map);
        settings
            .members_at(&map)
            .into_iter()
            .map(|member| {
                let member = map.child(member);
                rest.split('.')
                    .fold(member, |path, segment| path.child(segment))
            })
            // A member with a declaration of its own has its row there.
            .filter(|path| {
                table::find(path).is_some_and(|declared| declared.declaration.path() == self.path())
            })
            .collect()
    }
}

fn row(key: &'static Declaration, path: &SettingPath, settings: &Settings) -> Row {
    let declared = table::find(path).expect("every key is in the table that is built from them");
    let source: Source = settings.source_at(path);
    Row {
        name: path.to_string(),
        value: settings.value_at(path, declared).map(ToString::to_string),
        is_fixed: source.is_fixed(),
        source: source.to_string(),
        default: declared.default.as_ref().map(ToString::to_string),
        expected: key.kind().expected(),
        meaning: key.meaning(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::loader::Loader;

    #[test]
    fn the_page_names_every_setting_once() {
        let page = render_reference();

        for key in keys::all() {
            let row = format!("| `{}` |", key.shown_path());
            assert_eq!(page.matches(&row).count(), 1, "{row}");
        }
    }

    /// Markdown would take it for a tag.
    #[test]
    fn angle_brackets_are_only_used_in_code() {
        for key in keys::all() {
            let outside_code = key.meaning().split('`').step_by(2);

            assert!(!outside_code.collect::<String>().contains('<'), "{key:?}");
        }
    }

    #[test]
    fn a_section_of_the_page_has_one_heading() {
        let page = render_reference();
        let headings: Vec<_> = page
            .lines()
            .filter(|line| line.starts_with("## "))
            .collect();
        let distinct: std::collections::BTreeSet<_> = headings.iter().collect();

        assert_eq!(headings.len(), distinct.len(), "{headings:#?}");
        assert_eq!(headings[0], "## Before the first section");
    }

    #[test]
    fn rows_show_values_and_sources_but_no_secrets() {
        let text = "[auth]\njwt_secret = \"topsecret\"\n[functions.hello]\nverify_jwt = false";
        let loaded = Loader::new()
            .config_text("config.toml", text)
            .environment([("PLINTH_API_PORT".to_owned(), "9000".to_owned())])
            .load()
            .expect("valid");

        let rows = describe(&loaded.settings);

        let find = |name: &str| rows.iter().find(|row| row.name == name).expect("listed");
        assert_eq!(find("auth.jwt_secret").value.as_deref(), Some("***"));
        assert_eq!(find("auth.jwt_secret").source, "config.toml");
        assert_eq!(
            find("functions.hello.verify_jwt").value.as_deref(),
            Some("false")
        );
        assert_eq!(find("functions.hello.enabled").source, "default");
        let port = find("api.port");
        assert_eq!(port.value.as_deref(), Some("9000"));
        assert_eq!(port.source, "PLINTH_API_PORT");
        assert_eq!(port.default.as_deref(), Some("54321"));
        assert!(port.is_fixed);
        assert!(!format!("{rows:?}").contains("topsecret"));
    }
}
