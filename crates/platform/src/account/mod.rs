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

use axum::{
    Router,
    extract::{OriginalUri, Request, State},
    response::{IntoResponse, Response},
};
use http::{HeaderValue, Method, StatusCode, header};
use plinth_project::{NotServed, Project, PublicUrl};

use crate::Platform;
use config::AccountConfig;
use gate::Visitor;
use page::{PageKind, Site};

pub use assets::Assets;

/// Where the files of the pages are, below the pages.
const ASSETS: &str = "/_account/";

#[derive(Clone)]
struct Account {
    platform: Platform,
    assets: Assets,
}

/// The pages of all projects. What is no page of the project is [`NotServed`].
pub fn account_pages(platform: Platform, assets: Assets) -> Router {
    Router::new()
        .fallback(answer)
        .with_state(Account { platform, assets })
}

/// Whether a path on a host that names no project is a page of the default project. `mount` is
/// its `plinth.account.path`.
pub fn is_account_page(mount: &str, path: &str) -> bool {
    let Some(rest) = path.strip_prefix(mount.trim_end_matches('/')) else {
        return false;
    };
    rest.starts_with(ASSETS) || PageKind::of(rest).is_some_and(|kind| kind != PageKind::Root)
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
    let Some(rest) = path.strip_prefix(config.path.as_str()) else {
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
    let kind = kind.unwrap_or(PageKind::Root);
    let public_url = request.extensions().get::<PublicUrl>();
    let site = Site::new(&project, &config, public_url);
    // The one place that decides who may see a page. `crates/session` verifies and refreshes the
    // session; connect it in `gate::visitor`.
    let visitor = gate::visitor(&site.storage_key, request.headers());
    if let Some(target) = redirect(kind, visitor, &site.mount, &original) {
        return see_other(&target);
    }
    account.page(&project, &config, &site).await
}

impl Account {
    async fn page(&self, project: &Project, config: &AccountConfig, site: &Site) -> Response {
        let Some(template) = self.assets.page().await else {
            return page::not_built();
        };
        match self.platform.publishable_key(project.reference()).await {
            Ok(key) => page::render(&template, config, site, &key),
            Err(error) => error.into_response(),
        }
    }
}

/// Where somebody is sent instead of seeing the page.
fn redirect(kind: PageKind, visitor: Visitor, mount: &str, original: &http::Uri) -> Option<String> {
    match (kind, visitor) {
        (PageKind::Root, _) => Some(format!("{mount}/account")),
        (PageKind::User, Visitor::Guest) => {
            let target = original
                .path_and_query()
                .map_or("/", |target| target.as_str());
            let next: String = url::form_urlencoded::byte_serialize(target.as_bytes()).collect();
            Some(format!("{mount}/sign-in?next={next}"))
        }
        _ => None,
    }
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
    use http::Uri;

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
        check("/login", "/login", false);
        check("/login", "/sign-in", false);
    }

    #[test]
    fn guests_are_led_to_the_sign_in_page_and_back() {
        let at = Uri::from_static("/p/x/account/sessions?a=b&c");
        let check = |kind, visitor, expected: Option<&str>| {
            assert_eq!(redirect(kind, visitor, "/p/x", &at).as_deref(), expected);
        };
        check(
            PageKind::User,
            Visitor::Guest,
            Some("/p/x/sign-in?next=%2Fp%2Fx%2Faccount%2Fsessions%3Fa%3Db%26c"),
        );
        check(PageKind::User, Visitor::Unknown, None);
        check(PageKind::Open, Visitor::Guest, None);
        check(PageKind::Root, Visitor::Guest, Some("/p/x/account"));
    }
}
