//! Functions that requests can call (rest contract §2.7).

use tokio_postgres::{Error, Row};

use super::{
    Isolation, Param, ReturnType, Returns, Routine, Volatility, interner::Interner, relations::text,
};

/// Types of a single unnamed parameter that takes the whole body of a request.
const BODY_TYPES: [&str; 5] = ["bytea", "json", "jsonb", "text", "xml"];

/// All functions that requests can call. `hoisted_settings`: names of the settings to keep.
pub(super) fn from_rows(
    rows: &[Row],
    hoisted_settings: &[String],
    names: &mut Interner,
) -> Result<Vec<Routine>, Error> {
    let routines = rows
        .iter()
        .filter_map(|row| from_row(row, hoisted_settings, names).transpose());
    routines.collect()
}

/// `None` for a function that cannot be called: it has unnamed parameters, other than a single one
/// for the body.
fn from_row(
    row: &Row,
    hoisted_settings: &[String],
    names: &mut Interner,
) -> Result<Option<Routine>, Error> {
    let declaration = Declaration {
        names: row.try_get("param_names")?,
        modes: row.try_get("param_modes")?,
        input_types: row.try_get("input_types")?,
        default_count: usize::try_from(row.try_get::<_, i16>("default_count")?).unwrap_or(0),
    };
    if !declaration.is_callable() {
        return Ok(None);
    }
    let result_name = names.share_name(row.try_get("result_schema")?, row.try_get("result_name")?);
    let is_composite = row.try_get("result_is_row")? || declaration.has_output();
    let settings: Option<Vec<&str>> = row.try_get("settings")?;
    let settings = Settings(settings.unwrap_or_default());
    Ok(Some(Routine {
        oid: row.try_get("oid")?,
        name: names.share_name(row.try_get("schema")?, row.try_get("name")?),
        comment: text(row, "comment")?,
        params: declaration.params(names),
        returns: Returns {
            is_set: row.try_get("returns_set")?,
            of: if is_composite {
                ReturnType::Composite(result_name)
            } else {
                ReturnType::Scalar(result_name)
            },
        },
        volatility: match row.try_get("volatility")? {
            "i" => Volatility::Immutable,
            "s" => Volatility::Stable,
            _ => Volatility::Volatile,
        },
        has_variadic: row.try_get("has_variadic")?,
        isolation: settings.isolation(),
        settings: settings.named(hoisted_settings),
    }))
}

/// Parameters as in the catalog: names and modes of all, types of input parameters only.
struct Declaration<'a> {
    names: Option<Vec<&'a str>>,
    modes: Option<Vec<&'a str>>,
    input_types: Vec<&'a str>,
    default_count: usize,
}

impl Declaration<'_> {
    fn is_callable(&self) -> bool {
        match (&self.names, &*self.input_types) {
            (Some(_), _) | (None, []) => true,
            (None, [only]) => BODY_TYPES.contains(only),
            (None, _) => false,
        }
    }

    /// Output parameters make the result a row, even a single one.
    fn has_output(&self) -> bool {
        let modes = self.modes.iter().flatten();
        modes
            .into_iter()
            .any(|mode| matches!(*mode, "o" | "b" | "t"))
    }

    fn params(&self, names: &mut Interner) -> Vec<Param> {
        let required_count = self.input_types.len().saturating_sub(self.default_count);
        let positions = 0..self.modes.as_ref().map_or(self.input_types.len(), Vec::len);
        let inputs = positions.filter(|&position| matches!(self.mode(position), "i" | "b" | "v"));
        inputs
            .zip(&self.input_types)
            .enumerate()
            .map(|(index, (position, type_name))| Param {
                name: names.share(self.name(position)),
                type_name: names.share(type_name),
                cast_type: names.share(cast_type(type_name)),
                is_required: index < required_count,
                is_variadic: self.mode(position) == "v",
            })
            .collect()
    }

    fn name(&self, position: usize) -> &str {
        let names = self.names.as_ref();
        names.and_then(|names| names.get(position)).unwrap_or(&"")
    }

    fn mode(&self, position: usize) -> &str {
        let modes = self.modes.as_ref();
        modes.and_then(|modes| modes.get(position)).unwrap_or(&"i")
    }
}

