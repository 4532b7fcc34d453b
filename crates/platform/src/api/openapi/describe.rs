//! What handlers' types say about an operation: extractors about the request, the return type about
//! the answer.

use std::{future::Future, marker::PhantomData};

use axum::{
    Json,
    body::Bytes,
    extract::{OriginalUri, Request, State},
    http::{HeaderMap, HeaderValue, Method, StatusCode, header::CONTENT_TYPE},
    response::{IntoResponse, Response},
};
use schemars::JsonSchema;
use serde_json::{Map, Value, json};

use super::{
    super::{
        Operator,
        body::{Body, Params, Segments, TextBody},
    },
    Schemas,
};
use crate::PlatformError;

/// An operation of the document, while it is put together.
pub(in crate::api) struct Operation<'a> {
    pub(super) schemas: &'a mut Schemas,
    parameters: Vec<Value>,
    request_body: Option<Value>,
    status: &'static str,
    content: Map<String, Value>,
    headers: Map<String, Value>,
}

impl<'a> Operation<'a> {
    pub(super) fn new(schemas: &'a mut Schemas) -> Self {
        Self {
            schemas,
            parameters: Vec::new(),
            request_body: None,
            status: "200",
            content: Map::new(),
            headers: Map::new(),
        }
    }

    pub(super) fn add_parameter(
        &mut self,
        place: &str,
        name: &str,
        required: bool,
        mut schema: Value,
    ) {
        let mut parameter = json!({ "name": name, "in": place, "required": required });
        // A description belongs to the parameter.
        if let Some(description) = schema.as_object_mut().and_then(|s| s.remove("description")) {
            parameter["description"] = description;
        }
        parameter["schema"] = schema;
        self.parameters.push(parameter);
    }

    fn add_query<T: JsonSchema>(&mut self) {
        let schema = T::json_schema(&mut self.schemas.requests);
        let schema = Value::from(schema);
        let required = schema["required"].as_array().cloned().unwrap_or_default();
        let Some(properties) = schema["properties"].as_object() else {
            return;
        };
        for (name, property) in properties.clone() {
            let is_required = required.iter().any(|required| *required == name.as_str());
            self.add_parameter("query", &name, is_required, property);
        }
    }

    fn set_body(&mut self, media: &str, schema: Value) {
        self.request_body = Some(json!({
            "required": true,
            "content": { media: { "schema": schema } },
        }));
    }

    fn set_answer(&mut self, media: &str, schema: Value) {
        self.content
            .insert(media.to_owned(), json!({ "schema": schema }));
    }

    fn answer_schema<T: JsonSchema>(&mut self) -> Value {
        Value::from(self.schemas.answers.subschema_for::<T>())
    }

    pub(super) fn finish(self, id: &str, tag: &str) -> Value {
        let mut answer = json!({ "description": "Success" });
        if !self.content.is_empty() {
            answer["content"] = self.content.into();
        }
        if !self.headers.is_empty() {
            answer["headers"] = self.headers.into();
        }
        let error = json!({ "schema": { "$ref": "#/components/schemas/Error" } });
        let mut operation = json!({
            "operationId": id,
            "tags": [tag],
            "responses": {
                self.status: answer,
                "default": {
                    "description": "An error",
                    "content": { "application/json": error },
                },
            },
        });
        if !self.parameters.is_empty() {
            operation["parameters"] = self.parameters.into();
        }
        if let Some(body) = self.request_body {
            operation["requestBody"] = body;
        }
        operation
    }
}

