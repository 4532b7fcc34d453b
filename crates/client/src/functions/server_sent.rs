//! Server-sent events (`text/event-stream` of the HTML standard).

use std::collections::VecDeque;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use futures_util::{Stream, StreamExt};

use super::{FunctionError, FunctionStream};

/// Maximum size of one event.
const MAX_EVENT_BYTES: usize = 16 * 1024 * 1024;

/// A server-sent event.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ServerSentEvent {
    /// The event type; `message` by default.
    pub event: String,
    /// The data. Several lines are joined by line feeds.
    pub data: String,
    /// The last event id, if there was one.
    pub id: Option<String>,
    /// The reconnection time that the server asks for.
    pub retry: Option<Duration>,
}

/// Events of a response; see [`FunctionStream::events`].
#[derive(Debug)]
#[must_use = "a stream does nothing unless it is polled"]
pub struct ServerSentEvents {
    pieces: FunctionStream,
    parser: Parser,
    ready: VecDeque<ServerSentEvent>,
    is_over: bool,
}

impl ServerSentEvents {
    pub(super) fn new(pieces: FunctionStream) -> Self {
        Self {
            pieces,
            parser: Parser::default(),
            ready: VecDeque::new(),
            is_over: false,
        }
    }
}

impl Stream for ServerSentEvents {
    type Item = Result<ServerSentEvent, FunctionError>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = &mut *self;
        loop {
            if let Some(event) = this.ready.pop_front() {
                return Poll::Ready(Some(Ok(event)));
            }
            if this.is_over {
                return Poll::Ready(None);
            }
            let failure = match ready!(this.pieces.poll_next_unpin(context)) {
                Some(Ok(piece)) => {
                    this.ready.extend(this.parser.feed(&piece));
                    this.parser
                        .is_too_long()
                        .then(|| FunctionError::unreadable("an event is too long"))
                }
                Some(Err(error)) => Some(error),
                // An event that is not terminated by an empty line is discarded.
                None => {
                    this.is_over = true;
                    None
                }
            };
            if let Some(failure) = failure {
                this.is_over = true;
                return Poll::Ready(Some(Err(failure)));
            }
        }
    }
}

/// Parses bytes in arbitrary chunks.
#[derive(Debug, Default)]
struct Parser {
    /// The incomplete line.
    line: Vec<u8>,
    /// The last line ended with a carriage return; a line feed right after it belongs to it.
    had_carriage_return: bool,
    has_begun: bool,
    event: String,
    data: Option<String>,
    id: Option<String>,
    retry: Option<Duration>,
}

impl Parser {
    fn feed(&mut self, bytes: &[u8]) -> Vec<ServerSentEvent> {
        let mut events = Vec::new();
        for byte in bytes {
            let was_carriage_return = std::mem::take(&mut self.had_carriage_return);
            match byte {
                b'\n' if was_carriage_return => {}
                b'\n' | b'\r' => {
                    self.had_carriage_return = *byte == b'\r';
                    let line = std::mem::take(&mut self.line);
                    events.extend(self.end_of_line(&line));
                }
                _ => self.line.push(*byte),
            }
        }
        events
    }

    fn is_too_long(&self) -> bool {
        self.line.len() + self.data.as_ref().map_or(0, String::len) > MAX_EVENT_BYTES
    }

    fn end_of_line(&mut self, line: &[u8]) -> Option<ServerSentEvent> {
        let line = String::from_utf8_lossy(line);
        let is_first = !std::mem::replace(&mut self.has_begun, true);
        let line = match line.strip_prefix('\u{feff}') {
            Some(rest) if is_first => rest,
            _ => &line,
        };
        if line.is_empty() {
            return self.end_of_event();
        }
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "event" => self.event = value.to_owned(),
            "data" => match &mut self.data {
                Some(data) => {
                    data.push('\n');
                    data.push_str(value);
                }
                None => self.data = Some(value.to_owned()),
            },
            "id" if !value.contains('\0') => self.id = Some(value.to_owned()),
            "retry" if value.bytes().all(|byte| byte.is_ascii_digit()) => {
                let wait = value.parse().ok().map(Duration::from_millis);
                self.retry = wait.or(self.retry);
            }
            // A comment, or an unknown field.
            _ => {}
        }
        None
    }

    fn end_of_event(&mut self) -> Option<ServerSentEvent> {
        let event = std::mem::take(&mut self.event);
        let data = self.data.take()?;
        Some(ServerSentEvent {
            event: if event.is_empty() {
                "message".to_owned()
            } else {
                event
            },
            data,
            id: self.id.clone(),
            retry: self.retry.take(),
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn parsed(text: &str) -> Vec<ServerSentEvent> {
        Parser::default().feed(text.as_bytes())
    }

    fn data(text: &str) -> Vec<String> {
        parsed(text).into_iter().map(|event| event.data).collect()
    }

    #[test]
    fn lines_make_events() {
        let events = parsed("event: add\ndata: 7\nid: a\nretry: 20\n\ndata:x\ndata: y\n\n");

        let first = ServerSentEvent {
            event: "add".to_owned(),
            data: "7".to_owned(),
            id: Some("a".to_owned()),
            retry: Some(Duration::from_millis(20)),
        };
        let second = ServerSentEvent {
            event: "message".to_owned(),
            data: "x\ny".to_owned(),
            id: Some("a".to_owned()),
            retry: None,
        };
        assert_eq!(events, [first, second]);
    }

    #[test]
    fn the_standards_examples_read_as_it_says() {
        assert_eq!(data("data\n\ndata\ndata\n\ndata:"), ["", "\n"]);
        assert_eq!(data("data:test\n\ndata: test\n\n"), ["test", "test"]);
        assert_eq!(data(": a comment\n\ndata:  two\n\n"), [" two"]);
    }

    #[test]
    fn lines_end_in_three_ways_and_the_mark_of_the_order_of_bytes_is_skipped() {
        assert_eq!(
            data("\u{feff}data: a\r\n\r\ndata: b\r\rdata: c\n\n"),
            ["a", "b", "c"]
        );
    }

    #[test]
    fn unknown_fields_are_skipped() {
        assert_eq!(
            data("what: x\nevent: e\n\ndata: a\nretry: soon\nid: a\0b\n\n"),
            ["a"]
        );
        let event = &parsed("event: lost\n\ndata: a\nretry: -1\nid: a\0b\n\n")[0];
        assert_eq!(
            (event.event.as_str(), &event.id, event.retry),
            ("message", &None, None)
        );
    }

    proptest! {
        #[test]
        fn it_does_not_matter_how_bytes_are_cut(
            text in "(data|id|event|retry|x)?[: ]{0,2}[a1ü\\r\\n]{0,4}(\\r\\n|\\n\\n|\\r){0,2}",
            more in "[a-z: \\r\\n]{0,40}",
            cut in 0usize..60,
        ) {
            let bytes = format!("{text}{more}").into_bytes();
            let cut = cut.min(bytes.len());
            let whole = Parser::default().feed(&bytes);
            let mut parser = Parser::default();
            let mut pieces = parser.feed(&bytes[..cut]);
            pieces.extend(parser.feed(&bytes[cut..]));
            prop_assert_eq!(whole, pieces);
        }
    }
}