/// Without a length `char` and `bit` would be truncated to one character.
fn cast_type(type_name: &str) -> &str {
    match type_name {
        "bit" => "bit varying",
        "bit[]" => "bit varying[]",
        "character" => "character varying",
        "character[]" => "character varying[]",
        other => other,
    }
}

/// `name=value` each.
struct Settings<'a>(Vec<&'a str>);

impl Settings<'_> {
    fn pairs(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().filter_map(|setting| setting.split_once('='))
    }

    fn isolation(&self) -> Option<Isolation> {
        let mut pairs = self.pairs();
        let (_, level) = pairs.find(|(name, _)| *name == "default_transaction_isolation")?;
        Some(match level.to_ascii_lowercase().as_str() {
            "repeatable read" => Isolation::RepeatableRead,
            "serializable" => Isolation::Serializable,
            _ => Isolation::ReadCommitted,
        })
    }

    fn named(&self, wanted: &[String]) -> Vec<(Box<str>, Box<str>)> {
        self.pairs()
            .filter(|(name, _)| wanted.iter().any(|one| one.eq_ignore_ascii_case(name)))
            .map(|(name, value)| (name.into(), value.into()))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn declaration(
        names: Option<&[&'static str]>,
        modes: Option<&[&'static str]>,
        input_types: &[&'static str],
    ) -> Declaration<'static> {
        Declaration {
            names: names.map(<[_]>::to_vec),
            modes: modes.map(<[_]>::to_vec),
            input_types: input_types.to_vec(),
            default_count: 0,
        }
    }

    #[test]
    fn a_parameter_without_name_must_take_a_body() {
        let check = |names: Option<&[&'static str]>, input_types: &[&'static str], expected| {
            let declaration = declaration(names, None, input_types);
            assert_eq!(
                declaration.is_callable(),
                expected,
                "{names:?} {input_types:?}"
            );
        };
        check(None, &[], true);
        check(None, &["json"], true);
        check(None, &["xml"], true);
        check(None, &["integer"], false);
        check(None, &["json", "json"], false);
        check(Some(&["a"]), &["integer"], true);
        check(Some(&["a", ""]), &["integer", "integer"], true);
    }

    #[test]
    fn output_parameters_do_not_shift_the_input() {
        let declaration = Declaration {
            default_count: 1,
            ..declaration(
                Some(&["out", "a", "both", "rest"]),
                Some(&["o", "i", "b", "v"]),
                &["integer", "character", "text[]"],
            )
        };

        let params = declaration.params(&mut Interner::default());

        let summary = params.iter().map(|param| {
            let Param {
                name,
                cast_type,
                is_required,
                is_variadic,
                ..
            } = param;
            format!("{name} {cast_type} {is_required} {is_variadic}")
        });
        assert_eq!(
            summary.collect::<Vec<_>>(),
            [
                "a integer true false",
                "both character varying true false",
                "rest text[] false true"
            ],
        );
        assert!(declaration.has_output());
    }

    #[test]
    fn settings_are_found_by_their_whole_name() {
        let settings = Settings(vec![
            "statement_timeout=5s",
            "app.statement_timeout=x",
            "default_transaction_isolation=REPEATABLE READ",
            "search_path=a, b=c",
        ]);

        assert_eq!(settings.isolation(), Some(Isolation::RepeatableRead));
        assert_eq!(
            settings.named(&["Statement_Timeout".to_owned(), "search_path".to_owned()]),
            [("statement_timeout", "5s"), ("search_path", "a, b=c")]
                .map(|(name, value)| (name.into(), value.into())),
        );
    }
}
