//! URL of the account pages.

use crate::{ProjectKind, PublicUrl};

/// Path of the operators' pages (project zero's) on the instance's host.
pub const CONSOLE: &str = "/console";

/// The URL of a project's account pages, without a slash at its end. `path` is
/// `plinth.account.path`; operators' pages are at [`CONSOLE`].
pub fn account_pages_url(kind: ProjectKind, public_url: &PublicUrl, path: &str) -> String {
    let base = public_url.as_str();
    match kind {
        ProjectKind::Platform => {
            let by_path = base
                .rsplit_once("/p/")
                .filter(|(_, name)| !name.contains('/'));
            let instance = by_path.map_or(base, |(instance, _)| instance);
            format!("{instance}{CONSOLE}")
        }
        ProjectKind::Default | ProjectKind::Ordinary => {
            format!("{base}{}", path.trim_end_matches('/'))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operators_pages_are_on_the_instances_host() {
        let check = |kind, base, path, expected| {
            assert_eq!(
                account_pages_url(kind, &PublicUrl::new(base), path),
                expected
            );
        };
        check(ProjectKind::Default, "http://a", "/", "http://a");
        check(
            ProjectKind::Default,
            "http://a/p/default",
            "/login",
            "http://a/p/default/login",
        );
        check(
            ProjectKind::Platform,
            "http://a/p/platform",
            "/",
            "http://a/console",
        );
        check(
            ProjectKind::Platform,
            "http://a/base/p/platform",
            "/login",
            "http://a/base/console",
        );
        check(
            ProjectKind::Platform,
            "https://ref.a",
            "/",
            "https://ref.a/console",
        );
    }
}
