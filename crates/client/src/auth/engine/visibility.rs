//! Visibility of the application (client contract S21–S23).

use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};

use futures_util::StreamExt;

use super::Engine;
use crate::runtime::{self, BoxStream, MaybeSend, MaybeSync};

/// Reports whether the application is visible. While it is hidden, the session is not refreshed in the background;
/// when it becomes visible, it is loaded again as at the start, and subscribers are notified.
///
/// In a browser this is the page's visibility, unless
/// [`ClientBuilder::visibility`](crate::ClientBuilder::visibility) says otherwise.
pub trait Visibility: MaybeSend + MaybeSync + 'static {
    /// The current value and all changes.
    fn watch(&self) -> BoxStream<'static, bool>;
}

impl Engine {
    /// Starts the background refresh, which follows the visibility.
    pub(super) fn start_watching(self: &Arc<Self>) {
        if self.is_caller_controlled.load(Ordering::Relaxed) {
            return;
        }
        let Some(visibility) = &self.settings.visibility else {
            if self.settings.auto_refresh {
                self.start_ticker();
            }
            return;
        };
        let (engine, mut states) = (Arc::downgrade(self), visibility.watch());
        let task = runtime::spawn(async move {
            let mut is_start = true;
            while let Some(is_visible) = states.next().await {
                let Some(engine) = engine.upgrade() else {
                    return;
                };
                if is_visible {
                    engine.resume(is_start).await;
                } else {
                    engine.stop_ticker();
                }
                is_start = false;
            }
        });
        *self.watcher() = task;
    }

    /// From here on the application controls the background refresh.
    pub(super) fn leave_to_caller(&self) {
        self.is_caller_controlled.store(true, Ordering::Relaxed);
        self.watcher().take();
    }

    async fn resume(self: &Arc<Self>, is_start: bool) {
        if self.settings.auto_refresh {
            self.start_ticker();
        }
        if !is_start && let Err(error) = self.recover().await {
            let error = error.for_logs();
            tracing::warn!(error, "the stored session cannot be resumed");
        }
    }

    fn watcher(&self) -> std::sync::MutexGuard<'_, Option<runtime::Task>> {
        self.watcher.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The visibility of the page, in a browser.
#[cfg(target_arch = "wasm32")]
pub(crate) fn of_page() -> Option<Arc<dyn Visibility>> {
    page::Page::find().map(|page| Arc::new(page) as Arc<dyn Visibility>)
}

/// Unknown outside of a browser.
#[cfg(not(target_arch = "wasm32"))]
pub(crate) fn of_page() -> Option<Arc<dyn Visibility>> {
    None
}

#[cfg(target_arch = "wasm32")]
mod page {
    use futures_util::{StreamExt, stream};
    use tokio::sync::mpsc;
    use wasm_bindgen::{JsCast, closure::Closure};
    use web_sys::{Document, VisibilityState};

    use super::Visibility;
    use crate::runtime::BoxStream;

    const EVENT: &str = "visibilitychange";

    pub(super) struct Page(Document);

    impl Page {
        /// Workers have no document.
        pub(super) fn find() -> Option<Self> {
            web_sys::window()?.document().map(Self)
        }
    }

    impl Visibility for Page {
        fn watch(&self) -> BoxStream<'static, bool> {
            let (changes, notified) = mpsc::unbounded_channel();
            _ = changes.send(());
            let listener = Listener::new(&self.0, move || _ = changes.send(()));
            let states = stream::unfold(
                (notified, listener),
                |(mut notified, listener)| async move {
                    notified.recv().await?;
                    let is_visible = listener.page.visibility_state() == VisibilityState::Visible;
                    Some((is_visible, (notified, listener)))
                },
            );
            states.boxed_local()
        }
    }

    /// An event listener, removed when dropped.
    struct Listener {
        page: Document,
        on_change: Closure<dyn FnMut()>,
    }

    impl Listener {
        fn new(page: &Document, on_change: impl FnMut() + 'static) -> Self {
            let listener = Self {
                page: page.clone(),
                on_change: Closure::new(on_change),
            };
            let function = listener.on_change.as_ref().unchecked_ref();
            _ = page.add_event_listener_with_callback(EVENT, function);
            listener
        }
    }

    impl Drop for Listener {
        fn drop(&mut self) {
            let function = self.on_change.as_ref().unchecked_ref();
            _ = self
                .page
                .remove_event_listener_with_callback(EVENT, function);
        }
    }
}
