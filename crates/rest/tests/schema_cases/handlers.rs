//! Domain representations and media handlers.

use super::cache;

#[tokio::test]
async fn implicit_casts_of_domains_are_representations() {
    let cache = cache().await;
    let check = |source: &str, target: &str, expected: Option<&str>| {
        let found = cache.representation(source, target);
        let function = found.map(|representation| &*representation.function);
        assert_eq!(function, expected, "{source} to {target}");
    };
    check("api.color", "json", Some("api.color_to_json"));
    check("text", "api.color", Some("api.color_from_text"));
    // An assignment cast, and a function that this role may not call.
    check("api.color", "text", None);
    check("json", "api.color", None);
    assert_eq!(cache.counts().representations, 2);
}

#[tokio::test]
async fn media_handlers_belong_to_relations_functions_or_all() {
    let cache = cache().await;
    let check = |target: Option<(&str, &str)>, media_type: &str, expected: Option<(&str, &str)>| {
        let found = cache.media_handler(target, media_type);
        let seen = found.map(|handler| (&*handler.function.name, &*handler.response_type));
        assert_eq!(seen, expected, "{target:?} {media_type}");
    };
    let api = |name| Some(("api", name));
    check(
        api("clients"),
        "text/vnd.tsv",
        Some(("clients_tsv", "text/vnd.tsv")),
    );
    check(None, "text/vnd.tsv", Some(("any_tsv", "text/vnd.tsv")));
    check(api("projects"), "text/vnd.tsv", None);
    check(
        api("shout"),
        "application/x-shout",
        Some(("Application/X-Shout", "Application/X-Shout")),
    );
    check(api("raw"), "*/*", Some(("*/*", "application/octet-stream")));
    check(api("raws"), "*/*", None);
    check(None, "application/json", None);
}
