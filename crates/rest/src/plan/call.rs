//! Calls of functions: which overload, with which arguments (rest contract §2.7).

use std::collections::{BTreeSet, HashMap};

use bytes::Bytes;

use super::{
    draft::Draft,
    fuzzy,
    mutation::needed_columns,
    negotiate::Output,
    read::Resolver,
    tree::{Condition, From, ReadNode},
};
use crate::{
    RestError,
    request::{ApiRequest, CallMethod, Payload, media_type::MediaType},
    schema_cache::{Param, QualifiedName, ReturnType, Routine, SchemaCache, Table, Volatility},
};

/// A call and the read of what it returned.
#[derive(Debug)]
pub(crate) struct CallPlan<'a> {
    pub(crate) routine: &'a Routine,
    pub(crate) method: CallMethod,
    pub(crate) arguments: Arguments<'a>,
    /// Columns of its result that the read needs; `*` for all.
    pub(crate) returning: Vec<&'a str>,
    /// The relation whose rows it returns.
    pub(crate) table: Option<&'a Table>,
    pub(crate) read: ReadNode<'a>,
    pub(crate) output: Output<'a>,
}

/// How a function gets its arguments.
#[derive(Debug)]
pub(crate) enum Arguments<'a> {
    None,
    /// From the query string or a form.
    Named(Vec<(&'a Param, Argument<'a>)>),
    /// From a JSON object, or the first of an array of them.
    Json {
        params: Vec<&'a Param>,
        json: &'a Bytes,
        is_object: bool,
    },
    /// The whole body as the one unnamed argument.
    Body {
        param: &'a Param,
        body: Bytes,
    },
}

#[derive(Debug)]
pub(crate) enum Argument<'a> {
    Value(&'a str),
    Variadic(Vec<&'a str>),
}

impl CallPlan<'_> {
    /// Whether the transaction may write.
    pub(crate) fn is_read_only(&self) -> bool {
        self.method != CallMethod::Post || self.routine.volatility != Volatility::Volatile
    }
}

/// The relation whose rows a function returns, if it has a name; for relationships and handlers.
pub(super) fn result_relation(routine: &Routine) -> QualifiedName {
    let name = match &routine.returns.of {
        ReturnType::Composite(composite) => &composite.name,
        ReturnType::Scalar(_) => &routine.name.name,
    };
    QualifiedName::new(routine.name.schema.clone(), name.clone())
}

impl<'a> Resolver<'a> {
    pub(super) fn call(
        &self,
        request: &'a ApiRequest,
        routine: &'a Routine,
        method: CallMethod,
        draft: Draft<'a>,
        output: impl FnOnce(&ReadNode<'a>) -> Result<Output<'a>, RestError>,
    ) -> Result<CallPlan<'a>, RestError> {
        let name = match &routine.returns.of {
            ReturnType::Composite(composite) => &composite.name,
            ReturnType::Scalar(_) => &routine.name.name,
        };
        let table = self.cache.table(&routine.name.schema, name);
        let read = self.read(draft, From::Source { alias: name }, name, table)?;
        let extra = named_columns(&read);
        let returning = returned_columns(&read, &extra);
        let output = output(&read)?;
        if request.preferences.max_affected.is_some()
            && request.preferences.is_strict()
            && !routine.returns.is_set
        {
            return Err(RestError::MaxAffectedNeedsSet);
        }
        Ok(CallPlan {
            routine,
            method,
            arguments: arguments(request, routine, method),
            returning,
            table,
            read,
            output,
        })
    }
}

/// Columns that filters and orders of the root name.
fn named_columns<'a>(read: &ReadNode<'a>) -> BTreeSet<&'a str> {
    fn of<'a>(condition: &Condition<'a>, names: &mut BTreeSet<&'a str>) {
        match condition {
            Condition::Filter(filter) => {
                names.insert(filter.field.name);
            }
            Condition::EmbedIsNull { .. } => {}
            Condition::Group { children, .. } => {
                children.iter().for_each(|child| of(child, names));
            }
        }
    }
    let own_order = read.order.iter().filter(|by| by.embed.is_none());
    let mut names = own_order.map(|by| by.field.name).collect();
    read.conditions
        .iter()
        .for_each(|condition| of(condition, &mut names));
    names
}

