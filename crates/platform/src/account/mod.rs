//! The account pages of a project: sign-up, sign-in, and everything about one's own account
//! (client contract §5).
//!
//! They are a web application (`web/`), the same for every project. Served here are its one HTML
//! page, with the project's settings written into it, and its static files. The pages use the auth
//! service like any other client.

mod application;
mod assets;
mod config;
mod favicon;
mod language;
mod page;
mod visitor;

use std::{convert::Infallible, sync::Arc};

use axum::{
    Router,
    extract::{FromRequestParts, OriginalUri, Request, State},
    response::{IntoResponse, Response},
};
use http::{HeaderValue, Method, StatusCode, Uri, header, request::Parts};
use plinth_project::{CONSOLE, PathNotFound, Project, ProjectKind, PublicUrl};
use plinth_session::{SessionState, SessionWriter, path_without_secrets};
use tower::{Layer, ServiceExt, service_fn};

use crate::Platform;
use config::AccountConfig;
use page::{PageKind, PageRequest, Site};
use visitor::{SessionCheck, SessionChecks, Visitor};

pub use assets::Assets;

/// Path of the static files, below the mount path.
const ASSETS: &str = "/_account/";

#[derive(Clone)]
struct Account {
    platform: Platform,
    assets: Assets,
    session_checks: SessionChecks,
}

/// The pages of all projects. Paths that are no page get a [`PathNotFound`] response. `auth` is the
/// router of the auth service, which verifies sessions.
pub fn account_pages(platform: Platform, assets: Assets, auth: Router) -> Router {
    Router::new().fallback(serve_page).with_state(Account {
        platform,
        assets,
        session_checks: SessionChecks::new(auth),
    })
}

/// Whether a path on a host that names no project is a page of the default project. `mount` is
/// its `plinth.account.path`.
pub fn is_account_page(mount: &str, path: &str) -> bool {
    let mount = mount.trim_end_matches('/');
    let Some(rest) = strip_mount(mount, path) else {
        return false;
    };
    match PageKind::from_path(rest) {
        // The root of the host is the operator's.
        Some(PageKind::Root) => !mount.is_empty(),
        Some(_) => true,
        None => rest.starts_with(ASSETS),
    }
}

/// The rest of a path below the mount path, empty or with its leading slash.
fn strip_mount<'a>(mount: &str, path: &'a str) -> Option<&'a str> {
    let rest = path.strip_prefix(mount)?;
    (rest.is_empty() || rest.starts_with('/')).then_some(rest)
}

/// `GET` of a page or a static file; the path is the one below the project.
async fn serve_page(
    State(account): State<Account>,
    project: Project,
    OriginalUri(original): OriginalUri,
    request: Request,
) -> Response {
    let config = project.config::<AccountConfig>();
    let path = request.uri().path();
    let mount = match project.kind() {
        ProjectKind::Platform => CONSOLE,
        ProjectKind::Default | ProjectKind::Ordinary => &config.path,
    };
    let Some(rest) = strip_mount(mount, path) else {
        return path_not_found();
    };
    let file = rest.strip_prefix(ASSETS);
    let kind = PageKind::from_path(rest);
    if file.is_none() && kind.is_none() {
        return path_not_found();
    }
    if !matches!(*request.method(), Method::GET | Method::HEAD) {
        let allow = [(header::ALLOW, HeaderValue::from_static("GET, HEAD"))];
        return (StatusCode::METHOD_NOT_ALLOWED, allow).into_response();
    }
    if let Some(name) = file {
        return account.assets.serve(name, request.headers()).await;
    }
    let public_url = request.extensions().get::<PublicUrl>();
    let site = Site::new(&project, &config, public_url);
    let page_request = PageRequest {
        language: language::choose(request.headers(), &config.page.languages).to_owned(),
        next: config
            .application
            .next(project.kind(), &site.project_url, request.uri()),
        application: config.application.site(project.kind()).map(str::to_owned),
    };
    let key = match account.platform.publishable_key(project.reference()).await {
        Ok(Some(key)) => key,
        Ok(None) => return page::without_key(),
        Err(error) => return error.into_response(),
    };
    let page = Page {
        assets: account.assets,
        config,
        site,
        key,
        request: page_request,
    };
    match kind.unwrap_or(PageKind::Root) {
        PageKind::Root => see_other(&format!("{}/account", page.site.mount)),
        PageKind::Public => page.render().await,
        kind @ (PageKind::SecondFactor | PageKind::SignedIn) => {
            let (site, key) = (&page.site, &page.key);
            let check = account
                .session_checks
                .for_request(&project, site, key, &request);
            match check {
                Ok(check) => page.render_for_user(kind, check, original, request).await,
                Err(error) => {
                    tracing::error!("sessions cannot be checked: {error}");
                    StatusCode::INTERNAL_SERVER_ERROR.into_response()
                }
            }
        }
    }
}

/// The page for one project.
#[derive(Clone)]
struct Page {
    assets: Assets,
    config: Arc<AccountConfig>,
    site: Site,
    key: String,
    request: PageRequest,
}

