//! Projects below one host, as a browser meets them: cookies and headers that act on the whole origin.

use crate::{
    storage_check::storage,
    support::{Folder, Instance, rows},
};

/// Sets headers that would act on other projects, and returns the cookies that it received.
const HOSTILE: &str = "
create function probe() returns text language plpgsql as $$
begin
  perform set_config('response.headers', '[
    {\"Set-Cookie\": \"sb-platform-auth-token=evil; Path=/console\"},
    {\"Set-Cookie\": \"theme=dark\"},
    {\"Clear-Site-Data\": \"cookies\"},
    {\"Strict-Transport-Security\": \"max-age=1\"},
    {\"X-Own\": \"stays\"}]', true);
  return current_setting('request.cookies', true);
end $$;
grant execute on function probe to anon;
notify pgrst, 'reload schema';";

#[test]
fn one_project_sees_and_sets_no_session_of_another() {
    let folder = Folder::new();
    let server = Instance::start(&folder, &[]);
    let shop = server.cli_json(&["projects", "create", "shop"]);
    let text = |name: &str| shop[name].as_str().expect("a text").to_owned();
    let reference = text("PLINTH_REF");
    rows(&text("DB_URL"), HOSTILE);
    let cookies = format!(
        "a=1; sb-127-auth-token=default; sb-platform-auth-token=operator; \
         sb-{reference}-auth-token=own"
    );
    let http = server
        .http()
        .header("apikey", &text("PUBLISHABLE_KEY"))
        .header("Cookie", &cookies);

    let response = http.get(&format!("/p/{reference}/rest/v1/rpc/probe"));

    let response = response.expect_status(200);
    let seen = response.json();
    let seen = seen.as_str().expect("a text");
    assert!(seen.contains("own") && seen.contains("\"a\""), "{seen}");
    assert!(
        !seen.contains("operator") && !seen.contains("default"),
        "{seen}"
    );
    assert_eq!(response.header("set-cookie"), Some("theme=dark"));
    assert_eq!(response.header("x-own"), Some("stays"));
    assert_eq!(response.header("clear-site-data"), None);
    assert_eq!(response.header("strict-transport-security"), None);
    let logged = crate::support::eventually(
        std::time::Duration::from_secs(20),
        "the log says what was removed",
        || {
            let logs = server.cli(&["logs", "--ref", &reference, "-n", "100"]);
            Some(logs.expect_success().stdout).filter(|text| text.contains("headers removed"))
        },
    );
    assert!(!logged.contains("evil"), "{logged}");
}

/// Scripts in a stored file would run in the origin of the account pages, and read their sessions.
#[test]
fn stored_files_that_may_run_scripts_are_sandboxed() {
    let folder = Folder::new();
    let server = Instance::start(&folder, &[]);
    let http = storage(&server);
    let kinds = [
        ("text/xsl", true),
        ("text/rdf", true),
        ("multipart/x-mixed-replace; boundary=b", true),
        ("image/png; a=b, application/xhtml+xml", true),
        ("image/svg+xml", true),
        ("image/png", false),
        ("application/pdf", false),
    ];
    for (number, (kind, is_sandboxed)) in kinds.into_iter().enumerate() {
        let path = format!("/storage/v1/object/b/{number}");
        let stored = http.send_as("POST", &path, kind, "<script>1</script>");
        stored.expect("a response").expect_status(200);
        let signing = format!("/storage/v1/object/sign/b/{number}");
        let signed = http.post(&signing, "{\"expiresIn\":60}").expect_status(200);
        let signed = signed.json()["signedURL"]
            .as_str()
            .expect("a URL")
            .to_owned();

        for path in [
            format!("/storage/v1/object/public/b/{number}"),
            format!("/storage/v1{signed}"),
        ] {
            let served = server.http().get(&path).expect_status(200);
            let policies = served.all_headers("content-security-policy");
            let found = policies.iter().any(|policy| policy.starts_with("sandbox"));
            assert_eq!(found, is_sandboxed, "{kind} at {path}: {policies:?}");
        }
    }
}

#[test]
fn pages_below_a_path_keep_their_session_there() {
    let folder = Folder::new();
    let server = Instance::start(&folder, &[]);
    let shop = server.cli_json(&["projects", "create", "shop"]);
    let reference = shop["PLINTH_REF"].as_str().expect("a ref").to_owned();
    let settings = |path: &str| {
        let page = server.http().get(path).body;
        let (_, rest) = page.split_once("id=\"plinth-account\">")?;
        let (json, _) = rest.split_once("</script>")?;
        let settings: serde_json::Value = serde_json::from_str(json).expect("JSON");
        Some([
            settings["storageKey"].clone(),
            settings["cookiePath"].clone(),
            settings["otherProjects"].clone(),
        ])
    };
    let Some(default) = settings("/sign-in") else {
        return crate::support::skip("the web pages are not built");
    };

    assert_eq!(
        default,
        [
            "sb-127-auth-token".into(),
            "/".into(),
            serde_json::json!(["/p", "/console"])
        ]
    );
    let base = format!("/p/{reference}");
    let own = settings(&format!("{base}/sign-in")).expect("a page");
    assert_eq!(own[0], format!("sb-{reference}-auth-token"));
    assert_eq!(
        (own[1].as_str(), own[2].as_array().map(Vec::len)),
        (Some(&*base), Some(0))
    );
    let operators = settings("/console/sign-in").expect("a page");
    assert_eq!(operators[0], "sb-platform-auth-token");
    assert_eq!(operators[1], "/console");
}