fn returned_columns<'a>(read: &ReadNode<'a>, extra: &BTreeSet<&'a str>) -> Vec<&'a str> {
    let needed = needed_columns(read, &[]);
    if needed.is_empty() || needed == ["*"] {
        return vec!["*"];
    }
    let all: BTreeSet<&str> = needed.into_iter().chain(extra.iter().copied()).collect();
    all.into_iter().collect()
}

fn arguments<'a>(
    request: &'a ApiRequest,
    routine: &'a Routine,
    method: CallMethod,
) -> Arguments<'a> {
    if let [param] = routine.params.as_slice()
        && param.name.is_empty()
    {
        let body = match &request.payload {
            Some(Payload::Json { text, .. } | Payload::Raw(text)) => text.clone(),
            Some(Payload::Form(pairs)) => form_as_json(pairs),
            None => form_as_json(&request.query.arguments),
        };
        return Arguments::Body { param, body };
    }
    let pairs = match (method, &request.payload) {
        (CallMethod::Post, Some(Payload::Form(pairs))) => pairs,
        (
            CallMethod::Post,
            Some(Payload::Json {
                text,
                keys,
                is_object,
            }),
        ) => {
            let given = routine
                .params
                .iter()
                .filter(|param| keys.contains(&*param.name));
            let params: Vec<&Param> = given.collect();
            return match params.is_empty() {
                true => Arguments::None,
                false => Arguments::Json {
                    params,
                    json: text,
                    is_object: *is_object,
                },
            };
        }
        (CallMethod::Post, _) => return Arguments::None,
        (CallMethod::Get | CallMethod::Head, _) => &request.query.arguments,
    };
    named_arguments(routine, pairs)
}

fn named_arguments<'a>(routine: &'a Routine, pairs: &'a [(String, String)]) -> Arguments<'a> {
    let mut given: HashMap<&str, Vec<&str>> = HashMap::new();
    for (name, value) in pairs {
        given.entry(name).or_default().push(value);
    }
    let named: Vec<_> = routine
        .params
        .iter()
        .filter_map(|param| {
            let values = given.remove(&*param.name)?;
            let argument = match (param.is_variadic, values.last()) {
                (true, _) => Argument::Variadic(values),
                (false, last) => Argument::Value(last?),
            };
            Some((param, argument))
        })
        .collect();
    match named.is_empty() {
        true => Arguments::None,
        false => Arguments::Named(named),
    }
}

fn form_as_json(pairs: &[(String, String)]) -> Bytes {
    let object: serde_json::Map<_, _> = pairs
        .iter()
        .map(|(name, value)| (name.clone(), value.clone().into()))
        .collect();
    serde_json::Value::Object(object).to_string().into()
}

/// The overload that is meant: by the names of the arguments, never by their types.
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
        .filter(|routine| takes(routine, &keys, takes_raw_body))
        .collect();
    let by_body = || -> Vec<&Routine> {
        let all = overloads.iter();
        all.filter(|routine| is_post && takes_body(routine, &request.content_type))
            .collect()
    };
    let found = match by_name.is_empty() {
        true => by_body(),
        false => by_name,
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

fn takes(routine: &Routine, keys: &BTreeSet<&str>, has_raw_body: bool) -> bool {
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

fn takes_body(routine: &Routine, content_type: &MediaType) -> bool {
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
        hint: match is_raw {
            true => None,
            false => near_name(cache, &request.schema, function, keys, overloads),
        },
    }
}

/// The lowest scores at which a name, or a list of parameters, is near enough to be suggested.
const MIN_NAME_SCORE: f64 = 0.75;
const MIN_PARAMS_SCORE: f64 = 0.33;

fn near_name(
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
