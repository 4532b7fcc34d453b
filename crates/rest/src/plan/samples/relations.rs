//! Tables and views of the sample.

use super::api;
use crate::schema_cache::{Column, Table};

/// Names and types of the columns; a `!` marks the primary key.
const TABLES: &[(&str, &[(&str, &str)])] = &[
    ("actors", &[("id!", "integer"), ("name", "text")]),
    ("cinemas", &[("id!", "integer"), ("city", "text")]),
    (
        "colours",
        &[
            ("id!", "integer"),
            ("shade", "api.colour"),
            ("name", "text"),
        ],
    ),
    ("competitions", &[("id!", "integer"), ("name", "text")]),
    (
        "directors",
        &[("id!", "integer"), ("name", "text"), ("born", "date")],
    ),
    (
        "films",
        &[
            ("id!", "integer"),
            ("title", "character varying(80)"),
            ("year", "integer"),
            ("director_id", "integer"),
            ("info", "jsonb"),
            ("plot", "tsvector"),
            ("summary", "api.searchable"),
            ("tags", "text[]"),
        ],
    ),
    ("lonely", &[("remark", "text")]),
    (
        "nominations",
        &[
            ("competition_id!", "integer"),
            ("film_id!", "integer"),
            ("film_year!", "integer"),
            ("rank", "integer"),
        ],
    ),
    (
        "premieres",
        &[
            ("id!", "integer"),
            ("film_id", "integer"),
            ("opening_cinema", "integer"),
            ("closing_cinema", "integer"),
        ],
    ),
    (
        "roles",
        &[
            ("film_id!", "integer"),
            ("actor_id!", "integer"),
            ("character", "text"),
        ],
    ),
    (
        "studios",
        &[
            ("id!", "integer"),
            ("name", "text"),
            ("parent_id", "integer"),
        ],
    ),
    (
        "technical_specs",
        &[("film_id!", "integer"), ("camera", "text")],
    ),
];

pub(super) fn all() -> Vec<Table> {
    let mut tables: Vec<Table> = TABLES
        .iter()
        .map(|(name, columns)| table(name, columns))
        .collect();
    tables.push(Table {
        is_view: true,
        ..table(
            "film_list",
            &[("id!", "integer"), ("director_id", "integer")],
        )
    });
    tables
}

fn table(name: &str, columns: &[(&str, &str)]) -> Table {
    let key = columns
        .iter()
        .filter_map(|(name, _)| name.strip_suffix('!'));
    Table {
        oid: 0,
        name: api(name),
        comment: None,
        is_view: false,
        is_insertable: true,
        is_updatable: true,
        is_deletable: true,
        primary_key: key.map(Into::into).collect(),
        columns: columns
            .iter()
            .map(|(name, pg_type)| column(name, pg_type))
            .collect(),
    }
}

fn column(name: &str, pg_type: &str) -> Column {
    let name = name.trim_end_matches('!');
    Column {
        name: name.into(),
        comment: None,
        is_nullable: true,
        base_type: match pg_type {
            "api.searchable" => "tsvector".into(),
            "api.colour" => "integer".into(),
            _ => pg_type.split('(').next().unwrap_or_default().into(),
        },
        nominal_type: pg_type.into(),
        max_length: None,
        default: match name {
            "id" => Some("nextval('api.ids'::regclass)".into()),
            "year" => Some("1895".into()),
            _ => None,
        },
        enum_labels: Vec::new(),
    }
}