/// An extractor: what it takes from the request.
pub(in crate::api) trait Extracted {
    fn describe(_operation: &mut Operation<'_>) {}
}

impl Extracted for Operator {}
impl<S> Extracted for State<S> {}
impl Extracted for HeaderMap {}
impl Extracted for Method {}
impl Extracted for OriginalUri {}
impl<T> Extracted for axum::Extension<T> {}
impl<T> Extracted for Option<axum::Extension<T>> {}
/// Parameters of the path are known from the route.
impl<T> Extracted for Segments<T> {}

impl<T: JsonSchema> Extracted for Params<T> {
    fn describe(operation: &mut Operation<'_>) {
        operation.add_query::<T>();
    }
}

impl<T: JsonSchema> Extracted for Body<T> {
    fn describe(operation: &mut Operation<'_>) {
        let schema = operation.schemas.requests.subschema_for::<T>();
        operation.set_body("application/json", schema.into());
    }
}

impl Extracted for TextBody {
    fn describe(operation: &mut Operation<'_>) {
        operation.set_body("text/plain", json!({ "type": "string" }));
    }
}

impl Extracted for Bytes {
    fn describe(operation: &mut Operation<'_>) {
        operation.set_body("application/octet-stream", json!({}));
    }
}

impl Extracted for Request {
    fn describe(operation: &mut Operation<'_>) {
        operation.set_body("*/*", json!({}));
    }
}

impl Extracted for axum::body::Body {
    fn describe(operation: &mut Operation<'_>) {
        operation.set_body("*/*", json!({}));
    }
}

/// What a handler returns: the answer.
pub(in crate::api) trait Answered {
    fn describe(operation: &mut Operation<'_>);
}

impl<T: Answered> Answered for Result<T, PlatformError> {
    fn describe(operation: &mut Operation<'_>) {
        T::describe(operation);
    }
}

impl<T: JsonSchema> Answered for Json<T> {
    fn describe(operation: &mut Operation<'_>) {
        let schema = operation.answer_schema::<T>();
        operation.set_answer("application/json", schema);
    }
}

/// Which status is known when the handler runs.
impl<T: Answered> Answered for (StatusCode, T) {
    fn describe(operation: &mut Operation<'_>) {
        T::describe(operation);
        operation.status = "2XX";
    }
}

impl<T: Answered> Answered for (HeaderMap, T) {
    fn describe(operation: &mut Operation<'_>) {
        T::describe(operation);
    }
}

/// No content.
impl Answered for StatusCode {
    fn describe(operation: &mut Operation<'_>) {
        operation.status = "204";
    }
}

impl Answered for () {
    fn describe(_operation: &mut Operation<'_>) {}
}

/// Any content. Handlers of our own return one of the types below, which say more.
impl Answered for Response {
    fn describe(operation: &mut Operation<'_>) {
        operation.set_answer("*/*", json!({}));
    }
}

macro_rules! wrapped_response {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        pub(in crate::api) struct $name<T>(pub(in crate::api) Response, PhantomData<fn() -> T>);

        impl<T> $name<T> {
            pub(in crate::api) fn new(response: impl IntoResponse) -> Self {
                Self(response.into_response(), PhantomData)
            }
        }

        impl<T> IntoResponse for $name<T> {
            fn into_response(self) -> Response {
                self.0
            }
        }
    };
}

wrapped_response! {
    /// Server-sent events whose `data` is a `T`.
    EventStream
}

wrapped_response! {
    /// Lines of JSON, each a `T`.
    Lines
}

impl<T: JsonSchema> Answered for EventStream<T> {
    fn describe(operation: &mut Operation<'_>) {
        let schema = operation.answer_schema::<T>();
        operation.set_answer("text/event-stream", schema);
    }
}

impl<T: JsonSchema> Answered for Lines<T> {
    fn describe(operation: &mut Operation<'_>) {
        let schema = operation.answer_schema::<T>();
        operation.set_answer("application/x-ndjson", schema);
    }
}

/// A file of some text format, with its media type.
pub(in crate::api) struct TextFile(pub(in crate::api) &'static str, pub(in crate::api) String);

impl IntoResponse for TextFile {
    fn into_response(self) -> Response {
        ([(CONTENT_TYPE, HeaderValue::from_static(self.0))], self.1).into_response()
    }
}

impl Answered for TextFile {
    fn describe(operation: &mut Operation<'_>) {
        operation.set_answer("text/*", json!({ "type": "string" }));
    }
}

/// A body of any form.
pub(in crate::api) struct Untyped(pub(in crate::api) Response);

impl IntoResponse for Untyped {
    fn into_response(self) -> Response {
        self.0
    }
}

impl Answered for Untyped {
    fn describe(operation: &mut Operation<'_>) {
        operation.set_answer("*/*", json!({}));
    }
}

/// A page of a list, and where the next one begins, as the header `x-next-cursor`.
pub(in crate::api) struct Page<T>(pub(in crate::api) Option<String>, pub(in crate::api) Vec<T>);

impl<T: serde::Serialize> IntoResponse for Page<T> {
    fn into_response(self) -> Response {
        let mut response = Json(self.1).into_response();
        let cursor = self.0.and_then(|cursor| cursor.try_into().ok());
        if let Some(cursor) = cursor {
            response.headers_mut().insert("x-next-cursor", cursor);
        }
        response
    }
}

impl<T: JsonSchema> Answered for Page<T> {
    fn describe(operation: &mut Operation<'_>) {
        <Json<Vec<T>> as Answered>::describe(operation);
        let header = json!({
            "description": "The parameter `cursor` of the next page; absent on the last one.",
            "schema": { "type": "string" },
        });
        operation.headers.insert("x-next-cursor".to_owned(), header);
    }
}

/// A handler whose request and answer are known from its type.
pub(in crate::api) trait Described<T> {
    fn describe(operation: &mut Operation<'_>);
}

macro_rules! described {
    ($($extractor:ident),*) => {
        impl<F, Fut, R, $($extractor),*> Described<($($extractor,)*)> for F
        where
            F: FnOnce($($extractor),*) -> Fut,
            Fut: Future<Output = R>,
            R: Answered,
            $($extractor: Extracted,)*
        {
            fn describe(operation: &mut Operation<'_>) {
                $($extractor::describe(operation);)*
                R::describe(operation);
            }
        }
    };
}

described!();
described!(A);
described!(A, B);
described!(A, B, C);
described!(A, B, C, D);
described!(A, B, C, D, E);
described!(A, B, C, D, E, G);
described!(A, B, C, D, E, G, H);
