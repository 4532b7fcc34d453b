//! Limits of a request: head size, body size, time until the response begins.

mod body;
mod timeout;

use http::Request;

pub(crate) use body::LimitedBody;
pub(crate) use timeout::with_timeout;

/// The bytes of a request's head as HTTP/1.1 would send it.
pub(crate) fn head_bytes<B>(request: &Request<B>) -> usize {
    let target = request
        .uri()
        .path_and_query()
        .map_or(0, |target| target.as_str().len());
    let fields = request
        .headers()
        .iter()
        .map(|(name, value)| name.as_str().len() + value.len() + 4);
    request.method().as_str().len() + target + fields.sum::<usize>()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_head_is_counted_with_its_target_and_all_fields() {
        let request = Request::get("/abc?d=e")
            .header("name", "value")
            .header("name", "two");
        let request = request.body(()).expect("a request");

        assert_eq!(head_bytes(&request), 3 + 8 + (4 + 5 + 4) + (4 + 3 + 4));
    }
}
