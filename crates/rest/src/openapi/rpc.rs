//! `paths` of functions: arguments in the query for `GET`, in a body for `POST`.

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::document::{
    Location, Operation, OperationParameter, Parameter, PathItem, Response, Schema, SwaggerType,
};
use super::{ParamTypes, pg_type, summary_and_description};
use crate::schema_cache::{Param, Routine, Volatility};

/// Sorted by name. A path can only have one overload: the one with most parameters.
pub(super) fn one_of_each_name<'a>(routines: &[&'a Routine]) -> Vec<&'a Routine> {
    let mut shown: BTreeMap<&str, &Routine> = BTreeMap::new();
    for &routine in routines {
        shown
            .entry(&routine.name.name)
            .and_modify(|other| {
                if rank(routine) > rank(other) {
                    *other = routine;
                }
            })
            .or_insert(routine);
    }
    shown.into_values().collect()
}

/// Unique among overloads, because these differ in the types of their parameters.
fn rank(routine: &Routine) -> (usize, Option<&str>, &[Param]) {
    let params = &routine.params;
    (params.len(), routine.comment.as_deref(), params)
}

/// `GET` is only for functions that change nothing.
pub(super) fn of_routine<'a>(
    routine: &'a Routine,
    param_types: Option<&'a ParamTypes>,
) -> PathItem<'a> {
    let arguments = arguments(routine, param_types);
    let is_readable = match routine.volatility {
        Volatility::Volatile => false,
        Volatility::Stable | Volatility::Immutable => true,
    };
    let get = || operation(routine, arguments.iter().map(query_parameter).collect());
    let body = Parameter {
        location: Location::Body,
        name: "args",
        required: true,
        schema: Some(Box::new(body_schema(routine, &arguments))),
        ..Parameter::default()
    };
    let post_parameters = vec![
        OperationParameter::Own(Box::new(body)),
        OperationParameter::common("preferParams"),
    ];
    PathItem {
        get: is_readable.then(get),
        post: Some(operation(routine, post_parameters)),
        ..PathItem::default()
    }
}

/// A parameter and the name of its type.
type Argument<'a> = (&'a Param, &'a str);

fn arguments<'a>(routine: &'a Routine, param_types: Option<&'a ParamTypes>) -> Vec<Argument<'a>> {
    let shown = param_types.and_then(|types| types.get(&routine.oid));
    let shown = shown.map_or(&[][..], Vec::as_slice);
    let argument = |(place, param): (usize, &'a Param)| {
        let type_name = shown.get(place).map_or(&*param.type_name, |name| name);
        (param, type_name)
    };
    routine.params.iter().enumerate().map(argument).collect()
}

fn operation<'a>(routine: &'a Routine, parameters: Vec<OperationParameter<'a>>) -> Operation<'a> {
    let (summary, description) = summary_and_description(routine.comment.as_deref());
    Operation {
        description,
        parameters,
        produces: &[
            "application/json",
            "application/vnd.pgrst.object+json;nulls=stripped",
            "application/vnd.pgrst.object+json",
        ],
        responses: vec![("200", Response::without_body("OK"))],
        summary,
        tags: [format!("(rpc) {}", routine.name.name).into()],
    }
}

fn query_parameter<'a>(&(param, type_name): &Argument<'a>) -> OperationParameter<'a> {
    let typed = if param.is_variadic {
        repeatable(type_name)
    } else {
        single(type_name)
    };
    OperationParameter::Own(Box::new(Parameter {
        name: &param.name,
        required: param.is_required,
        ..typed
    }))
}

/// Arrays (as `{1,2}`) and JSON are strings, because query parameters must have a type.
fn single(pg_type: &str) -> Parameter<'_> {
    let type_ = match pg_type::swagger_type(pg_type) {
        Some(SwaggerType::Array) | None => SwaggerType::String,
        Some(type_) => type_,
    };
    Parameter {
        format: Some(pg_type::format(pg_type)),
        type_: Some(type_),
        ..Parameter::default()
    }
}

/// A variadic parameter is repeated for each element.
fn repeatable(array_type: &str) -> Parameter<'_> {
    let element_type = pg_type::element_type(array_type);
    Parameter {
        collection_format: Some("multi"),
        items: Some(Box::new(Schema {
            format: Some(pg_type::format(element_type)),
            type_: pg_type::swagger_type(element_type),
            ..Schema::default()
        })),
        type_: pg_type::swagger_type(array_type).or(Some(SwaggerType::String)),
        ..Parameter::default()
    }
}

