//! The account pages of a project: sign-up, sign-in, and everything about one's own account
//! (client contract §5).
//!
//! They are a web application of their own (`web/`), the same for every project. What is served
//! here is its one page, with the project's settings written into it, and the files that page
//! asks for. The pages talk to the auth service like any other client.

mod assets;
mod config;
mod gate;
mod page;

use std::{convert::Infallible, sync::Arc};

use axum::{
    Router,
    extract::{FromRequestParts, OriginalUri, Request, State},
    response::{IntoResponse, Response},
};
use http::{HeaderValue, Method, StatusCode, Uri, header, request::Parts};
use plinth_project::{CONSOLE, NotServed, Project, ProjectKind, PublicUrl};
use plinth_session::{SessionState, SessionWriter, path_without_secrets};
use tower::{Layer, ServiceExt, service_fn};

use crate::Platform;
use config::AccountConfig;
use gate::{Gate, Keeper, Visitor};
use page::{PageKind, Site};

pub use assets::Assets;

/// Where the files of the pages are, below the pages.
const ASSETS: &str = "/_account/";

#[derive(Clone)]
struct Account {
    platform: Platform,
    assets: Assets,
    gate: Gate,
}

/// The pages of all projects. What is no page of the project is [`NotServed`]. `auth` is the
/// router of the auth service, which knows whose session is still one.
pub fn account_pages(platform: Platform, assets: Assets, auth: Router) -> Router {
    let gate = Gate::new(auth);
    Router::new().fallback(answer).with_state(Account {
        platform,
        assets,
        gate,
    })
}

/// Whether a path on a host that names no project is a page of the default project. `mount` is
/// its `plinth.account.path`.
pub fn is_account_page(mount: &str, path: &str) -> bool {
    let mount = mount.trim_end_matches('/');
    let Some(rest) = below(mount, path) else {
        return false;
    };
    match PageKind::of(rest) {
        // The root of the host is the operator's.
        Some(PageKind::Root) => !mount.is_empty(),
        Some(_) => true,
        None => rest.starts_with(ASSETS),
    }
}

/// The part of a path below the pages' own, with the slash that it begins with: another path may
/// begin with the same letters.
fn below<'a>(mount: &str, path: &'a str) -> Option<&'a str> {
    let rest = path.strip_prefix(mount)?;
    (rest.is_empty() || rest.starts_with('/')).then_some(rest)
}

/// `GET` of a page or a file; the path is the project's.
async fn answer(
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
    let Some(rest) = below(mount, path) else {
        return not_served();
    };
    let file = rest.strip_prefix(ASSETS);
    let kind = PageKind::of(rest);
    if file.is_none() && kind.is_none() {
        return not_served();
    }
    if !matches!(*request.method(), Method::GET | Method::HEAD) {
        let allow = [(header::ALLOW, HeaderValue::from_static("GET, HEAD"))];
        return (StatusCode::METHOD_NOT_ALLOWED, allow).into_response();
    }
    if let Some(name) = file {
        return account.assets.answer(name, request.headers()).await;
    }
    let public_url = request.extensions().get::<PublicUrl>();
    let site = Site::new(&project, &config, public_url);
    let key = match account.platform.publishable_key(project.reference()).await {
        Ok(key) => key,
        Err(error) => return error.into_response(),
    };
    let page = Page {
        assets: account.assets,
        config,
        site,
        key,
    };
    match kind.unwrap_or(PageKind::Root) {
        PageKind::Root => see_other(&format!("{}/account", page.site.mount)),
        PageKind::Open => page.show().await,
        kind @ (PageKind::SecondStep | PageKind::User) => {
            let (site, key) = (&page.site, &page.key);
            match account.gate.keeper(&project, site, key, &request) {
                Ok(keeper) => page.show_to_user(kind, keeper, original, request).await,
                Err(error) => {
                    tracing::error!("sessions cannot be looked at: {error}");
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
}

impl Page {
    async fn show(&self) -> Response {
        match self.assets.page().await {
            Some(template) => page::render(&template, &self.config, &self.site, &self.key),
            None => page::not_built(),
        }
    }

    /// The one place that decides who is led to the sign-in page. Cookies that had to be refreshed
    /// or removed go with the answer, whichever it is.
    async fn show_to_user(
        self,
        kind: PageKind,
        keeper: Keeper,
        original: Uri,
        request: Request,
    ) -> Response {
        let layer = keeper.layer.clone();
        let inner = service_fn(move |request: Request| {
            let (page, keeper, original) = (self.clone(), keeper.clone(), original.clone());
            async move {
                let (mut parts, _) = request.into_parts();
                let state = match SessionState::from_request_parts(&mut parts, &()).await {
                    Ok(state) => state,
                    Err(rejection) => return Ok::<_, Infallible>(rejection.into_response()),
                };
                let visitor = keeper.visitor(&state, &parts.headers).await;
                if visitor == Visitor::Ended {
                    forget_session(&mut parts).await;
                }
                let mount = &page.site.mount;
                Ok(match (visitor, kind) {
                    (Visitor::Guest | Visitor::Ended, PageKind::SecondStep) => {
                        see_other(&first_step(mount, &original))
                    }
                    (Visitor::Guest | Visitor::Ended, _) => {
                        see_other(&lead_to(mount, "/sign-in", &original))
                    }
                    (Visitor::HalfWay, PageKind::User) => {
                        see_other(&lead_to(mount, "/sign-in/mfa", &original))
                    }
                    (Visitor::HalfWay | Visitor::Holder, _) => page.show().await,
                })
            }
        });
        match layer.layer(inner).oneshot(request).await {
            Ok(response) => response,
            Err(impossible) => match impossible {},
        }
    }
}

/// The pages would show what the cookies of an ended session say, until they hear that it ended.
async fn forget_session(parts: &mut Parts) {
    if let Ok(writer) = SessionWriter::from_request_parts(parts, &()).await {
        writer.clear();
    }
}

/// The step that is missing, which leads back to where somebody wanted to go.
fn lead_to(mount: &str, step: &str, original: &Uri) -> String {
    let target = path_without_secrets(original);
    let next: String = url::form_urlencoded::byte_serialize(target.as_bytes()).collect();
    format!("{mount}{step}?next={next}")
}

/// The sign-in page instead of the second step, with what that was asked for.
fn first_step(mount: &str, original: &Uri) -> String {
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

fn not_served() -> Response {
    let mut response = StatusCode::NOT_FOUND.into_response();
    response.extensions_mut().insert(NotServed);
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
    fn people_are_led_to_the_missing_step_and_back() {
        let at = Uri::from_static("/p/x/account/sessions?a=b&c");
        assert_eq!(
            lead_to("/p/x", "/sign-in", &at),
            "/p/x/sign-in?next=%2Fp%2Fx%2Faccount%2Fsessions%3Fa%3Db%26c"
        );
        let at = Uri::from_static("/sign-in/mfa?next=%2Fshop");
        assert_eq!(first_step("", &at), "/sign-in?next=%2Fshop");
        assert_eq!(
            first_step("", &Uri::from_static("/sign-in/mfa")),
            "/sign-in"
        );
    }

    #[test]
    fn a_one_time_secret_is_carried_no_further() {
        let at = Uri::from_static("/account?code=secret&tab=1");
        assert_eq!(
            lead_to("", "/sign-in", &at),
            "/sign-in?next=%2Faccount%3Ftab%3D1"
        );
        let at = Uri::from_static("/sign-in/mfa?token_hash=secret&next=%2Fshop");
        assert_eq!(first_step("", &at), "/sign-in?next=%2Fshop");
    }
}
