//! What the gateway of the full server adds to requests.

use std::net::{IpAddr, Ipv4Addr};

use axum::{Extension, Router, extract::Request, middleware::map_request};
use plinth_project::{ClientAddress, Credentials, Project};

/// Gives every request the project, its credentials as of `now` in seconds since 1970, and a client on
/// this machine.
pub fn behind_gateway(
    router: Router,
    project: &Project,
    now: impl Fn() -> i64 + Clone + Send + Sync + 'static,
) -> Router {
    let gateway = project.clone();
    let add = move |mut request: Request| {
        let credentials = Credentials::read(&gateway, request.headers(), None, now());
        let ip = IpAddr::from(Ipv4Addr::LOCALHOST);
        request.extensions_mut().insert(credentials);
        request.extensions_mut().insert(ClientAddress {
            ip,
            peer: ip,
            is_forwarded: false,
        });
        async { request }
    };
    router
        .layer(map_request(add))
        .layer(Extension(project.clone()))
}
