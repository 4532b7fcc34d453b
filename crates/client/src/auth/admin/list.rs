//! `GET /admin/users`.

use serde::Deserialize;
use serde_json::value::RawValue;

use super::super::AuthError;
use super::super::api::{AuthApi, Call};
use crate::call_options::{CallOptions, with_call_options};
use crate::http::HttpResponse;
use crate::user::User;

/// Reading a page of users; see [`Users::list`](super::Users::list).
#[must_use = "nothing is sent before `send`"]
pub struct ListUsersRequest {
    api: AuthApi,
    paging: Paging,
    options: CallOptions,
}

/// Which page is asked for.
#[derive(Default)]
pub(super) struct Paging {
    pub(super) page: Option<u64>,
    pub(super) per_page: Option<u64>,
}

impl Paging {
    pub(super) fn of<'a>(&self, call: Call<'a>) -> Call<'a> {
        let text = |number: Option<u64>| number.map(|n| n.to_string()).unwrap_or_default();
        call.query("page", text(self.page))
            .query("per_page", text(self.per_page))
    }
}

with_call_options!(ListUsersRequest);

/// A page of users.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct UserPage {
    /// The users on it.
    pub users: Vec<User>,
    /// How many users there are on all pages.
    pub total: Option<u64>,
    /// The page after this one.
    pub next_page: Option<u64>,
    /// The last page.
    pub last_page: Option<u64>,
}

impl ListUsersRequest {
    pub(super) fn new(api: &AuthApi) -> Self {
        Self {
            api: api.clone(),
            paging: Paging::default(),
            options: CallOptions::default(),
        }
    }

    /// Which page, counted from 1.
    pub fn page(mut self, page: u64) -> Self {
        self.paging.page = Some(page);
        self
    }

    /// How many users a page has; the server's default is 50.
    pub fn per_page(mut self, users: u64) -> Self {
        self.paging.per_page = Some(users);
        self
    }

    /// Reads the page.
    pub async fn send(self) -> Result<UserPage, AuthError> {
        #[derive(Deserialize)]
        struct Page<'a> {
            #[serde(borrow)]
            users: Vec<&'a RawValue>,
        }

        let call = self.paging.of(Call::get("/admin/users"));
        let response = self.api.for_call(&self.options)?.response(call).await?;
        let page: Page<'_> =
            serde_json::from_slice(&response.body).map_err(|_| AuthError::unreadable())?;
        let users = page
            .users
            .iter()
            .filter_map(|user| User::from_json(user.get()))
            .collect();
        Ok(UserPage {
            users,
            total: total(&response),
            next_page: linked_page(&response, "next"),
            last_page: linked_page(&response, "last"),
        })
    }
}

/// How many rows all pages have.
pub(super) fn total(response: &HttpResponse) -> Option<u64> {
    response.header("x-total-count")?.parse().ok()
}

/// The page that the `Link` header names, as a whole number (S81).
pub(super) fn linked_page(response: &HttpResponse, relation: &str) -> Option<u64> {
    let links = response.header("link")?;
    let relation = format!("rel=\"{relation}\"");
    let link = links.split(',').find(|link| link.contains(&relation))?;
    let (_, rest) = link.split_once('<')?;
    let (url, _) = rest.split_once('>')?;
    let (_, query) = url.split_once('?')?;
    let mut pairs = url::form_urlencoded::parse(query.as_bytes());
    let (_, page) = pairs.find(|(name, _)| name == "page")?;
    page.parse().ok()
}

#[cfg(test)]
mod tests {
    use http::{HeaderMap, HeaderValue};

    use super::*;

    #[test]
    fn s81_pages_are_whole_numbers() {
        let mut headers = HeaderMap::new();
        let links =
            r#"</admin/users?page=12&per_page=5>; rel="next", </admin/users?page=345>; rel="last""#;
        headers.insert("link", HeaderValue::from_static(links));
        let response = HttpResponse {
            status: 200,
            headers,
            body: Default::default(),
        };

        assert_eq!(linked_page(&response, "next"), Some(12));
        assert_eq!(linked_page(&response, "last"), Some(345));
        assert_eq!(linked_page(&response, "first"), None);
    }
}
