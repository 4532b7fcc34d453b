//! Functions: which can be called, their parameters and results.

use super::cache;
use crate::schema_cache::{Isolation, ReturnType, Routine, SchemaCache, Volatility};

fn only<'a>(cache: &'a SchemaCache, name: &str) -> &'a Routine {
    match cache.routines("api", name) {
        [routine] => routine,
        other => panic!("{} functions {name}", other.len()),
    }
}

/// `?` marks optional parameters, `...` variadic ones.
fn params(routine: &Routine) -> String {
    let params: Vec<_> = routine
        .params
        .iter()
        .map(|param| {
            let variadic = if param.is_variadic { "..." } else { "" };
            let optional = if param.is_required { "" } else { "?" };
            format!(
                "{variadic}{}{optional} {} as {}",
                param.name, param.type_name, param.cast_type
            )
        })
        .collect();
    params.join(", ")
}

fn returns(routine: &Routine) -> String {
    let set = if routine.returns.is_set {
        "set of "
    } else {
        ""
    };
    match &routine.returns.of {
        ReturnType::Scalar(name) => format!("{set}value {}.{}", name.schema, name.name),
        ReturnType::Composite(name) => format!("{set}row {}.{}", name.schema, name.name),
    }
}

#[tokio::test]
async fn parameters_and_results_are_distinguished() {
    let cache = cache().await;
    let check = |name: &str, expected_params: &str, expected_result: &str| {
        let routine = only(cache, name);
        assert_eq!(params(routine), expected_params, "{name}");
        assert_eq!(returns(routine), expected_result, "{name}");
    };
    check("plain", "", "value pg_catalog.void");
    check(
        "many",
        "a integer as integer, b character as character varying, c? bit[] as bit varying[], \
         ...rest? text[] as text[]",
        "set of value pg_catalog.int4",
    );
    check("body", " jsonb as jsonb", "value pg_catalog.jsonb");
    check(
        "outputs",
        "a text as text, y text as text",
        "row pg_catalog.record",
    );
    check("one_output", "", "row pg_catalog.int4");
    check(
        "as_table",
        "a integer as integer",
        "set of row pg_catalog.int4",
    );
    check("rows", "", "set of row private.authors");
    check("aliased", "", "row api.clients");
}

#[tokio::test]
async fn only_functions_with_usable_parameters_can_be_called() {
    let cache = cache().await;
    for name in [
        "two_unnamed",
        "one_unnamed",
        "on_change",
        "proceed",
        "total",
        "clients_tsv",
    ] {
        assert!(cache.routines("api", name).is_empty(), "{name}");
    }
    assert!(cache.routines("hidden", "elsewhere").is_empty());
}

#[tokio::test]
async fn overloads_with_fewer_parameters_come_first() {
    let cache = cache().await;
    let overloads = cache.routines("api", "overloaded");

    assert_eq!(
        overloads.iter().map(params).collect::<Vec<_>>(),
        [
            "",
            "a integer as integer",
            "a text as text",
            "a integer as integer, b integer as integer",
        ],
    );
}

#[tokio::test]
async fn settings_and_volatility_are_kept() {
    let cache = cache().await;
    let configured = only(cache, "configured");

    assert_eq!(configured.isolation, Some(Isolation::Serializable));
    let settings: Vec<_> = configured
        .settings
        .iter()
        .map(|(k, v)| (&**k, &**v))
        .collect();
    assert_eq!(
        settings,
        [
            ("statement_timeout", "5s"),
            ("default_transaction_isolation", "serializable"),
        ],
    );
    assert_eq!(configured.volatility, Volatility::Volatile);
    assert_eq!(only(cache, "many").volatility, Volatility::Immutable);
    assert!(only(cache, "many").has_variadic);
    assert_eq!(only(cache, "rows").volatility, Volatility::Stable);
    let plain = only(cache, "plain");
    assert_eq!(plain.comment.as_deref(), Some("Does nothing"));
    assert!(plain.returns_void() && plain.isolation.is_none());
}

#[tokio::test]
async fn functions_come_sorted_by_name() {
    let cache = cache().await;
    let names: Vec<_> = cache
        .routines_in("api")
        .map(|routine| &routine.name.name)
        .collect();

    assert!(names.is_sorted());
    assert_eq!(names.len(), cache.counts().functions);
}