fn body_schema<'a>(routine: &'a Routine, arguments: &[Argument<'a>]) -> Schema<'a> {
    let property = |&(param, type_name): &Argument<'a>| (&*param.name, pg_type::schema(type_name));
    let required = routine.params.iter().filter(|param| param.is_required);
    Schema {
        description: routine.comment.as_deref().map(Cow::Borrowed),
        properties: arguments.iter().map(property).collect(),
        required: required.map(|param| &*param.name).collect(),
        type_: Some(SwaggerType::Object),
        ..Schema::default()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::samples::{param, routine};
    use super::*;

    #[test]
    fn a_stable_function_is_called_by_get_and_post() {
        let search = Routine {
            comment: Some("Search\n\nFinds films".into()),
            volatility: Volatility::Stable,
            params: vec![
                param("title", "text"),
                param("years", "integer[]"),
                Param {
                    is_required: false,
                    ..param("options", "jsonb")
                },
            ],
            ..routine("search")
        };

        let operation = |parameters: serde_json::Value| {
            json!({
                "tags": ["(rpc) search"],
                "summary": "Search",
                "description": "Finds films",
                "produces": [
                    "application/json",
                    "application/vnd.pgrst.object+json;nulls=stripped",
                    "application/vnd.pgrst.object+json",
                ],
                "parameters": parameters,
                "responses": { "200": { "description": "OK" } },
            })
        };
        let query = |name: &str, format: &str, required: bool| {
            json!({
                "name": name,
                "in": "query",
                "format": format,
                "type": "string",
                "required": required,
            })
        };
        let schema = json!({
            "type": "object",
            "description": "Search\n\nFinds films",
            "required": ["title", "years"],
            "properties": {
                "title": { "format": "text", "type": "string" },
                "years": {
                    "format": "integer[]",
                    "type": "array",
                    "items": { "type": "integer" },
                },
                "options": { "format": "jsonb" },
            },
        });
        let expected = json!({
            "get": operation(json!([
                query("title", "text", true),
                query("years", "integer[]", true),
                query("options", "jsonb", false),
            ])),
            "post": operation(json!([
                { "name": "args", "in": "body", "required": true, "schema": schema },
                { "$ref": "#/parameters/preferParams" },
            ])),
        });
        assert_eq!(json!(of_routine(&search, None)), expected);
    }

    #[test]
    fn a_volatile_function_is_called_by_post_only() {
        let reset = Routine {
            volatility: Volatility::Volatile,
            ..routine("reset")
        };

        let path = json!(of_routine(&reset, None));

        assert_eq!(path.get("get"), None);
        assert_eq!(
            path["post"]["parameters"][0]["schema"],
            json!({ "type": "object" })
        );
    }

    #[test]
    fn a_variadic_parameter_may_be_repeated() {
        let check = |pg_type: &str, items: serde_json::Value| {
            let variadic = Param {
                is_variadic: true,
                is_required: false,
                ..param("v", pg_type)
            };
            let expected = json!({
                "name": "v",
                "in": "query",
                "required": false,
                "type": "array",
                "collectionFormat": "multi",
                "items": items,
            });
            assert_eq!(
                json!(query_parameter(&(&variadic, pg_type))),
                expected,
                "{pg_type}"
            );
        };

        check("text[]", json!({ "format": "text", "type": "string" }));
        check("bigint[]", json!({ "format": "int64", "type": "integer" }));
        check("json[]", json!({ "format": "json" }));
    }

    #[test]
    fn types_show_as_the_search_path_allows() {
        let rate = Routine {
            oid: 7,
            volatility: Volatility::Stable,
            params: vec![param("film", "app.title"), param("stars", "app.rating[]")],
            ..routine("rate")
        };
        let check = |param_types: ParamTypes, expected: [&str; 2]| {
            let path = json!(of_routine(&rate, Some(&param_types)));
            let get = &path["get"]["parameters"];
            let post = &path["post"]["parameters"][0]["schema"]["properties"];
            assert_eq!([&get[0]["format"], &get[1]["format"]], expected);
            assert_eq!(
                [&post["film"]["format"], &post["stars"]["format"]],
                expected
            );
        };

        let short_names = vec!["title".into(), "rating[]".into()];
        check(
            ParamTypes::from([(7, short_names.clone())]),
            ["title", "rating[]"],
        );
        check(
            ParamTypes::from([(8, short_names)]),
            ["app.title", "app.rating[]"],
        );
    }

    #[test]
    fn the_overload_with_most_parameters_is_shown() {
        let short = routine("search");
        let long = Routine {
            params: vec![param("title", "text")],
            ..routine("search")
        };
        let other = routine("other");
        let check = |routines: &[&Routine]| {
            assert_eq!(one_of_each_name(routines), [&other, &long]);
        };

        check(&[&short, &other, &long]);
        check(&[&long, &short, &other]);
    }
}
