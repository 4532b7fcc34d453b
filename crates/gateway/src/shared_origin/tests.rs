use super::*;

const REF: &str = "abcdefghijklmnopqrst";
const HOST: &str = "plinth.example";

/// One way of reaching a project.
struct Reached {
    addressed: Addressed<'static>,
    kind: ProjectKind,
    public_url: &'static str,
    host: &'static str,
}

const SHOP: Reached = Reached {
    addressed: Addressed::Path(REF),
    kind: ProjectKind::Ordinary,
    public_url: "http://plinth.example/p/abcdefghijklmnopqrst",
    host: HOST,
};
const DEFAULT: Reached = Reached {
    addressed: Addressed::Bare,
    kind: ProjectKind::Default,
    public_url: "http://plinth.example",
    host: HOST,
};
const ZERO: Reached = Reached {
    addressed: Addressed::Path("platform"),
    kind: ProjectKind::Platform,
    public_url: "http://plinth.example/p/platform",
    host: HOST,
};
const OWN_HOST: Reached = Reached {
    addressed: Addressed::Host,
    kind: ProjectKind::Ordinary,
    public_url: "http://abcdefghijklmnopqrst.plinth.example",
    host: "abcdefghijklmnopqrst.plinth.example",
};

impl Reached {
    fn with<T>(&self, run: impl FnOnce(&ProjectOrigin<'_>) -> T) -> T {
        let public_url = PublicUrl::new(self.public_url);
        let reference = REF.parse().expect("a ref");
        run(&ProjectOrigin {
            addressed: self.addressed,
            kind: self.kind,
            reference: &reference,
            public_url: &public_url,
            host: self.host,
            domain: Some(HOST),
            instance_host: Some("admin.example.com"),
        })
    }

    fn cookies(&self, lines: &[&str], is_page: bool) -> Vec<String> {
        let mut headers = HeaderMap::new();
        for line in lines {
            headers.append(COOKIE, line.parse().expect("a value"));
        }
        self.with(|origin| origin.filter_request(&mut headers, is_page));
        let left = headers.get_all(COOKIE).iter();
        left.map(|line| String::from_utf8_lossy(line.as_bytes()).into_owned())
            .collect()
    }

    fn may_set(&self, line: &str) -> bool {
        let mut headers = HeaderMap::new();
        headers.append(SET_COOKIE, line.parse().expect("a value"));
        self.with(|origin| origin.filter_response(&mut headers));
        headers.contains_key(SET_COOKIE)
    }
}

const ALL: &str = "theme=dark; sb-plinth-auth-token.0=a; sb-plinth-auth-token-code-verifier=v; \
    sb-abcdefghijklmnopqrst-auth-token=b; sb-platform-auth-token=c; SB-other=d; sb-bare; x=sb-1";

#[test]
fn a_service_sees_only_its_projects_session() {
    let shop = "theme=dark; sb-abcdefghijklmnopqrst-auth-token=b; x=sb-1";
    let default = "theme=dark; sb-plinth-auth-token.0=a; sb-plinth-auth-token-code-verifier=v; \
        x=sb-1";
    assert_eq!(SHOP.cookies(&[ALL], false), [shop]);
    assert_eq!(DEFAULT.cookies(&[ALL], false), [default]);
    assert_eq!(ZERO.cookies(&[ALL], false), ["theme=dark; x=sb-1"]);
    assert_eq!(OWN_HOST.cookies(&[ALL], false), [ALL]);
}

#[test]
fn our_own_pages_see_their_own_session() {
    let zero = "theme=dark; sb-platform-auth-token=c; x=sb-1";
    assert_eq!(ZERO.cookies(&[ALL], true), [zero]);
    let shop = "theme=dark; sb-abcdefghijklmnopqrst-auth-token=b; x=sb-1";
    assert_eq!(SHOP.cookies(&[ALL], true), [shop]);
}

#[test]
fn lines_without_session_cookies_stay_as_they_are() {
    for line in ["", "a=b;c=d", " a = b ;", "\u{e9}=1"] {
        assert_eq!(SHOP.cookies(&[line], false), [line]);
    }
    let lines = ["a=b", "sb-platform-auth-token=x", "sb-y=z;c=d"];
    assert_eq!(SHOP.cookies(&lines, false), ["a=b", "c=d"]);
}

/// A name that only begins like the project's is another's.
#[test]
fn names_are_compared_as_a_whole() {
    let line = "sb-abcdefghijklmnopqrst-auth-tokenx=1; sb-abcdefghijklmnopqrst=2";
    assert!(SHOP.cookies(&[line], false).is_empty());
}

#[test]
fn applications_on_a_host_that_is_not_known_as_ours_keep_their_cookie() {
    let reached = Reached {
        public_url: "http://192.0.2.1:54321",
        host: "App.Example",
        ..DEFAULT
    };
    let line = "sb-app-auth-token=1; sb-192-auth-token=2";
    assert_eq!(reached.cookies(&[line], false), [line]);
}

#[test]
fn a_project_sets_cookies_below_its_own_path_only() {
    for (line, expected) in [
        ("a=b", true),
        ("a=b; Path=/p/abcdefghijklmnopqrst", true),
        ("a=b; path = /p/abcdefghijklmnopqrst/x ; HttpOnly", true),
        (
            "sb-abcdefghijklmnopqrst-auth-token=x; Path=/p/abcdefghijklmnopqrst",
            true,
        ),
        ("sb-abcdefghijklmnopqrst-auth-token=x; Path=/", false),
        ("a=b; Path=/", false),
        ("a=b; Path=/p/abcdefghijklmnopqrstu", false),
        ("a=b; Path=/p/abcdefghijklmnopqrst; Path=/", false),
        // Browsers ignore this one.
        ("a=b; Path=p/other", true),
        ("sb-platform-auth-token=evil", false),
        ("Sb-plinth-auth-token.0=evil", false),
        ("=sb-platform-auth-token=evil", false),
        ("sb-platform-auth-token", false),
        ("", false),
    ] {
        assert_eq!(SHOP.may_set(line), expected, "{line}");
    }
}

#[test]
fn the_default_project_has_the_paths_that_no_other_has() {
    for (line, expected) in [
        ("a=b; Path=/", true),
        ("a=b; Path=/functions/v1/x", true),
        ("sb-plinth-auth-token=x; Path=/", true),
        ("a=b; Path=/p/abcdefghijklmnopqrst", false),
        ("a=b; Path=/p", false),
        ("a=b; Path=/console", false),
        ("a=b; Path=/console/", false),
        ("a=b; Path=/consoles", true),
        ("sb-platform-auth-token=x; Path=/", false),
    ] {
        assert_eq!(DEFAULT.may_set(line), expected, "{line}");
    }
}

#[test]
fn no_cookie_reaches_the_hosts_of_other_projects() {
    for (line, expected) in [
        ("sb-platform-auth-token=x; Path=/", true),
        ("a=b; Domain=abcdefghijklmnopqrst.plinth.example", true),
        ("a=b; Domain=", true),
        ("a=b; Domain=plinth.example", false),
        ("a=b; domain=.Plinth.Example; Path=/console", false),
        ("a=b; Domain=example", false),
        // The instance has its own host there.
        ("a=b; Domain=example.com", false),
        ("a=b; Domain=shop.example.com", true),
    ] {
        assert_eq!(OWN_HOST.may_set(line), expected, "{line}");
    }
    assert!(!DEFAULT.may_set("a=b; Domain=plinth.example"));
}

#[test]
fn headers_about_the_whole_origin_are_removed_where_it_is_shared() {
    let removed = |reached: &Reached| {
        let mut headers = HeaderMap::new();
        for (name, value) in [
            ("clear-site-data", "\"cookies\""),
            ("strict-transport-security", "max-age=1"),
            ("service-worker-allowed", "/"),
            ("nel", "{}"),
            ("content-type", "text/plain"),
        ] {
            headers.append(name, HeaderValue::from_static(value));
        }
        headers.append(SET_COOKIE, HeaderValue::from_static("a=b; Path=/console"));
        headers.append(SET_COOKIE, HeaderValue::from_static("c=d"));
        let removed = reached.with(|origin| origin.filter_response(&mut headers));
        let removed: Vec<_> = removed.iter().map(|name| name.to_string()).collect();
        (removed.join(" "), headers.len())
    };

    let all = "clear-site-data strict-transport-security service-worker-allowed nel set-cookie";
    assert_eq!(removed(&SHOP), (all.to_owned(), 2));
    assert_eq!(removed(&DEFAULT), (all.to_owned(), 2));
    // It would clear the cookies of all hosts below the domain.
    assert_eq!(removed(&OWN_HOST), ("clear-site-data".to_owned(), 6));
}
