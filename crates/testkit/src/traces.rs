//! What a test's code says in traces.

use std::io::{self, Write};
use std::sync::{Arc, Mutex, PoisonError};

use tracing::subscriber::DefaultGuard;
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::fmt::format::FmtSpan;

/// How short a piece of a secret may be before it could be any word.
const FRAGMENT: usize = 8;

/// Everything that is traced on this thread, at every level, from when this is made until it is
/// dropped. Tasks count where they run on the same thread, as in a plain `#[tokio::test]`.
#[must_use = "nothing is heard after it is dropped"]
pub struct Traces {
    heard: Heard,
    _guard: DefaultGuard,
}

impl Traces {
    /// Listens from now on.
    pub fn listen() -> Self {
        let heard = Heard::default();
        let subscriber = tracing_subscriber::fmt()
            .with_max_level(tracing::Level::TRACE)
            .with_span_events(FmtSpan::FULL)
            .with_ansi(false)
            .with_writer(heard.clone())
            .finish();
        Self {
            heard,
            _guard: tracing::subscriber::set_default(subscriber),
        }
    }

    /// All of it, as a log would show it.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.heard.bytes()).into_owned()
    }
}

/// Fails if a text has so much as a piece of one of these secrets.
pub fn assert_no_secret(text: &str, secrets: &[&str]) {
    for secret in secrets {
        let letters: Vec<char> = secret.chars().collect();
        assert!(
            letters.len() >= FRAGMENT,
            "too short to be told from a word"
        );
        for piece in letters.windows(FRAGMENT) {
            let piece: String = piece.iter().collect();
            assert!(!text.contains(&piece), "{piece:?} of {secret:?} in: {text}");
        }
    }
}

#[derive(Clone, Default)]
struct Heard(Arc<Mutex<Vec<u8>>>);

impl Heard {
    fn bytes(&self) -> std::sync::MutexGuard<'_, Vec<u8>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Write for Heard {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.bytes().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for Heard {
    type Writer = Self;

    fn make_writer(&'a self) -> Self {
        self.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_is_heard_at_every_level_and_nothing_afterwards() {
        let traces = Traces::listen();
        let _span = tracing::trace_span!("around", kept = "in the span").entered();
        tracing::trace!(field = "in a field", "in the text");

        let text = traces.text();

        for part in ["around", "in the span", "in a field", "in the text"] {
            assert!(text.contains(part), "{part} in {text}");
        }
    }

    #[test]
    #[should_panic(expected = "\"-and-pie\"")]
    fn a_piece_of_a_secret_is_found() {
        assert_no_secret("cut: -and-piec", &["apple-and-piece"]);
    }

    #[test]
    fn words_that_a_secret_shares_with_others_are_not() {
        assert_no_secret("an apple a day", &["apple-and-piece"]);
    }
}
