//! Expressions that turn the rows of the page into the body (rest contract §3.4, §6.3).

use super::writer::Sql;
use crate::{
    plan::{
        Handler,
        tree::{ReadNode, Shape},
    },
    schema_cache::{Routine, Table},
};

/// The alias of the page's rows. A column of the same name would shadow it, so there are several to
/// choose from.
#[derive(Debug, Clone, Copy)]
pub(super) struct Page {
    name: &'static str,
    /// Set for functions that do not return a set.
    has_one_row: bool,
}

const NAMES: [&str; 4] = ["_pgrst_row", "_pgrst_row_", "_pgrst_row__", "_pgrst_row___"];

impl Page {
    pub(super) fn new(read: &ReadNode<'_>, table: Option<&Table>) -> Self {
        let is_free = |name: &&&str| !has_column(read, table, name);
        Self {
            name: NAMES.iter().find(is_free).unwrap_or(&NAMES[0]),
            has_one_row: false,
        }
    }

    pub(super) fn with_one_row(self) -> Self {
        Self {
            has_one_row: true,
            ..self
        }
    }

    pub(super) fn name(self) -> &'static str {
        self.name
    }
}

fn has_column(read: &ReadNode<'_>, table: Option<&Table>, name: &str) -> bool {
    let of_table = table.is_some_and(|table| table.column(name).is_some());
    let of_columns = read
        .columns
        .iter()
        .any(|column| column.alias.as_deref().unwrap_or(column.field.name) == name);
    let of_embeds = read.embeds.iter().any(|embed| match &embed.shape {
        Shape::Hidden => false,
        Shape::Object | Shape::Array => embed.name == name,
        Shape::SpreadOne(columns) | Shape::SpreadMany(columns) => {
            columns.iter().any(|column| column.name == name)
        }
    });
    of_table || of_columns || of_embeds
}

impl<'a> Sql<'a> {
    /// The number of rows on the page.
    pub(super) fn page_rows(&mut self, page: Page) -> &mut Self {
        if page.has_one_row {
            self.push("1::bigint")
        } else {
            self.push("pg_catalog.count(").push(page.name).push(")")
        }
    }

    /// The total count: `total`, or the number of rows on the page.
    pub(super) fn total(&mut self, total: Option<&'static str>, page: Page) -> &mut Self {
        match total {
            Some(total) => self.push(total),
            None => self.page_rows(page),
        }
    }

    /// The inserted row as JSON if there is exactly one, for the header `Location`.
    pub(super) fn location(&mut self, page: Page) -> &mut Self {
        self.push("case when ")
            .page_rows(page)
            .push(" = 1 then (select row_to_json(one)::text from pgrst_source as one limit 1) end")
    }

    pub(super) fn body(&mut self, handler: &Handler<'a>, routine: Option<&Routine>, page: Page) {
        let is_scalar = routine.is_some_and(Routine::returns_scalar);
        let is_set_of_scalars = routine.is_some_and(Routine::returns_set_of_scalar);
        let is_single_row = routine.is_some_and(Routine::returns_single_composite);
        let rows = Rows {
            page,
            are_scalars: is_scalar || is_set_of_scalars,
        };
        match handler {
            Handler::Nothing => {
                self.push("''::text");
            }
            Handler::Object { strips_nulls } => {
                // An element of a set of scalars is an object with the key `pgrst_scalar`.
                let rows = Rows {
                    are_scalars: is_scalar,
                    ..rows
                };
                self.json(rows, "->0", *strips_nulls, "'null'");
            }
            Handler::Json { strips_nulls } if is_scalar || is_single_row => {
                self.json(rows, "->0", *strips_nulls, "'null'");
            }
            Handler::Json { strips_nulls } => self.json(rows, "", *strips_nulls, "'[]'"),
            Handler::GeoJson => {
                self.push(
                    "json_build_object('type', 'FeatureCollection', 'features', \
                     coalesce(json_agg(ST_AsGeoJSON(",
                )
                .push(page.name)
                .push(")::json), '[]'))");
            }
            Handler::Csv => self.csv(page),
            Handler::Custom(custom) => {
                self.name(&custom.function).push("(").push(page.name);
                match &custom.target {
                    _ if is_scalar => self.push(".pgrst_scalar"),
                    Some(target) => self.push("::").name(target),
                    None => self,
                };
                self.push(")");
            }
        }
    }

    fn json(
        &mut self,
        rows: Rows,
        element: &'static str,
        strips_nulls: bool,
        otherwise: &'static str,
    ) {
        self.push("coalesce(");
        if strips_nulls {
            self.push("json_strip_nulls(");
        }
        self.push("json_agg(").push(rows.page.name);
        if rows.are_scalars {
            self.push(".pgrst_scalar");
        }
        self.push(")").push(element);
        if strips_nulls {
            self.push(")");
        }
        self.push(", ").push(otherwise).push(")");
    }

    /// Header line and rows. The text form of a row is a line of CSV in parentheses.
    fn csv(&mut self, page: Page) {
        self.push(
            "(select coalesce(string_agg(keys.name, ','), '') from (\
             select json_object_keys(row_to_json(first)) as name from \
             (select * from pgrst_source limit 1) first) keys) || E'\\n' || \
             coalesce(string_agg(substring(",
        );
        self.push(page.name)
            .push("::text, 2, length(")
            .push(page.name);
        self.push("::text) - 2), E'\\n'), '')");
    }
}

/// The elements of a JSON array.
#[derive(Clone, Copy)]
struct Rows {
    page: Page,
    /// Values of the column `pgrst_scalar` instead of rows.
    are_scalars: bool,
}
