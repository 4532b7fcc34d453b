//! Calls of services past the edge, for operators (console contract §2.8, service proxy).
//!
//! The same routers, limits of time and sandbox as for requests from outside; but project and
//! credentials are given, and the response is for the instance's own origin. So nothing in it may set
//! cookies there, speak for the origin, or let other origins read it.

mod websocket;

use std::time::Duration;

use axum::{
    extract::{DefaultBodyLimit, OriginalUri},
    response::Response,
};
use http::{
    Extensions, HeaderMap, HeaderName, Request, StatusCode, Uri, header::SET_COOKIE,
    uri::PathAndQuery,
};
use hyper::upgrade::OnUpgrade;
use plinth_project::{
    BodyLimit, BoxFuture, ClientAddress, LocalAddress, RequestId, ServiceCall, ServiceCalls,
};
use tokio::time::interval;

use crate::{
    Mounts,
    mounts::{Mount, ResponseTimeout},
    routing::call_router,
    sandbox,
    shared_origin::is_origin_wide,
};

/// How often a call of a service without a time limit shows that it is still working.
const SIGN_OF_LIFE: Duration = Duration::from_secs(1);

/// Calls of the mounted services.
pub struct InternalCalls {
    services: Vec<Mount>,
}

impl InternalCalls {
    /// Of the services that are mounted so far.
    pub fn new(mounts: &Mounts) -> Self {
        Self {
            services: mounts.services().to_vec(),
        }
    }

    async fn respond(&self, call: ServiceCall) -> Option<Response> {
        let prefix = call.service.prefix();
        let mount = self.services.iter().find(|mount| mount.prefix == prefix)?;
        let ServiceCall {
            project,
            request,
            credentials,
            public_url,
            ended,
            ..
        } = call;
        let (mut parts, body) = request.into_parts();
        let mut extensions = of_the_edge(&mut parts.extensions);
        let client = parts.extensions.remove::<OnUpgrade>();
        let limit = extensions.get_or_insert_with(|| BodyLimit::new(u64::MAX));
        let limit = limit.clone();
        extensions.insert(OriginalUri(below(prefix, &parts.uri)));
        extensions.insert(project);
        extensions.insert(credentials.caller());
        extensions.insert(credentials);
        extensions.insert(public_url);
        parts.extensions = extensions;
        let mut request = Request::from_parts(parts, body);
        DefaultBodyLimit::disable().apply(&mut request);

        let work = async {
            match client.filter(|_| websocket::is_requested(request.headers())) {
                Some(client) => websocket::call(&mount.router, request, client, ended).await,
                None => call_router(&mount.router, request).await,
            }
        };
        let mut response = match mount.timeout {
            ResponseTimeout::Configured => work.await,
            ResponseTimeout::Own(_) => with_signs_of_life(&limit, work).await,
        };
        filter_response(response.headers_mut());
        if response.status() != StatusCode::SWITCHING_PROTOCOLS {
            sandbox::apply(&mut response);
        }
        Some(response)
    }
}

impl ServiceCalls for InternalCalls {
    fn call(&self, call: ServiceCall) -> BoxFuture<'_, Option<Response>> {
        Box::pin(self.respond(call))
    }
}

/// What the edge found out about the outer request. Other extensions belong to the router that the
/// request came through, such as the parameters of its path.
fn of_the_edge(outer: &mut Extensions) -> Extensions {
    fn move_over<T: Clone + Send + Sync + 'static>(from: &mut Extensions, to: &mut Extensions) {
        if let Some(value) = from.remove::<T>() {
            to.insert(value);
        }
    }
    let mut kept = Extensions::new();
    move_over::<RequestId>(outer, &mut kept);
    move_over::<ClientAddress>(outer, &mut kept);
    move_over::<LocalAddress>(outer, &mut kept);
    move_over::<BodyLimit>(outer, &mut kept);
    kept
}

/// The target as if it had come to the project's own host.
fn below(prefix: &str, uri: &Uri) -> Uri {
    let target = uri.path_and_query().map_or("/", PathAndQuery::as_str);
    format!("{prefix}{target}").parse().unwrap_or_default()
}

/// Waits for a service that has limits of its own; the limit of the outer request counts from the last
/// activity.
async fn with_signs_of_life<T>(limit: &BodyLimit, work: impl Future<Output = T>) -> T {
    let mut work = std::pin::pin!(work);
    let mut ticks = interval(SIGN_OF_LIFE);
    loop {
        tokio::select! {
            biased;
            output = &mut work => return output,
            _ = ticks.tick() => limit.note_activity(),
        }
    }
}

/// Removes what is for the project's own origin and must not act on this one.
fn filter_response(headers: &mut HeaderMap) {
    let is_foreign = |name: &str| {
        name == SET_COOKIE.as_str() || name.starts_with("access-control-") || is_origin_wide(name)
    };
    let names = headers.keys().filter(|name| is_foreign(name.as_str()));
    let names: Vec<HeaderName> = names.cloned().collect();
    for name in names {
        headers.remove(name);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_speaks_for_the_origin() {
        let mut headers = HeaderMap::new();
        for name in [
            "set-cookie",
            "access-control-allow-origin",
            "access-control-expose-headers",
            "clear-site-data",
            "strict-transport-security",
            "service-worker-allowed",
            "content-type",
            "upload-offset",
            "location",
        ] {
            headers.append(name, http::HeaderValue::from_static("x"));
        }

        filter_response(&mut headers);

        let mut left: Vec<&str> = headers.keys().map(HeaderName::as_str).collect();
        left.sort_unstable();
        assert_eq!(left, ["content-type", "location", "upload-offset"]);
    }

    #[test]
    fn services_see_the_path_of_the_project() {
        let check = |uri: &'static str, expected: &str| {
            assert_eq!(below("/rest/v1", &Uri::from_static(uri)), expected);
        };
        check("/films?id=eq.1", "/rest/v1/films?id=eq.1");
        check("/", "/rest/v1/");
    }
}
