//! Calls of functions (rest contract §6.6).

use plinth_db::Literal;

use super::{condition::array_literal, writer::Sql};
use crate::{
    plan::{Argument, Arguments, Body, BodyColumn, CallPlan, tree::Qualifier},
    schema_cache::Param,
};

const CALL: Qualifier<'static> = Qualifier::Alias("pgrst_call");

impl<'a> Sql<'a> {
    pub(super) fn call(&mut self, plan: &CallPlan<'a>) {
        self.push("select ");
        if is_of_scalars(plan) {
            self.push("pgrst_call.pgrst_scalar")
        } else {
            self.list(", ", &plan.returning, |sql, column| {
                sql.column(CALL, column);
            })
        };
        self.push(" from ");
        if let Arguments::Json {
            params,
            json,
            is_object,
        } = &plan.arguments
        {
            let columns = params.iter().map(|param| BodyColumn {
                name: &param.name,
                type_name: &param.cast_type,
                parser: None,
                default: None,
            });
            let body = Body {
                json,
                is_object: *is_object,
                columns: columns.collect(),
                applies_defaults: false,
            };
            self.body_rows(&body, true);
            self.push(", lateral ");
        }
        let is_of_scalars = is_of_scalars(plan);
        if is_of_scalars {
            self.push("(select ");
        }
        self.name(&plan.routine.name).push("(");
        self.arguments(&plan.arguments);
        self.push(if is_of_scalars {
            ") pgrst_scalar) pgrst_call"
        } else {
            ") pgrst_call"
        });
    }

    fn arguments(&mut self, arguments: &Arguments<'a>) {
        match arguments {
            Arguments::None => {}
            Arguments::Named(named) => {
                self.list(", ", named, |sql, (param, argument)| {
                    sql.named(param);
                    match argument {
                        Argument::Value(value) => sql.value(*value),
                        Argument::Variadic(values) => {
                            sql.value(array_literal(values.iter().copied()))
                        }
                    };
                    sql.push("::").catalog(&param.cast_type);
                });
            }
            Arguments::Json { params, .. } => {
                self.list(", ", params, |sql, param| {
                    sql.named(param);
                    sql.column(Qualifier::Alias("pgrst_body"), &param.name);
                });
            }
            Arguments::Body { param, body } => {
                let is_binary = *param.type_name == *"bytea";
                self.literal(if is_binary {
                    Literal::Binary(body.clone())
                } else {
                    Literal::Utf8(body.clone())
                });
                self.push("::").catalog(&param.type_name);
            }
        }
    }

    fn named(&mut self, param: &Param) {
        if param.is_variadic {
            self.push("variadic ");
        }
        self.ident(&param.name).push(" := ");
    }
}

pub(super) fn is_of_scalars(plan: &CallPlan<'_>) -> bool {
    plan.routine.returns_scalar() || plan.routine.returns_set_of_scalar()
}
