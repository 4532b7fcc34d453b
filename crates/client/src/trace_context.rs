//! Trace context propagation to the project's services (client contract R6).

use http::{HeaderMap, HeaderValue};

use crate::runtime::{MaybeSend, MaybeSync};

/// The trace that a request belongs to (W3C Trace Context).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TraceContext {
    /// `00-<trace>-<span>-<flags>`. If it is malformed nothing is sent.
    pub traceparent: String,
    /// Vendor-specific data. Only sent for sampled traces.
    pub tracestate: Option<String>,
    /// Application data. Only sent for sampled traces.
    pub baggage: Option<String>,
}

/// Returns the current trace.
pub(crate) trait CurrentTrace: MaybeSend + MaybeSync + 'static {
    fn current(&self) -> Option<TraceContext>;
}

impl<F> CurrentTrace for F
where
    F: Fn() -> Option<TraceContext> + MaybeSend + MaybeSync + 'static,
{
    fn current(&self) -> Option<TraceContext> {
        self()
    }
}

impl TraceContext {
    /// Adds the headers to a request, unless its caller has set them.
    pub(crate) fn add_to(&self, headers: &mut HeaderMap) {
        let Some(is_sampled) = is_sampled(&self.traceparent) else {
            return;
        };
        let along = |text: &Option<String>| text.clone().filter(|_| is_sampled);
        let values = [
            ("traceparent", Some(self.traceparent.clone())),
            ("tracestate", along(&self.tracestate)),
            ("baggage", along(&self.baggage)),
        ];
        for (name, value) in values {
            let value = value.and_then(|value| HeaderValue::try_from(value).ok());
            if let Some(value) = value
                && !headers.contains_key(name)
            {
                headers.insert(name, value);
            }
        }
    }
}

/// Whether the trace is sampled; `None` if the text is malformed.
fn is_sampled(traceparent: &str) -> Option<bool> {
    let parts: Vec<&str> = traceparent.split('-').collect();
    let ["00", trace, span, flags] = parts[..] else {
        return None;
    };
    let is_hex = |text: &str, length: usize| {
        let is_digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
        text.len() == length && text.bytes().all(is_digit)
    };
    let is_named =
        |text: &str, length| is_hex(text, length) && text.bytes().any(|byte| byte != b'0');
    let is_whole = is_named(trace, 32) && is_named(span, 16) && is_hex(flags, 2);
    let flags = u8::from_str_radix(flags, 16).ok().filter(|_| is_whole)?;
    Some(flags & 1 == 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TRACE: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7";

    fn sent(traceparent: &str) -> Vec<String> {
        let context = TraceContext {
            traceparent: traceparent.to_owned(),
            tracestate: Some("a=1".to_owned()),
            baggage: Some("b=2".to_owned()),
        };
        let mut headers = HeaderMap::new();
        context.add_to(&mut headers);
        headers.keys().map(ToString::to_string).collect()
    }

    #[test]
    fn sampled_traces_take_everything_along_and_others_only_their_name() {
        let all = ["traceparent", "tracestate", "baggage"];
        assert_eq!(sent(&format!("{TRACE}-01")), all);
        assert_eq!(sent(&format!("{TRACE}-03")), all);
        assert_eq!(sent(&format!("{TRACE}-00")), ["traceparent"]);
        assert_eq!(sent(&format!("{TRACE}-02")), ["traceparent"]);
    }

    #[test]
    fn what_is_no_trace_is_not_sent() {
        let zeros = format!("00-{}-00f067aa0ba902b7-01", "0".repeat(32));
        for text in [
            "",
            "x",
            TRACE,
            &format!("{TRACE}-1"),
            &format!("{TRACE}-01-x"),
            &format!("{TRACE}-0G"),
            &TRACE.to_uppercase(),
            &format!("ff{}-01", &TRACE[2..]),
            &zeros,
        ] {
            assert_eq!(sent(text), [""; 0], "{text}");
        }
    }

    #[test]
    fn the_callers_own_header_wins() {
        let context = TraceContext {
            traceparent: format!("{TRACE}-01"),
            ..TraceContext::default()
        };
        let mut headers = HeaderMap::new();
        headers.insert("traceparent", HeaderValue::from_static("mine"));
        context.add_to(&mut headers);
        assert_eq!(headers["traceparent"], "mine");
    }
}
