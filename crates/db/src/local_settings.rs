//! Settings of one transaction.

use std::{borrow::Cow, sync::LazyLock};

use postgres_types::ToSql;

/// Settings that hold until the transaction ends, applied in the order given.
#[derive(Debug, Clone, Default)]
pub struct LocalSettings {
    /// Name and value by turns: exactly the parameters of the settings statement.
    flat: Vec<String>,
}

impl LocalSettings {
    /// Adds one setting. Order matters: what needs the login role's rights stands before `role`.
    pub fn set(&mut self, name: impl Into<String>, value: impl Into<String>) -> &mut Self {
        self.flat.push(name.into());
        self.flat.push(value.into());
        self
    }

    /// These settings, then those.
    pub fn followed_by(mut self, later: LocalSettings) -> Self {
        self.flat.extend(later.flat);
        self
    }

    pub(crate) fn role(&self) -> &str {
        let mut pairs = self.flat.chunks_exact(2);
        pairs
            .find(|pair| pair[0] == "role")
            .map_or("", |pair| pair[1].as_str())
    }

    pub(crate) fn len(&self) -> usize {
        self.flat.len() / 2
    }

    pub(crate) fn params(&self) -> impl ExactSizeIterator<Item = &(dyn ToSql + Sync)> {
        self.flat.iter().map(|text| text as &(dyn ToSql + Sync))
    }
}

/// The settings statements that requests use all the time, by their number of settings.
static SETTINGS_SQL: LazyLock<[String; 25]> = LazyLock::new(|| std::array::from_fn(settings_sql));

/// The statement that makes `count` settings.
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
