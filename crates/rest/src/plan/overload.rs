//! Chooses the overload of a call, and reports missing and ambiguous ones (rest contract §2.7, §5.4).

use std::collections::BTreeSet;

use super::fuzzy;
use crate::{
    RestError,
    request::{ApiRequest, CallMethod, Payload, media_type::MediaType},
    schema_cache::{Routine, SchemaCache},
};

/// Chooses the overload by the names of the arguments, never by their types.
pub(super) fn find<'a>(
    cache: &'a SchemaCache,
    request: &ApiRequest,
    function: &str,
    method: CallMethod,
) -> Result<&'a Routine, RestError> {
    let overloads = cache.routines(&request.schema, function);
    let keys = argument_names(request, method);
    let is_post = method == CallMethod::Post;
    let takes_raw_body = is_post && is_raw(&request.content_type);
    let by_name: Vec<&Routine> = overloads
        .iter()
        .filter(|routine| accepts_arguments(routine, &keys, takes_raw_body))
        .collect();
    let by_body = || -> Vec<&Routine> {
        let all = overloads.iter();
        all.filter(|routine| is_post && accepts_body(routine, &request.content_type))
            .collect()
    };
    let found = if by_name.is_empty() {
        by_body()
    } else {
        by_name
    };
    match found.as_slice() {
        [] => Err(missing(cache, request, function, &keys, is_post, overloads)),
        [only] => Ok(only),
        several => Err(ambiguous(several)),
    }
}

fn argument_names(request: &ApiRequest, method: CallMethod) -> BTreeSet<&str> {
    match (method, &request.payload) {
        (CallMethod::Post, Some(Payload::Json { keys, .. })) => {
            keys.iter().map(String::as_str).collect()
        }
        (CallMethod::Post, Some(Payload::Form(pairs))) => {
            pairs.iter().map(|(name, _)| name.as_str()).collect()
        }
        (CallMethod::Post, _) => BTreeSet::new(),
        (CallMethod::Get | CallMethod::Head, _) => {
            let arguments = request.query.arguments.iter();
            arguments.map(|(name, _)| name.as_str()).collect()
        }
    }
}

fn is_raw(content_type: &MediaType) -> bool {
    matches!(
        content_type,
        MediaType::TextPlain | MediaType::TextXml | MediaType::OctetStream
    )
}

fn accepts_arguments(routine: &Routine, keys: &BTreeSet<&str>, has_raw_body: bool) -> bool {
    if routine.params.is_empty() {
        return keys.is_empty() && !has_raw_body;
    }
    let is_known = |key: &&str| routine.params.iter().any(|param| *param.name == **key);
    let has_all_required = routine
        .params
        .iter()
        .filter(|param| param.is_required)
        .all(|param| keys.contains(&*param.name));
    has_all_required && keys.iter().all(is_known)
}

fn accepts_body(routine: &Routine, content_type: &MediaType) -> bool {
    let [param] = routine.params.as_slice() else {
        return false;
    };
    param.name.is_empty()
        && matches!(
            (content_type, &*param.type_name),
            (MediaType::Json, "json" | "jsonb")
                | (MediaType::TextPlain, "text")
                | (MediaType::TextXml, "xml")
                | (MediaType::OctetStream, "bytea")
        )
}

fn ambiguous(found: &[&Routine]) -> RestError {
    let mut sorted = found.to_vec();
    sorted.sort_by(|a, b| (a.params.len(), *a).cmp(&(b.params.len(), *b)));
    let signatures = sorted.iter().map(|routine| {
        let params: Vec<String> = routine
            .params
            .iter()
            .map(|param| format!("{} => {}", param.name, param.type_name))
            .collect();
        format!(
            "{}.{}({})",
            routine.name.schema,
            routine.name.name,
            params.join(", ")
        )
    });
    RestError::AmbiguousFunction(signatures.collect())
}

fn missing(
    cache: &SchemaCache,
    request: &ApiRequest,
    function: &str,
    keys: &BTreeSet<&str>,
    is_post: bool,
    overloads: &[Routine],
) -> RestError {
    let name = format!("{}.{function}", request.schema);
    let is_raw = is_post && is_raw(&request.content_type);
    let list = keys.iter().copied().collect::<Vec<_>>().join(", ");
    let shown = match (is_raw, keys.is_empty()) {
        (true, _) => String::new(),
        (false, true) => " without parameters".to_owned(),
        (false, false) => format!("({list})"),
    };
    let with = match keys.len() {
        0 => " without parameters".to_owned(),
        1 => format!(" with parameter {list}"),
        _ => format!(" with parameters {list}"),
    };
    let searched = match (is_post, &request.content_type) {
        (true, MediaType::TextPlain) => " with a single unnamed text parameter".to_owned(),
        (true, MediaType::TextXml) => " with a single unnamed xml parameter".to_owned(),
        (true, MediaType::OctetStream) => " with a single unnamed bytea parameter".to_owned(),
        (true, MediaType::Json) => format!("{with} or with a single unnamed json/jsonb parameter"),
        _ => with,
    };
    RestError::NoFunction {
        message: format!("Could not find the function {name}{shown} in the schema cache"),
        details: format!(
            "Searched for the function {name}{searched}, but no matches were found in the schema \
             cache."
        ),
        hint: if is_raw {
            None
        } else {
            hint(cache, &request.schema, function, keys, overloads)
        },
    }
}

/// The lowest similarity of a name, or of a list of parameters, in a hint.
const MIN_NAME_SCORE: f64 = 0.75;
const MIN_PARAMS_SCORE: f64 = 0.33;

fn hint(
    cache: &SchemaCache,
    schema: &str,
    function: &str,
    keys: &BTreeSet<&str>,
    overloads: &[Routine],
) -> Option<String> {
    let call = |text: &str| format!("Perhaps you meant to call the function {schema}.{text}");
    if overloads.is_empty() {
        let names = cache.routines_in(schema).map(|routine| &*routine.name.name);
        return fuzzy::best_match(function, names, MIN_NAME_SCORE).map(call);
    }
    let signature = |mut names: Vec<&str>| {
        names.sort_unstable();
        format!("({})", names.join(", "))
    };
    let wanted = signature(keys.iter().copied().collect());
    let offered: Vec<String> = overloads
        .iter()
        .map(|routine| signature(routine.params.iter().map(|param| &*param.name).collect()))
        .collect();
    let near = fuzzy::best_match(
        &wanted,
        offered.iter().map(String::as_str),
        MIN_PARAMS_SCORE,
    )?;
    Some(call(&format!("{function}{near}")))
}
