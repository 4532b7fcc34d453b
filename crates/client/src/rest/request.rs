//! Builds the HTTP request of a query. Nothing is sent here.

use http::{HeaderName, HeaderValue, Method, header};

use super::RestError;
use super::query::{Clause, Query};
use crate::auth::url_segment;
use crate::http::{Outgoing, client_info};

/// Longer URLs may be rejected by servers and proxies.
const LONG_URL: usize = 8000;

impl Query {
    /// The request with this access token.
    pub(super) fn request(&self, token: Option<&str>) -> Result<Outgoing, RestError> {
        if let Some(mistake) = &self.mistake {
            return Err(mistake.clone());
        }
        let unsendable = || RestError::local("a header cannot be sent as given");
        if self.options.is_unsendable {
            return Err(unsendable());
        }
        let base = &self.context.base;
        let mut request = Outgoing::new(self.method.clone(), self.url());
        request.headers = base.headers.clone();
        for (name, value) in &self.options.headers {
            request.headers.insert(name, value.clone());
        }
        request.default_key(&base.key);
        let bearer = format!("Bearer {}", token.unwrap_or(&base.key));
        let mut bearer = HeaderValue::from_str(&bearer).map_err(|_| unsendable())?;
        bearer.set_sensitive(true);
        request
            .headers
            .entry(header::AUTHORIZATION)
            .or_insert(bearer);
        request.default_header(HeaderName::from_static("x-client-info"), &client_info());
        request.default_header(header::ACCEPT, self.form.media_type());
        if let Some(schema) = &self.context.schema {
            let name = if self.is_read() {
                HeaderName::from_static("accept-profile")
            } else {
                HeaderName::from_static("content-profile")
            };
            request.default_header(name, schema);
        }
        if !self.prefer.is_empty() {
            self.add_preferences(&mut request)?;
        }
        if let Some(body) = &self.body {
            request.default_header(header::CONTENT_TYPE, "application/json");
            request.body = body.clone().into();
        }
        request.timeout = self.effective_timeout();
        Ok(request)
    }

    pub(super) fn is_read(&self) -> bool {
        matches!(self.method, Method::GET | Method::HEAD)
    }

    /// Merges them with those of the caller's header.
    fn add_preferences(&self, request: &mut Outgoing) -> Result<(), RestError> {
        let name = HeaderName::from_static("prefer");
        let given = request
            .headers
            .get(&name)
            .and_then(|value| value.to_str().ok());
        let all: Vec<&str> = given
            .into_iter()
            .chain(self.prefer.iter().map(String::as_str))
            .collect();
        let value = HeaderValue::from_str(&all.join(","))
            .map_err(|_| RestError::local("a preference cannot be sent as given"))?;
        request.headers.insert(name, value);
        Ok(())
    }

    fn url(&self) -> String {
        let path: Vec<String> = self.path.split('/').map(url_segment).collect();
        let mut url = format!(
            "{}/{}",
            self.context.base.url.service("rest/v1"),
            path.join("/")
        );
        for (at, (name, value)) in self.all_params().iter().enumerate() {
            url.push(if at == 0 { '?' } else { '&' });
            url.push_str(&url_segment(name));
            url.push('=');
            url.push_str(&url_segment(value));
        }
        if url.len() > LONG_URL {
            tracing::warn!(
                length = url.len(),
                "the query's URL is long; servers may reject it. Select fewer columns, or call a \
                 function with the values in its body"
            );
        }
        url
    }

    /// Parameters as given, then order, limits and alternatives.
    fn all_params(&self) -> Vec<(String, String)> {
        let mut params = self.params.clone();
        for clause in &self.clauses {
            match clause {
                Clause::Order {
                    column,
                    is_descending,
                    nulls,
                    on,
                } => {
                    let direction = if *is_descending { "desc" } else { "asc" };
                    let nulls = nulls.map(|nulls| format!(".{nulls}")).unwrap_or_default();
                    let term = format!("{column}.{direction}{nulls}");
                    let name = on_table(on.as_deref(), "order");
                    // One parameter holds all orders of a table.
                    match params.iter_mut().find(|(known, _)| *known == name) {
                        Some((_, terms)) => *terms = format!("{terms},{term}"),
                        None => params.push((name, term)),
                    }
                }
                Clause::Limit { rows, on } => set(&mut params, on, "limit", *rows),
                Clause::Range { from, rows, on } => {
                    set(&mut params, on, "offset", *from);
                    set(&mut params, on, "limit", *rows);
                }
                Clause::Or { filters, on } => {
                    params.push((on_table(on.as_deref(), "or"), format!("({filters})")));
                }
                Clause::TextSearch {
                    column,
                    query,
                    operator,
                    config,
                } => {
                    let config = config.as_ref().map(|name| format!("({name})"));
                    let value = format!("{operator}{}.{query}", config.unwrap_or_default());
                    params.push((column.clone(), value));
                }
            }
        }
        params
    }
}

fn on_table(table: Option<&str>, name: &str) -> String {
    match table {
        Some(table) => format!("{table}.{name}"),
        None => name.to_owned(),
    }
}

/// The last limit counts.
fn set(params: &mut Vec<(String, String)>, on: &Option<String>, name: &str, value: u64) {
    let name = on_table(on.as_deref(), name);
    params.retain(|(known, _)| *known != name);
    params.push((name, value.to_string()));
}
