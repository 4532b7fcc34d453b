//! Invoking a function.

use std::io;

use bytes::Bytes;
use futures_util::{Stream, StreamExt};
use http::{HeaderName, HeaderValue, Method, header};
use serde::Serialize;
use serde::de::DeserializeOwned;
use url::Url;

use super::{Body, Form, FunctionError, FunctionResponse, FunctionStream, Functions, Region};
use crate::call_options::{CallOptions, with_call_options};
use crate::http::{Outgoing, StreamedBody, StreamedResponse, client_info};
use crate::runtime::MaybeSend;

/// An invocation of a function; see [`Functions::invoke`].
#[must_use = "nothing is sent before `send`"]
pub struct InvokeRequest {
    functions: Functions,
    name: String,
    method: Method,
    region: Option<Region>,
    body: Result<Body, FunctionError>,
    options: CallOptions,
}

with_call_options!(InvokeRequest);

impl InvokeRequest {
    pub(super) fn new(functions: Functions, name: &str) -> Self {
        Self {
            functions,
            name: name.to_owned(),
            method: Method::POST,
            region: None,
            body: Ok(Body::None),
            options: CallOptions::default(),
        }
    }

    /// Uses another method than POST.
    pub fn method(mut self, method: Method) -> Self {
        self.method = method;
        self
    }

    /// Selects the region.
    pub fn region(mut self, region: Region) -> Self {
        self.region = Some(region);
        self
    }

    /// Uses this token instead of the signed-in user's.
    pub fn auth(mut self, token: impl Into<String>) -> Self {
        self.functions.token = Some(token.into());
        self
    }

    /// Sends a value as JSON.
    pub fn json(mut self, value: &impl Serialize) -> Self {
        let bytes = serde_json::to_vec(value);
        self.body = bytes
            .map(|bytes| Body::whole(bytes, "application/json"))
            .map_err(|_| FunctionError::InvalidInput("a value cannot be written as JSON"));
        self
    }

    /// Sends a text.
    pub fn text(mut self, text: impl Into<String>) -> Self {
        self.body = Ok(Body::whole(text.into(), "text/plain"));
        self
    }

    /// Sends bytes.
    pub fn bytes(mut self, bytes: impl Into<Bytes>) -> Self {
        self.body = Ok(Body::whole(bytes, "application/octet-stream"));
        self
    }

    /// Sends a form, with files if it has any.
    pub fn multipart(mut self, form: &Form) -> Self {
        let rendered = form.render();
        self.body = rendered.map(|(content_type, bytes)| Body::whole(bytes, content_type));
        self
    }

    /// Streams bytes (buffered in a browser, and for a tower service).
    pub fn stream<S, B, E>(mut self, pieces: S) -> Self
    where
        S: Stream<Item = Result<B, E>> + MaybeSend + 'static,
        B: Into<Bytes>,
        E: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        let pieces = pieces.map(|piece| piece.map(Into::into).map_err(io::Error::other));
        self.body = Ok(Body::Pieces(Box::pin(pieces)));
        self
    }

    /// Invokes the function and decodes its response by content type. Event streams (`text/event-stream`) are
    /// not awaited: they are [`FunctionData::Stream`](super::FunctionData::Stream).
    pub async fn send(self) -> Result<FunctionResponse, FunctionError> {
        let http = self.functions.base.http.clone();
        let limit = self.options.timeout.or(self.functions.base.timeout);
        let responded = async {
            let response = self.open().await?;
            FunctionResponse::read(response).await
        };
        http.within(limit, responded).await?
    }

    /// Invokes the function and deserializes its JSON response.
    pub async fn send_as<T: DeserializeOwned>(self) -> Result<T, FunctionError> {
        self.send().await?.json()
    }

    /// Invokes the function and streams the bytes of its response. The timeout applies to each chunk.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let client = plinth_client::Client::builder("http://localhost:54321", "key");
    /// # let client = client.http_service(axum::Router::new().fallback(|| async {
    /// #     ([("content-type", "text/event-stream")], "data: Once\n\ndata: upon\n\n")
    /// # })).build()?;
    /// use futures_util::TryStreamExt;
    ///
    /// # let mut received = Vec::new();
    /// let story = client.functions().invoke("story").text("a whale").send_stream().await?;
    /// let mut words = story.events();
    /// while let Some(word) = words.try_next().await? {
    ///     println!("{}", word.data);
    /// #   received.push(word.data);
    /// }
    /// # assert_eq!(received, ["Once", "upon"]);
    /// # Ok(())
    /// # }
    /// ```
    pub async fn send_stream(self) -> Result<FunctionStream, FunctionError> {
        let limit = self.options.timeout.or(self.functions.base.timeout);
        let http = self.functions.base.http.clone();
        let response = http.within(limit, self.open()).await??;
        Ok(FunctionStream::new(
            response,
            limit.map(|limit| (http, limit)),
        ))
    }

    /// A successful response with its body unread.
    async fn open(self) -> Result<StreamedResponse, FunctionError> {
        let http = self.functions.base.http.clone();
        let token = match &self.functions.token {
            Some(token) => Some(token.clone()),
            None => self.functions.tokens.token().await?,
        };
        let mut request = self.request(token.as_deref())?;
        let (mut pieces, mut failure) = (None, None);
        match self.body? {
            Body::None => {}
            Body::Whole { bytes, .. } => request.body = bytes,
            Body::Pieces(stream) => {
                let body = StreamedBody::new(stream, None);
                failure = Some(body.failure());
                pieces = Some(body);
            }
        }
        let max_error_bytes = request.max_response_bytes;
        let response = http.stream(request, pieces).await.map_err(|error| {
            let own = failure.and_then(|failure| failure.take());
            own.map_or(FunctionError::Fetch(error), FunctionError::Body)
        })?;
        let is_good = (200..300).contains(&response.status);
        if is_good && !super::error::is_relay_error(&response.headers) {
            return Ok(response);
        }
        let response = response.collect(max_error_bytes).await?;
        Err(FunctionError::from_response(response))
    }

    /// Headers of the call take precedence over those of the client, and those over the default content
    /// type.
    fn request(&self, token: Option<&str>) -> Result<Outgoing, FunctionError> {
        let unsendable = FunctionError::InvalidInput("a header cannot be sent as given");
        if self.options.is_unsendable {
            return Err(unsendable);
        }
        let body = self.body.as_ref().map_err(Clone::clone)?;
        let base = &self.functions.base;
        let mut request = Outgoing::new(self.method.clone(), self.url()?);
        request.headers = base.headers.clone();
        for (name, value) in &self.options.headers {
            request.headers.insert(name, value.clone());
        }
        if let Some(content_type) = body.content_type() {
            request.default_header(header::CONTENT_TYPE, content_type);
        }
        if let Some(region) = self.chosen_region() {
            request.default_header(HeaderName::from_static("x-region"), region);
        }
        request.default_key(&base.key);
        if let Some(token) = token.or(Some(&base.key)
            .filter(|key| is_token(key))
            .map(|key| &**key))
        {
            let bearer = HeaderValue::from_str(&format!("Bearer {token}"));
            let mut bearer = bearer.map_err(|_| unsendable)?;
            bearer.set_sensitive(true);
            let slot = request.headers.entry(header::AUTHORIZATION);
            slot.or_insert(bearer);
        }
        request.default_header(HeaderName::from_static("x-client-info"), &client_info());
        Ok(request)
    }

    fn chosen_region(&self) -> Option<&str> {
        let region = self.region.as_ref().unwrap_or(&self.functions.region);
        region.chosen()
    }

    /// Names cannot lead out of the functions path.
    fn url(&self) -> Result<String, FunctionError> {
        let root = format!("{}/", self.functions.base.url.service("functions/v1"));
        let invalid = FunctionError::InvalidInput("this is no name of a function");
        let mut url = Url::parse(&format!("{root}{}", self.name)).map_err(|_| invalid.clone())?;
        url.set_fragment(None);
        let rest = url.as_str().strip_prefix(&root);
        let is_named = rest.is_some_and(|rest| !rest.is_empty() && !rest.starts_with(['/', '?']));
        if !is_named {
            return Err(invalid);
        }
        if let Some(region) = self.chosen_region() {
            let others: Vec<(String, String)> = url
                .query_pairs()
                .filter(|(name, _)| name != "forceFunctionRegion")
                .map(|(name, value)| (name.into_owned(), value.into_owned()))
                .collect();
            let mut query = url.query_pairs_mut();
            query.clear().extend_pairs(others);
            query.append_pair("forceFunctionRegion", region);
        }
        Ok(url.into())
    }
}

