//! Captures the trace output of a test.

use std::{
    cell::RefCell,
    io::{self, Write},
    sync::{
        Arc, Mutex, OnceLock, PoisonError,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
};

use tracing::{Metadata, level_filters::LevelFilter};
use tracing_subscriber::{
    Layer as _,
    fmt::{self, MakeWriter, format::FmtSpan},
    layer::{Context, Filter, SubscriberExt as _},
};

/// Shorter fragments of a secret could be ordinary words.
const FRAGMENT_CHARS: usize = 8;

thread_local! {
    /// The active capture of this thread.
    static CAPTURE: RefCell<Option<Buffer>> = const { RefCell::new(None) };
}

/// Captures all trace output of this thread, at every level, until dropped. Tasks count if they run on
/// the same thread, as in a plain `#[tokio::test]`.
#[must_use = "nothing is captured after it is dropped"]
pub struct Traces {
    buffer: Buffer,
}

impl Traces {
    /// Starts capturing.
    pub fn capture() -> Self {
        install();
        let buffer = Buffer::default();
        CAPTURE.set(Some(buffer.clone()));
        Self { buffer }
    }

    /// The captured output.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.buffer.bytes()).into_owned()
    }
}

impl Drop for Traces {
    fn drop(&mut self) {
        CAPTURE.set(None);
    }
}

/// One global subscriber that writes to the capture of the current thread. A thread-local subscriber would
/// be unreliable: a callsite that another thread reaches first caches its interest as "never".
fn install() {
    static INSTALLED: OnceLock<()> = OnceLock::new();
    INSTALLED.get_or_init(|| {
        let layer = fmt::layer()
            .with_span_events(FmtSpan::FULL)
            .with_ansi(false)
            .with_writer(ToCapture)
            .with_filter(WhileCapturing);
        let subscriber = tracing_subscriber::registry().with(layer);
        tracing::subscriber::set_global_default(subscriber).expect("no other subscriber is global");
        IS_INSTALLED.store(true, Relaxed);
        tracing::callsite::rebuild_interest_cache();
    });
}

static IS_INSTALLED: AtomicBool = AtomicBool::new(false);

/// Passes what happens on threads that capture.
///
/// Until the subscriber is the global one, the maximum level stays `OFF`: callsites that other threads
/// reach in the meantime are not registered, so none of them finds no subscriber and caches "never".
struct WhileCapturing;

impl<S> Filter<S> for WhileCapturing {
    fn enabled(&self, _: &Metadata<'_>, _: &Context<'_, S>) -> bool {
        CAPTURE.with_borrow(Option::is_some)
    }

    fn max_level_hint(&self) -> Option<LevelFilter> {
        let level = if IS_INSTALLED.load(Relaxed) {
            LevelFilter::TRACE
        } else {
            LevelFilter::OFF
        };
        Some(level)
    }
}

/// Fails if the text contains a fragment of one of the secrets.
pub fn assert_no_secret(text: &str, secrets: &[&str]) {
    for secret in secrets {
        let letters: Vec<char> = secret.chars().collect();
        assert!(
            letters.len() >= FRAGMENT_CHARS,
            "too short to be distinguished from a word"
        );
        for piece in letters.windows(FRAGMENT_CHARS) {
            let piece: String = piece.iter().collect();
            assert!(!text.contains(&piece), "{piece:?} of {secret:?} in: {text}");
        }
    }
}

#[derive(Clone, Default)]
struct Buffer(Arc<Mutex<Vec<u8>>>);

impl Buffer {
    fn bytes(&self) -> std::sync::MutexGuard<'_, Vec<u8>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Write for Buffer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.bytes().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Writes to the capture of the current thread.
struct ToCapture;

impl<'a> MakeWriter<'a> for ToCapture {
    type Writer = Buffer;

    fn make_writer(&'a self) -> Buffer {
        CAPTURE.with_borrow(Clone::clone).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_is_captured_at_every_level_and_nothing_afterwards() {
        let traces = Traces::capture();
        let _span = tracing::trace_span!("around", kept = "in the span").entered();
        tracing::trace!(field = "in a field", "in the text");

        let text = traces.text();

        for part in ["around", "in the span", "in a field", "in the text"] {
            assert!(text.contains(part), "{part} in {text}");
        }
        drop(traces);
        tracing::info!("to nobody");
        assert_eq!(Traces::capture().text(), "");
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
