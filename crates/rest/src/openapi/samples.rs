//! Minimal relations and functions for tests.

use serde_json::Value;

use super::{DocumentInput, render};
use crate::schema_cache::{
    Column, Join, Link, Param, QualifiedName, Relationship, ReturnType, Returns, Routine, Table,
    Volatility,
};

/// An empty schema behind no proxy.
pub(super) fn input() -> DocumentInput<'static> {
    DocumentInput {
        tables: Vec::new(),
        routines: Vec::new(),
        param_types: None,
        relationships: &|_| &[],
        schema_comment: None,
        security_active: false,
        server_proxy_uri: None,
        host_and_port: ("127.0.0.1", 3000),
        version: "16.2",
    }
}

pub(super) fn rendered(input: &DocumentInput<'_>) -> Value {
    serde_json::from_str(&render(input)).expect("the document is JSON")
}

pub(super) fn table(name: &str) -> Table {
    Table {
        oid: 0,
        name: QualifiedName::new("app", name),
        comment: None,
        is_view: false,
        is_insertable: false,
        is_updatable: false,
        is_deletable: false,
        primary_key: Vec::new(),
        columns: Vec::new(),
    }
}

pub(super) fn column(name: &str, pg_type: &str) -> Column {
    Column {
        name: name.into(),
        comment: None,
        is_nullable: true,
        base_type: pg_type.into(),
        nominal_type: pg_type.into(),
        max_length: None,
        default: None,
        enum_labels: Vec::new(),
    }
}

pub(super) fn many_to_one(
    table: &str,
    column: &str,
    foreign_table: &str,
    foreign_column: &str,
) -> Relationship {
    Relationship {
        table: QualifiedName::new("app", table),
        foreign_table: QualifiedName::new("app", foreign_table),
        is_self: false,
        table_is_view: false,
        foreign_table_is_view: false,
        link: Link::ManyToOne(Join {
            constraint: "a_key".into(),
            columns: vec![(column.into(), foreign_column.into())],
        }),
    }
}

pub(super) fn one_to_one(
    table: &str,
    column: &str,
    foreign_table: &str,
    foreign_column: &str,
    is_parent: bool,
) -> Relationship {
    Relationship {
        link: Link::OneToOne {
            join: Join {
                constraint: "a_key".into(),
                columns: vec![(column.into(), foreign_column.into())],
            },
            is_parent,
        },
        ..many_to_one(table, column, foreign_table, foreign_column)
    }
}

pub(super) fn routine(name: &str) -> Routine {
    Routine {
        oid: 0,
        name: QualifiedName::new("app", name),
        comment: None,
        params: Vec::new(),
        returns: Returns {
            is_set: false,
            of: ReturnType::Scalar(QualifiedName::new("pg_catalog", "void")),
        },
        volatility: Volatility::Volatile,
        has_variadic: false,
        isolation: None,
        settings: Vec::new(),
    }
}

pub(super) fn param(name: &str, pg_type: &str) -> Param {
    Param {
        name: name.into(),
        type_name: pg_type.into(),
        cast_type: pg_type.into(),
        is_required: true,
        is_variadic: false,
    }
}