/// Legacy keys are JWTs. New ones are not, and functions that expect a JWT would reject them (R2).
fn is_token(key: &str) -> bool {
    !key.starts_with("sb_publishable_") && !key.starts_with("sb_secret_")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Client;

    fn url(name: &str) -> Option<String> {
        let client = Client::new("http://a.test/base", "k").unwrap();
        client.functions().invoke(name).url().ok()
    }

    #[test]
    fn names_may_have_a_path_and_a_query_behind_them() {
        let root = "http://a.test/base/functions/v1/";

        assert_eq!(url("hello"), Some(format!("{root}hello")));
        assert_eq!(url("tasks/7?x=1&y"), Some(format!("{root}tasks/7?x=1&y")));
        assert_eq!(url("a/../b"), Some(format!("{root}b")));
        assert_eq!(url("a#b"), Some(format!("{root}a")));
    }

    #[test]
    fn no_name_leads_elsewhere() {
        for name in [
            "",
            "/",
            "..",
            "../rest/v1/x",
            "a/../../x",
            "%2e%2e/x",
            "?a",
            "#a",
            "//b",
        ] {
            assert_eq!(url(name), None, "{name}");
        }
    }

    #[test]
    fn a_region_takes_the_place_of_another_in_the_query() {
        let client = Client::new("http://a.test", "k").unwrap();
        let functions = client.functions().region(Region::EuWest1);
        let url = |request: InvokeRequest| request.url().unwrap();

        assert_eq!(
            url(functions.invoke("f?forceFunctionRegion=x&a=1")),
            "http://a.test/functions/v1/f?a=1&forceFunctionRegion=eu-west-1"
        );
        assert_eq!(
            url(functions.invoke("f").region(Region::Any)),
            "http://a.test/functions/v1/f"
        );
        assert_eq!(
            url(functions
                .invoke("f")
                .region(Region::Other("m&n".to_owned()))),
            "http://a.test/functions/v1/f?forceFunctionRegion=m%26n"
        );
    }

    #[test]
    fn new_keys_are_no_tokens() {
        let bearer = |key: &str, token: Option<&str>| {
            let client = Client::new("http://a.test", key).unwrap();
            let request = client.functions().invoke("f").request(token).unwrap();
            let bearer = request.headers.get(header::AUTHORIZATION);
            bearer.map(|bearer| bearer.to_str().unwrap().to_owned())
        };

        assert_eq!(bearer("sb_publishable_x", None), None);
        assert_eq!(bearer("sb_secret_x", None), None);
        assert_eq!(bearer("eyJ.x.y", None).unwrap(), "Bearer eyJ.x.y");
        assert_eq!(bearer("sb_secret_x", Some("t")).unwrap(), "Bearer t");
    }
}
