//! Plans calls of functions: assigns arguments, and plans the read of the result (rest contract
//! §2.7).

use std::collections::{BTreeSet, HashMap};

use bytes::Bytes;

use super::{
    mutation::needed_columns,
    negotiate::Output,
    read::Resolver,
    select_tree::SelectNode,
    tree::{Condition, From, ReadNode},
};
use crate::{
    RestError,
    request::{ApiRequest, CallMethod, Payload},
    schema_cache::{Param, QualifiedName, ReturnType, Routine, Table, Volatility},
};

/// A call, and the read of its result.
#[derive(Debug)]
pub(crate) struct CallPlan<'a> {
    pub(crate) routine: &'a Routine,
    pub(crate) method: CallMethod,
    pub(crate) arguments: Arguments<'a>,
    /// Columns of the result that the read needs; `*` for all.
    pub(crate) returning: Vec<&'a str>,
    /// The relation whose rows it returns.
    pub(crate) table: Option<&'a Table>,
    pub(crate) read: ReadNode<'a>,
    pub(crate) output: Output<'a>,
}

/// Where the arguments come from.
#[derive(Debug)]
pub(crate) enum Arguments<'a> {
    None,
    /// From the query string or a form.
    Named(Vec<(&'a Param, Argument<'a>)>),
    /// From a JSON object, or the first one of an array.
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
    /// Whether the transaction is read only.
    pub(crate) fn is_read_only(&self) -> bool {
        self.method != CallMethod::Post || self.routine.volatility != Volatility::Volatile
    }
}

/// The name under which relationships and media handlers of a function's result are found: the
/// composite type, else the function.
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
        select: SelectNode<'a>,
        output: impl FnOnce(&ReadNode<'a>) -> Result<Output<'a>, RestError>,
    ) -> Result<CallPlan<'a>, RestError> {
        let name = match &routine.returns.of {
            ReturnType::Composite(composite) => &composite.name,
            ReturnType::Scalar(_) => &routine.name.name,
        };
        let table = self.cache.table(&routine.name.schema, name);
        let read = self.read(select, From::Source { alias: name }, name, table)?;
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

/// Columns in filters and orders of the root.
fn named_columns<'a>(read: &ReadNode<'a>) -> BTreeSet<&'a str> {
    fn collect<'a>(condition: &Condition<'a>, names: &mut BTreeSet<&'a str>) {
        match condition {
            Condition::Filter(filter) => {
                names.insert(filter.field.name);
            }
            Condition::EmbedIsNull { .. } => {}
            Condition::Group { children, .. } => {
                children.iter().for_each(|child| collect(child, names));
            }
        }
    }
    let own_order = read.order.iter().filter(|by| by.embed.is_none());
    let mut names = own_order.map(|by| by.field.name).collect();
    read.conditions
        .iter()
        .for_each(|condition| collect(condition, &mut names));
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
            return if params.is_empty() {
                Arguments::None
            } else {
                Arguments::Json {
                    params,
                    json: text,
                    is_object: *is_object,
                }
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
    if named.is_empty() {
        Arguments::None
    } else {
        Arguments::Named(named)
    }
}

fn form_as_json(pairs: &[(String, String)]) -> Bytes {
    let object: serde_json::Map<_, _> = pairs
        .iter()
        .map(|(name, value)| (name.clone(), value.clone().into()))
        .collect();
    serde_json::Value::Object(object).to_string().into()
}
