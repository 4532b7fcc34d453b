//! INSERT, UPDATE and DELETE, whose rows are then read (rest contract §6.5).

use plinth_db::Literal;

use super::{condition::ByJoin, writer::Sql};
use crate::{
    plan::{
        Body, BodyColumn, Change, MutatePlan,
        tree::{Condition, Qualifier},
    },
    request::preferences::Resolution,
};

/// The alias of the body's rows.
const BODY: Qualifier<'static> = Qualifier::Alias("pgrst_body");

/// Counts inserted rows in a setting: up for each row to insert, down for each conflict. Both are
/// conditions that are always true.
const COUNT_UP: &str = "set_config('plinth.inserted', \
     (coalesce(nullif(current_setting('plinth.inserted', true), ''), '0')::int + 1)::text, true) \
     is not null";
const COUNT_DOWN: &str = "set_config('plinth.inserted', \
     (coalesce(nullif(current_setting('plinth.inserted', true), ''), '0')::int - 1)::text, true) \
     is not null";

impl<'a> Sql<'a> {
    pub(super) fn change(&mut self, plan: &MutatePlan<'a>) {
        let table = Qualifier::Relation(&plan.table.name);
        match &plan.change {
            Change::Insert {
                body,
                on_conflict,
                conditions,
            } => {
                self.push("insert into ").name(&plan.table.name);
                if !body.columns.is_empty() {
                    self.push("(");
                    self.list(", ", &body.columns, |sql, column| {
                        sql.ident(column.name);
                    });
                    self.push(")");
                }
                self.push(" select ");
                self.list(", ", &body.columns, |sql, column| {
                    sql.column(BODY, column.name);
                });
                self.push(" from ");
                self.body_rows(body, false);
                let merges = on_conflict
                    .as_ref()
                    .is_some_and(|on| on.resolution == Resolution::MergeDuplicates);
                if merges {
                    self.push(" where ").push(COUNT_UP);
                    for condition in conditions {
                        self.push(" and ");
                        self.conditions(std::slice::from_ref(condition), BODY, &ByJoin(&[]));
                    }
                }
                if let Some(on_conflict) = on_conflict.as_ref().filter(|on| !on.columns.is_empty())
                {
                    self.push(" on conflict(");
                    self.list(", ", &on_conflict.columns, |sql, column| {
                        sql.ident(column);
                    });
                    self.push(")");
                    self.conflict_action(body, merges);
                }
                self.returning(&plan.returning, table);
            }
            Change::Update { body, .. } if body.columns.is_empty() => {
                // SQL has no UPDATE without columns; the read needs the same columns all the same.
                self.push("select ");
                if plan.returning.is_empty() {
                    self.push("null")
                } else {
                    self.list(", ", &plan.returning, |sql, column| {
                        sql.column(Qualifier::Alias(&plan.table.name.name), column);
                    })
                };
                self.push(" from ")
                    .name(&plan.table.name)
                    .push(" where false");
            }
            Change::Update { body, conditions } => {
                self.push("update ").name(&plan.table.name).push(" set ");
                self.list(", ", &body.columns, |sql, column| {
                    sql.ident(column.name).push(" = ").column(BODY, column.name);
                });
                self.push(" from ");
                self.body_rows(body, false);
                self.where_all(conditions, table);
                self.returning(&plan.returning, table);
            }
            Change::Delete { conditions } => {
                self.push("delete from ").name(&plan.table.name);
                self.where_all(conditions, table);
                self.returning(&plan.returning, table);
            }
        }
    }

    fn conflict_action(&mut self, body: &Body<'a>, merges: bool) {
        if !merges || body.columns.is_empty() {
            self.push(" do nothing");
            return;
        }
        self.push(" do update set ");
        self.list(", ", &body.columns, |sql, column| {
            sql.ident(column.name)
                .push(" = excluded.")
                .ident(column.name);
        });
        self.push(" where ").push(COUNT_DOWN);
    }

    fn where_all(&mut self, conditions: &[Condition<'a>], table: Qualifier<'_>) {
        if !conditions.is_empty() {
            self.push(" where ");
            self.conditions(conditions, table, &ByJoin(&[]));
        }
    }

    fn returning(&mut self, columns: &[&str], table: Qualifier<'_>) {
        self.push(" returning ");
        if columns.is_empty() {
            self.push("1")
        } else {
            self.list(", ", columns, |sql, column| {
                sql.column(table, column);
            })
        };
    }

    /// The body as rows with the alias `pgrst_body`.
    pub(super) fn body_rows(&mut self, body: &Body<'a>, is_first_only: bool) {
        let kind = if body.applies_defaults {
            "::jsonb"
        } else {
            "::json"
        };
        self.push("(select ")
            .literal(Literal::Utf8(body.json.clone()))
            .push(kind);
        self.push(" as json_data) pgrst_payload, ");
        if body.applies_defaults {
            self.with_defaults(body);
        }
        self.push("lateral (select ");
        self.list(", ", &body.columns, |sql, column| match column.parser {
            Some(function) => {
                sql.catalog(function)
                    .push("(")
                    .ident(column.name)
                    .push(") as ");
                sql.ident(column.name);
            }
            None => {
                sql.ident(column.name);
            }
        });
        self.push(" from ");
        self.recordset(body);
        if is_first_only && !body.columns.is_empty() {
            self.push(" limit 1");
        }
        self.push(") pgrst_body");
    }

    fn with_defaults(&mut self, body: &Body<'a>) {
        self.push("lateral (select ");
        if body.is_object {
            self.defaults(&body.columns);
            self.push(" || pgrst_payload.json_data as val) pgrst_json_defs, ");
        } else {
            self.push("jsonb_agg(");
            self.defaults(&body.columns);
            self.push(
                " || elem) as val from jsonb_array_elements(pgrst_payload.json_data) elem) \
                     pgrst_json_defs, ",
            );
        }
    }

    fn defaults(&mut self, columns: &[BodyColumn<'a>]) {
        self.push("jsonb_build_object(");
        let with_default = columns
            .iter()
            .filter_map(|column| Some((column.name, column.default?)));
        self.list(", ", with_default, |sql, (name, default)| {
            sql.constant(name).push(", ").catalog(default);
        });
        self.push(")");
    }

    fn recordset(&mut self, body: &Body<'a>) {
        let json = if body.applies_defaults {
            "pgrst_json_defs.val"
        } else {
            "pgrst_payload.json_data"
        };
        let function = match (
            body.columns.is_empty(),
            body.is_object,
            body.applies_defaults,
        ) {
            // One row for `{}`, one for each element of `[{}, {}]`.
            (true, true, _) => {
                self.push("(values(1)) _");
                return;
            }
            (true, false, false) => "json_array_elements(",
            (true, false, true) => "jsonb_array_elements(",
            (false, true, false) => "json_to_record(",
            (false, true, true) => "jsonb_to_record(",
            (false, false, false) => "json_to_recordset(",
            (false, false, true) => "jsonb_to_recordset(",
        };
        self.push(function).push(json);
        if body.columns.is_empty() {
            self.push(") _");
            return;
        }
        self.push(") as _(");
        self.list(", ", &body.columns, |sql, column| {
            sql.ident(column.name).push(" ").catalog(column.type_name);
        });
        self.push(")");
    }
}