impl Page {
    async fn render(&self) -> Response {
        match self.assets.page().await {
            Some(template) => page::render(
                &template,
                &self.config,
                &self.site,
                &self.key,
                &self.request,
            ),
            None => page::not_built(),
        }
    }

    /// The only place that decides about redirects to the sign-in page. The response sets or removes
    /// session cookies where necessary.
    async fn render_for_user(
        self,
        kind: PageKind,
        check: SessionCheck,
        original: Uri,
        request: Request,
    ) -> Response {
        let layer = check.layer.clone();
        let inner = service_fn(move |request: Request| {
            let (page, check, original) = (self.clone(), check.clone(), original.clone());
            async move {
                let (mut parts, _) = request.into_parts();
                let state = match SessionState::from_request_parts(&mut parts, &()).await {
                    Ok(state) => state,
                    Err(rejection) => return Ok::<_, Infallible>(rejection.into_response()),
                };
                let visitor = check.visitor(&state, &parts.headers).await;
                if visitor == Visitor::SessionEnded {
                    clear_session(&mut parts).await;
                }
                let mount = &page.site.mount;
                Ok(match (visitor, kind) {
                    (Visitor::Anonymous | Visitor::SessionEnded, PageKind::SecondFactor) => {
                        see_other(&sign_in_url(mount, &original))
                    }
                    (Visitor::Anonymous | Visitor::SessionEnded, _) => {
                        see_other(&url_with_next(mount, "/sign-in", &original))
                    }
                    (Visitor::MfaPending, PageKind::SignedIn) => {
                        see_other(&url_with_next(mount, "/sign-in/mfa", &original))
                    }
                    (Visitor::MfaPending | Visitor::SignedIn, _) => page.render().await,
                })
            }
        });
        match layer.layer(inner).oneshot(request).await {
            Ok(response) => response,
            Err(impossible) => match impossible {},
        }
    }
}

/// Removes the cookies, because the pages would show the account of an ended session.
async fn clear_session(parts: &mut Parts) {
    if let Ok(writer) = SessionWriter::from_request_parts(parts, &()).await {
        writer.clear();
    }
}

/// A sign-in step with the original target as `next`.
fn url_with_next(mount: &str, step: &str, original: &Uri) -> String {
    let target = path_without_secrets(original);
    let next: String = url::form_urlencoded::byte_serialize(target.as_bytes()).collect();
    format!("{mount}{step}?next={next}")
}

/// The sign-in page instead of the second factor, with the same query.
fn sign_in_url(mount: &str, original: &Uri) -> String {
    let target = path_without_secrets(original);
    let query = target.find('?').map_or("", |at| &target[at..]);
    format!("{mount}/sign-in{query}")
}

fn see_other(target: &str) -> Response {
    let Ok(location) = HeaderValue::from_str(target) else {
        return StatusCode::BAD_REQUEST.into_response();
    };
    let headers = [
        (header::LOCATION, location),
        (header::CACHE_CONTROL, HeaderValue::from_static("no-store")),
        (header::VARY, HeaderValue::from_static("Cookie")),
    ];
    (StatusCode::SEE_OTHER, headers).into_response()
}

fn path_not_found() -> Response {
    let mut response = StatusCode::NOT_FOUND.into_response();
    response.extensions_mut().insert(PathNotFound);
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_known_by_their_path() {
        let check = |mount, path, expected| {
            assert_eq!(is_account_page(mount, path), expected, "{mount} {path}");
        };
        check("/", "/sign-in", true);
        check("/", "/sign-in/code", true);
        check("/", "/account/security/totp/new", true);
        check("/", "/_account/assets/index.js", true);
        check("/", "/", false);
        check("/", "/sign-in-x", false);
        check("/", "/v1/projects", false);
        check("/login", "/login/sign-in", true);
        check("/login", "/login", true);
        check("/login", "/login/", true);
        check("/login", "/login/_account/assets/index.js", true);
        check("/login", "/sign-in", false);
        check("/login", "/loginsign-in", false);
        check("/login", "/loginaccount", false);
        check("/login", "/login_account/assets/index.js", false);
    }

    #[test]
    fn redirects_lead_to_the_missing_step_and_back() {
        let at = Uri::from_static("/p/x/account/sessions?a=b&c");
        assert_eq!(
            url_with_next("/p/x", "/sign-in", &at),
            "/p/x/sign-in?next=%2Fp%2Fx%2Faccount%2Fsessions%3Fa%3Db%26c"
        );
        let at = Uri::from_static("/sign-in/mfa?next=%2Fshop");
        assert_eq!(sign_in_url("", &at), "/sign-in?next=%2Fshop");
        assert_eq!(
            sign_in_url("", &Uri::from_static("/sign-in/mfa")),
            "/sign-in"
        );
    }

    #[test]
    fn one_time_secrets_are_not_passed_on() {
        let at = Uri::from_static("/account?code=secret&tab=1");
        assert_eq!(
            url_with_next("", "/sign-in", &at),
            "/sign-in?next=%2Faccount%3Ftab%3D1"
        );
        let at = Uri::from_static("/sign-in/mfa?token_hash=secret&next=%2Fshop");
        assert_eq!(sign_in_url("", &at), "/sign-in?next=%2Fshop");
    }
}
