//! Functions of the sample.

use super::api;
use crate::schema_cache::{Param, QualifiedName, ReturnType, Returns, Routine, Volatility};

pub(super) fn all() -> Vec<Routine> {
    let films = || rows_of("films");
    vec![
        function(
            "films_by",
            &["director integer", "since integer?"],
            set_of(films()),
        ),
        function("newest_film", &[], films()),
        function("add", &["a integer", "b integer"], scalar("integer")),
        function("initial", &["letter character"], scalar("character")),
        function("years", &[], set_of(scalar("integer"))),
        function("ping", &[], scalar("void")),
        function("pick", &["key integer"], films()),
        function("pick", &["key text"], films()),
        function("pick", &["key integer", "second integer?"], films()),
        function("total", &["numbers integer[]..."], scalar("integer")),
        function("note", &[" jsonb"], scalar("jsonb")),
        function("notes", &[" json"], scalar("json")),
        function("notes", &[" jsonb"], scalar("jsonb")),
        function("shout", &[" text"], scalar("text")),
        function("store", &[" bytea"], scalar("bytea")),
        function("markup", &[" xml"], scalar("xml")),
        function("poster", &[], scalar("bytea")),
        function("pair", &[], composite("pg_catalog", "record")),
        Routine {
            volatility: Volatility::Volatile,
            ..function("rename_all", &["prefix text"], set_of(films()))
        },
    ]
}

/// Parameters are written `name type`, with `?` for one that has a default, and `...` for one
/// that takes many values.
fn function(name: &str, params: &[&str], returns: Returns) -> Routine {
    let params: Vec<Param> = params.iter().map(|text| param(text)).collect();
    Routine {
        oid: 0,
        name: api(name),
        comment: None,
        has_variadic: params.iter().any(|param| param.is_variadic),
        params,
        returns,
        volatility: Volatility::Stable,
        isolation: None,
        settings: Vec::new(),
    }
}

fn param(text: &str) -> Param {
    let (name, type_name) = text.split_once(' ').expect("a name and a type");
    let is_required = !type_name.ends_with('?');
    let is_variadic = type_name.ends_with("...");
    let type_name = type_name.trim_end_matches(['?', '.']);
    Param {
        name: name.into(),
        type_name: type_name.into(),
        cast_type: match type_name {
            "character" => "character varying".into(),
            _ => type_name.into(),
        },
        is_required,
        is_variadic,
    }
}

fn rows_of(relation: &str) -> Returns {
    composite("api", relation)
}

fn composite(schema: &str, name: &str) -> Returns {
    Returns {
        is_set: false,
        of: ReturnType::Composite(QualifiedName::new(schema, name)),
    }
}

fn scalar(name: &str) -> Returns {
    Returns {
        is_set: false,
        of: ReturnType::Scalar(QualifiedName::new("pg_catalog", name)),
    }
}

fn set_of(returns: Returns) -> Returns {
    Returns {
        is_set: true,
        ..returns
    }
}
