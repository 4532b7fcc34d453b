//! A schema cache of a small cinema, for tests without a database: relations with every kind of
//! relationship, and functions of every shape.

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Method};
use plinth_project::FromSettings;

use super::{Plan, Planned};
use crate::{
    RestConfig, RestError,
    request::{ApiRequest, RequestParts, RequestRules, RootMode},
    schema_cache::{MediaHandler, Objects, QualifiedName, Representation, SchemaCache},
    sql::Statements,
};

mod functions;
mod relations;
mod relationships;

/// The cinema's schema cache, and settings.
pub(crate) struct Cinema {
    cache: SchemaCache,
    config: RestConfig,
}

impl Cinema {
    /// Aggregates and execution plans are allowed, and there is no limit of rows.
    pub(crate) fn new() -> Self {
        let settings = plinth_settings::Loader::new().load().expect("defaults");
        let mut config = RestConfig::from_settings(&settings.settings);
        config.schemas = vec!["api".to_owned()];
        config.max_rows = None;
        config.aggregates_enabled = true;
        config.plan_enabled = true;
        let objects = Objects {
            tables: relations::all(),
            relationships: relationships::all(),
            routines: functions::all(),
            representations: representations(),
            media_handlers: media_handlers(),
        };
        Self {
            cache: SchemaCache::new(["api".into()], objects),
            config,
        }
    }

    pub(crate) fn with(mut self, change: impl FnOnce(&mut RestConfig)) -> Self {
        change(&mut self.config);
        self
    }

    /// Plans a request, which is written as in HTTP: request line, headers, empty line, body.
    pub(crate) fn plan<T>(
        &self,
        text: &str,
        inspect: impl FnOnce(Result<Planned<'_>, RestError>) -> T,
    ) -> T {
        match parse(text) {
            Ok(request) => inspect(Plan::build(&request, &self.cache, &self.config)),
            Err(error) => inspect(Err(error)),
        }
    }

    pub(crate) fn statements<T>(
        &self,
        text: &str,
        inspect: impl FnOnce(Result<Statements<'_>, RestError>) -> T,
    ) -> T {
        let request = match parse(text) {
            Ok(request) => request,
            Err(error) => return inspect(Err(error)),
        };
        let planned = match Plan::build(&request, &self.cache, &self.config) {
            Ok(planned) => planned,
            Err(error) => return inspect(Err(error)),
        };
        let (preferences, range) = (&request.preferences, request.root_range);
        inspect(Ok(match &planned.plan {
            Plan::Read(plan) => plan.to_sql(preferences, &self.config, range),
            Plan::Mutate(plan) => plan.to_sql(preferences),
            Plan::Call(plan) => plan.to_sql(preferences, &self.config, range),
            other => panic!("{other:?} has no statement"),
        }))
    }
}

fn parse(text: &str) -> Result<ApiRequest, RestError> {
    let (head, body) = text.split_once("\n\n").unwrap_or((text, ""));
    let (line, headers) = head.split_once('\n').unwrap_or((head, ""));
    let (method, target) = line.split_once(' ').expect("a method and a target");
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let headers: HeaderMap = headers
        .lines()
        .map(|line| {
            let (name, value) = line.split_once(": ").expect("a name and a value");
            let name: HeaderName = name.parse().expect("a header's name");
            (
                name,
                HeaderValue::from_str(value).expect("a header's value"),
            )
        })
        .collect();
    let parts = RequestParts {
        method: &Method::from_bytes(method.as_bytes()).expect("a method"),
        path,
        query,
        headers: &headers,
    };
    let rules = RequestRules {
        schemas: &["api".to_owned()],
        root: RootMode::Document,
        allows_tx_override: true,
    };
    ApiRequest::parse(&parts, Bytes::copy_from_slice(body.as_bytes()), &rules)
}

fn api(name: &str) -> QualifiedName {
    QualifiedName::new("api", name)
}

/// A colour is written and read as `#rrggbb`.
fn representations() -> Vec<Representation> {
    let cast = |source: &str, target: &str, function: &str| Representation {
        source_type: source.into(),
        target_type: target.into(),
        function: function.into(),
    };
    vec![
        cast("api.colour", "json", "api.colour_to_json"),
        cast("json", "api.colour", "api.colour_from_json"),
        cast("text", "api.colour", "api.colour_from_text"),
    ]
}

fn media_handlers() -> Vec<MediaHandler> {
    let handler = |function: &str, target: Option<&str>, media_type: &str| MediaHandler {
        function: api(function),
        target: target.map(api),
        media_type: media_type.into(),
        response_type: match media_type {
            "*/*" => "application/octet-stream".into(),
            _ => media_type.into(),
        },
    };
    vec![
        handler("film_reel", Some("films"), "video/reel"),
        handler("lines", None, "text/tab-separated-values"),
        handler("poster", Some("poster"), "image/png"),
        handler("anything", Some("studios"), "*/*"),
    ]
}
