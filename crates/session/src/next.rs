//! Redirect target after signing in (A34).

use url::Url;

const MAX_CHARS: usize = 2048;

/// Returns the target if it is safe, else `/`.
///
/// Safe is a path on this host, and an absolute URL only if exactly it is listed. Everything that browsers and
/// servers may interpret differently is rejected, not repaired.
///
/// ```
/// use plinth_session::checked_next;
///
/// assert_eq!(checked_next("/orders?page=2#top", &[]), "/orders?page=2#top");
/// assert_eq!(checked_next("//evil.example", &[]), "/");
/// assert_eq!(checked_next("https://evil.example", &[]), "/");
/// ```
pub fn checked_next<'a>(next: &'a str, listed: &[Url]) -> &'a str {
    if is_local_path(next) || is_listed(next, listed) {
        next
    } else {
        "/"
    }
}

fn is_listed(next: &str, listed: &[Url]) -> bool {
    has_only_plain_characters(next) && Url::parse(next).is_ok_and(|next| listed.contains(&next))
}

fn is_local_path(next: &str) -> bool {
    let mut chars = next.chars();
    if chars.next() != Some('/') || matches!(chars.next(), Some('/' | '\\')) {
        return false;
    }
    if !has_only_plain_characters(next) {
        return false;
    }
    // Any base host will do: a local path stays local for all of them.
    Url::parse("https://host.invalid/").is_ok_and(|own| {
        let resolved = own.join(next);
        resolved.is_ok_and(|resolved| resolved.origin() == own.origin())
    })
}

fn has_only_plain_characters(next: &str) -> bool {
    let is_plain = |char: char| !char.is_control() && char != '\\';
    next.chars().count() <= MAX_CHARS && next.chars().all(is_plain)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn paths_of_this_host_are_kept() {
        for path in [
            "/",
            "/a",
            "/a/b?c=//d#/e",
            "/?next=https://x",
            "/a:b@c",
            "/é",
            "/.//x",
        ] {
            assert_eq!(checked_next(path, &[]), path);
        }
    }

    #[test]
    fn everything_that_leads_elsewhere_is_rejected() {
        for elsewhere in [
            "",
            "a",
            "//evil.example",
            "/\\evil.example",
            "\\/evil.example",
            "///evil.example",
            "https://evil.example",
            "javascript:alert(1)",
            "/a\\b",
            "/a\nb",
            "/a\r\nb",
            "/\t/evil.example",
            "/\u{0}",
            "/\u{7f}",
            "/\u{85}",
            " /a",
            "@evil.example",
            "data:text/html,x",
            "?a",
            "#a",
        ] {
            assert_eq!(checked_next(elsewhere, &[]), "/", "{elsewhere:?}");
        }
    }

    #[test]
    fn length_is_limited() {
        let path = format!("/{}", "a".repeat(2047));
        assert_eq!(checked_next(&path, &[]), path);
        assert_eq!(checked_next(&format!("{path}a"), &[]), "/");
    }

    #[test]
    fn absolute_urls_pass_only_if_exactly_they_are_listed() {
        let listed = [Url::parse("https://app.example.com/in").unwrap()];

        assert_eq!(
            checked_next("https://app.example.com/in", &listed),
            "https://app.example.com/in"
        );
        for other in [
            "https://app.example.com/",
            "https://app.example.com/in?x",
            "http://app.example.com/in",
        ] {
            assert_eq!(checked_next(other, &listed), "/", "{other}");
        }
    }

    proptest! {
        #[test]
        fn whatever_is_kept_stays_on_the_host(next in "[/\\\\a-z.:@?#%\\t\\n ]{0,12}") {
            let own = Url::parse("https://app.example.com/x").unwrap();
            let cached = checked_next(&next, &[]);
            prop_assert_eq!(own.join(cached).unwrap().origin(), own.origin());
            prop_assert!(cached.starts_with('/') && !cached.starts_with("//"));
        }
    }
}
