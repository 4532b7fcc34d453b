//! Values in the forms in which they are stored and exported: JSON, and the text of a `config.toml`.

use std::collections::BTreeMap;

use serde_json::{Value as Json, json};

use crate::{
    byte_size, duration,
    kind::Kind,
    listing::Listed,
    path::SettingPath,
    value::{Secret, Value},
};

impl Kind {
    /// The value as it is stored, which reads back as the same value. Secrets are in it.
    pub fn to_stored(&self, value: &Value) -> Json {
        match (self, value) {
            (_, Value::Bool(value)) => json!(value),
            (_, Value::Integer(value)) => json!(value),
            (_, Value::Text(text)) => json!(text),
            (_, Value::Url(url)) => json!(url.as_written()),
            (_, Value::Secret(secret)) => json!(secret.expose()),
            (_, Value::Duration(value)) => json!(duration::render(*value)),
            (_, Value::Bytes(bytes)) => json!(byte_size::render(*bytes)),
            (Self::Names, Value::List(names)) => {
                let names = names.iter().map(|name| (name.clone(), json!({})));
                Json::Object(names.collect())
            }
            (_, Value::List(items)) => json!(items),
            (_, Value::Table(entries)) => json!(entries),
            (_, Value::SecretTable(entries)) => {
                let exposed = |(name, secret): (&String, &Secret)| {
                    (name.clone(), Json::from(secret.expose()))
                };
                Json::Object(entries.iter().map(exposed).collect())
            }
            (_, Value::Records(records)) => json!(records),
        }
    }

    /// The same without secrets: `***` in their place.
    pub fn to_shown(&self, value: &Value) -> Json {
        match value {
            Value::Secret(_) => json!(MASK),
            Value::SecretTable(entries) => {
                let masked = entries.keys().map(|name| (name.clone(), json!(MASK)));
                Json::Object(masked.collect())
            }
            value => self.to_stored(value),
        }
    }

    /// One word for programs that show a control for it.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Bool => "boolean",
            Self::Integer { .. } | Self::Port | Self::ListenPort => "integer",
            Self::Text | Self::UrlPath | Self::Accent => "text",
            Self::Secret => "secret",
            Self::Url => "url",
            Self::Path => "path",
            Self::Duration => "duration",
            Self::Bytes => "bytes",
            Self::Choice(_) => "choice",
            Self::List | Self::Networks | Self::Ports => "list",
            Self::Choices(_) => "choices",
            Self::Names => "names",
            Self::Table => "table",
            Self::SecretTable => "secret_table",
            Self::Records(_) => "records",
        }
    }

    /// The words to choose from, or the names of the columns of records.
    pub fn words(&self) -> &'static [&'static str] {
        match self {
            Self::Choice(words) | Self::Choices(words) | Self::Records(words) => words,
            _ => &[],
        }
    }

    /// The smallest and the largest allowed number.
    pub fn bounds(&self) -> Option<(i64, i64)> {
        match self {
            Self::Integer { min, max } => Some((*min, *max)),
            Self::Port => Some((1, i64::from(u16::MAX))),
            Self::ListenPort => Some((0, i64::from(u16::MAX))),
            _ => None,
        }
    }
}

/// What stands for a secret.
pub const MASK: &str = "***";

/// The text of a `config.toml` with these settings. Secrets are named in comments; so is what fixes a
/// value outside of it.
pub fn render_toml<'a>(settings: impl IntoIterator<Item = Listed<'a>>) -> String {
    let mut sections: BTreeMap<Option<SettingPath>, Vec<String>> = BTreeMap::new();
    for setting in settings {
        let path = SettingPath::parse(&setting.name);
        let name = path.segments().last().map(String::as_str);
        let key = SettingPath::from_iter(name);
        let kind = setting.declaration.kind();
        let lines = sections.entry(path.parent()).or_default();
        let Some(value) = setting.value else { continue };
        if setting.source.is_fixed() {
            lines.push(format!("# fixed by {}", setting.source));
        }
        let text = match to_toml(&kind.to_stored(value)) {
            _ if kind.is_secret() => None,
            text => text,
        };
        lines.push(match text {
            Some(text) => format!("{key} = {text}"),
            None => format!("# {key} is set, and not shown"),
        });
    }
    let mut page = String::new();
    for (section, lines) in sections {
        if let Some(section) = section {
            let gap = if page.is_empty() { "" } else { "\n" };
            page.push_str(&format!("{gap}[{section}]\n"));
        }
        for line in lines {
            page.push_str(&line);
            page.push('\n');
        }
    }
    page
}

/// The value in one line.
fn to_toml(value: &Json) -> Option<String> {
    let value = toml::Value::try_from(value).ok()?;
    Some(value.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{loader::Loader, settings::Settings};

    /// Sets every setting.
    const FILE: &str = include_str!("../tests/every_setting.toml");

    fn load(text: &str) -> Settings {
        let loader = Loader::new().config_text("config.toml", text).partial();
        let loaded = loader.load();
        loaded
            .unwrap_or_else(|error| panic!("{error}\n{text}"))
            .settings
    }

    #[test]
    fn stored_values_read_back() {
        let written = load(FILE);
        let stored = written.list_assigned().into_iter().filter_map(|setting| {
            let value = setting.declaration.kind().to_stored(setting.value?);
            Some((setting.name, value))
        });

        let loaded = Loader::new().stored(stored.collect()).load();
        let again = loaded.unwrap_or_else(|error| panic!("{error}")).settings;

        let values = |settings: &Settings| -> Vec<(String, Option<Value>)> {
            let list = settings.list_assigned().into_iter();
            list.map(|it| (it.name, it.value.cloned())).collect()
        };
        assert!(values(&written).len() > 200);
        assert_eq!(values(&written), values(&again));
    }

    #[test]
    fn an_exported_file_has_the_same_values_apart_from_secrets() {
        let written = load(FILE);
        let page = render_toml(written.list_assigned());

        let again = load(&page);

        let expected = written.list_assigned().into_iter();
        let expected = expected.filter(|it| !it.declaration.kind().is_secret());
        for setting in expected {
            let found = again.find_listed(&setting.name).expect("the same names");
            assert_eq!(found.value, setting.value, "{}\n{page}", setting.name);
        }
        assert!(page.contains("is set, and not shown"), "{page}");
    }

    #[test]
    fn secrets_are_in_no_shown_form() {
        let text = "[auth]\njwt_secret = \"a-secret-of-more-than-32-characters\"\n\
                    [edge_runtime.secrets]\nKEY = \"hunter2\"";
        let settings = load(text);

        let shown: Vec<Json> = settings
            .list_assigned()
            .iter()
            .filter_map(|it| Some(it.declaration.kind().to_shown(it.value?)))
            .collect();
        let page = render_toml(settings.list_assigned());

        let everything = format!("{shown:?}{page}");
        assert!(everything.contains("***"), "{everything}");
        assert!(!everything.contains("hunter2") && !everything.contains("a-secret"));
    }

    #[test]
    fn odd_names_and_texts_are_quoted() {
        let text = "[storage.buckets.\"my.files\"]\npublic = true\n[auth]\nsite_url = \"http://x/\\\"\\u007f\"";
        let settings = load(text);

        let page = render_toml(settings.list_assigned());

        assert!(page.contains("[storage.buckets.\"my.files\"]"), "{page}");
        assert_eq!(
            load(&page)
                .find_listed("auth.site_url")
                .and_then(|it| it.value.cloned()),
            settings
                .find_listed("auth.site_url")
                .and_then(|it| it.value.cloned()),
        );
    }
}
