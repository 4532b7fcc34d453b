//! Settings of one transaction (`SET LOCAL`).

use std::{borrow::Cow, sync::LazyLock};

/// Settings that hold until the transaction ends, applied in the order given.
#[derive(Debug, Clone, Default)]
pub struct LocalSettings<'a> {
    /// Alternating names and values: the parameters of the settings statement.
    flat: Vec<Cow<'a, str>>,
}

impl<'a> LocalSettings<'a> {
    /// Preallocates space for this many settings.
    pub fn with_capacity(settings: usize) -> Self {
        Self {
            flat: Vec::with_capacity(2 * settings),
        }
    }

    /// Adds one setting. Order matters: settings that need the login role's rights go before `role`.
    pub fn set(
        &mut self,
        name: impl Into<Cow<'a, str>>,
        value: impl Into<Cow<'a, str>>,
    ) -> &mut Self {
        self.flat.push(name.into());
        self.flat.push(value.into());
        self
    }

    /// Inserts one setting at `place`.
    pub fn set_at(
        &mut self,
        place: usize,
        name: impl Into<Cow<'a, str>>,
        value: impl Into<Cow<'a, str>>,
    ) -> &mut Self {
        self.flat.insert(2 * place, name.into());
        self.flat.insert(2 * place + 1, value.into());
        self
    }

    /// The statement that applies them, with placeholders.
    pub fn statement(&self) -> Cow<'static, str> {
        statement_for(self.len())
    }

    pub(crate) fn role(&self) -> &str {
        let mut pairs = self.flat.chunks_exact(2);
        pairs
            .find(|pair| pair[0] == "role")
            .map_or("", |pair| &*pair[1])
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.flat.len() / 2
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.flat.is_empty()
    }

    /// Alternating names and values.
    pub(crate) fn texts(&self) -> impl Iterator<Item = &str> {
        self.flat.iter().map(|text| &**text)
    }
}

/// Cached settings statements, by number of settings.
static SETTINGS_SQL: LazyLock<[String; 25]> = LazyLock::new(|| std::array::from_fn(settings_sql));

/// The statement that applies `count` settings.
pub(crate) fn statement_for(count: usize) -> Cow<'static, str> {
    match SETTINGS_SQL.get(count) {
        Some(sql) => Cow::Borrowed(sql),
        None => Cow::Owned(settings_sql(count)),
    }
}

/// `select set_config($1,$2,true), …`: the target list is evaluated from left to right, without
/// the set-returning function and the sort that a list of any length would need.
fn settings_sql(count: usize) -> String {
    let calls: Vec<String> = (0..count)
        .map(|i| format!("pg_catalog.set_config(${},${},true)", 2 * i + 1, 2 * i + 2))
        .collect();
    format!("select {}", calls.join(","))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_settings_statement_numbers_its_parameters() {
        assert_eq!(
            settings_sql(2),
            "select pg_catalog.set_config($1,$2,true),pg_catalog.set_config($3,$4,true)"
        );
    }
}
