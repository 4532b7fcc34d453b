//! What a test's code says in traces.

use std::{
    cell::RefCell,
    io::{self, Write},
    sync::{Arc, Mutex, OnceLock, PoisonError},
    thread,
    time::Duration,
};

use tracing_subscriber::{
    Layer as _,
    filter::dynamic_filter_fn,
    fmt::{self, MakeWriter, format::FmtSpan},
    layer::SubscriberExt as _,
};

/// How short a piece of a secret may be before it could be any word.
const FRAGMENT: usize = 8;

thread_local! {
    /// Whoever listens on this thread.
    static LISTENER: RefCell<Option<Heard>> = const { RefCell::new(None) };
}

/// Everything that is traced on this thread, at every level, from when this is made until it is
/// dropped. Tasks count where they run on the same thread, as in a plain `#[tokio::test]`.
#[must_use = "nothing is heard after it is dropped"]
pub struct Traces {
    heard: Heard,
}

impl Traces {
    /// Listens from now on.
    pub fn listen() -> Self {
        install();
        let heard = Heard::default();
        LISTENER.set(Some(heard.clone()));
        Self { heard }
    }

    /// All of it, as a log would show it.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.heard.bytes()).into_owned()
    }
}

impl Drop for Traces {
    fn drop(&mut self) {
        LISTENER.set(None);
    }
}

/// One subscriber for the whole process, which passes on to whoever listens. A subscriber of one
/// thread would not do: a place in the code that another thread passes for the first time just
/// when it is made would be taken for one that nobody listens to, for good.
fn install() {
    static INSTALLED: OnceLock<()> = OnceLock::new();
    INSTALLED.get_or_init(|| {
        let someone_listens = || LISTENER.with_borrow(Option::is_some);
        let layer = fmt::layer()
            .with_span_events(FmtSpan::FULL)
            .with_ansi(false)
            .with_writer(ToListener)
            .with_filter(dynamic_filter_fn(move |_, _| someone_listens()));
        let subscriber = tracing_subscriber::registry().with(layer);
        tracing::subscriber::set_global_default(subscriber).expect("no other subscriber is global");
        // Those who were just being passed are asked again.
        thread::sleep(Duration::from_millis(50));
        tracing::callsite::rebuild_interest_cache();
    });
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

/// Writes where somebody listens on the thread.
struct ToListener;

impl<'a> MakeWriter<'a> for ToListener {
    type Writer = Heard;

    fn make_writer(&'a self) -> Heard {
        LISTENER.with_borrow(Clone::clone).unwrap_or_default()
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
        drop(traces);
        tracing::info!("to nobody");
        assert_eq!(Traces::listen().text(), "");
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
