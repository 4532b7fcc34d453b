//! The route of a request: its path without what differs between requests to the same thing.

const MAX_SEGMENTS: usize = 4;
const MAX_SEGMENT_BYTES: usize = 40;
/// Where routes are given up.
pub(super) const OTHER: &str = "other";

/// `/rest/v1/orders?id=eq.1` is `/rest/v1/orders`; ids, refs and long segments become `{id}`, and what is
/// deeper than four segments `*`.
pub(super) fn route_of(target: &str) -> String {
    let path = target.split(['?', '#']).next().unwrap_or_default();
    let mut segments = path.split('/').filter(|segment| !segment.is_empty());
    let mut segments: Vec<&str> = segments.by_ref().collect();
    // The project is known.
    if segments.first() == Some(&"p") && segments.len() > 1 {
        segments.drain(..2);
    }
    let mut route = String::new();
    for segment in segments.iter().take(MAX_SEGMENTS) {
        route.push('/');
        route.push_str(if is_id(segment) { "{id}" } else { segment });
    }
    if segments.len() > MAX_SEGMENTS {
        route.push_str("/*");
    }
    if route.is_empty() {
        "/".to_owned()
    } else {
        route
    }
}

fn is_id(segment: &str) -> bool {
    let digits = segment.bytes().filter(u8::is_ascii_digit).count();
    let is_number = digits == segment.len();
    let is_ref = segment.len() == 20 && segment.bytes().all(|byte| byte.is_ascii_lowercase());
    let is_uuid = segment.len() == 36 && segment.bytes().filter(|byte| *byte == b'-').count() == 4;
    let is_plain = segment.bytes().all(|byte| byte.is_ascii_graphic());
    is_number || is_ref || is_uuid || !is_plain || segment.len() > MAX_SEGMENT_BYTES
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_to_the_same_thing_have_one_route() {
        for (target, route) in [
            ("/rest/v1/orders?id=eq.1", "/rest/v1/orders"),
            ("/rest/v1/rpc/sum", "/rest/v1/rpc/sum"),
            ("/p/default/rest/v1/orders", "/rest/v1/orders"),
            (
                "/auth/v1/admin/users/0198c1f2-7c1d-4d2e-9b7a-000000000001",
                "/auth/v1/admin/users/*",
            ),
            (
                "/storage/v1/object/avatars/a/b.png",
                "/storage/v1/object/avatars/*",
            ),
            (
                "/v1/projects/abcdefghijklmnopqrst/functions",
                "/v1/projects/{id}/functions",
            ),
            ("/functions/v1/hello/123", "/functions/v1/hello/{id}"),
            ("/x/\u{1}", "/x/{id}"),
            ("", "/"),
            ("/", "/"),
            ("//a//b", "/a/b"),
        ] {
            assert_eq!(route_of(target), route, "{target}");
        }
        let long = format!("/{}", "x".repeat(100));
        assert_eq!(route_of(&long), "/{id}");
    }
}
