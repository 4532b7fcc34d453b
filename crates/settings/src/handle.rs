//! The current settings, which can change while services run.

use std::sync::Arc;

use tokio::sync::watch;

use crate::settings::Settings;

/// The current settings, shared. Cloning is cheap; all clones see the same value.
#[derive(Debug, Clone)]
pub struct SettingsHandle {
    sender: Arc<watch::Sender<Arc<Settings>>>,
}

impl SettingsHandle {
    /// Starts with these settings.
    pub fn new(settings: Settings) -> Self {
        Self {
            sender: Arc::new(watch::Sender::new(Arc::new(settings))),
        }
    }

    /// The current settings. Do not keep them for longer than one unit of work.
    pub fn current(&self) -> Arc<Settings> {
        self.sender.borrow().clone()
    }

    /// A receiver that is notified of every change from now on.
    pub fn subscribe(&self) -> watch::Receiver<Arc<Settings>> {
        self.sender.subscribe()
    }

    /// Replaces the settings and notifies subscribers, unless nothing differs. Returns whether it
    /// did.
    pub fn replace(&self, settings: Settings) -> bool {
        self.sender.send_if_modified(|current| {
            if current.is_same(&settings) {
                return false;
            }
            *current = Arc::new(settings);
            true
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keys::api;
    use crate::loader::Loader;

    fn with_port(port: &str) -> Settings {
        Loader::new()
            .command_line("api.port", port)
            .load()
            .expect("valid")
            .settings
    }

    #[tokio::test]
    async fn a_change_reaches_subscribers_and_clones() {
        let handle = SettingsHandle::new(with_port("1"));
        let clone = handle.clone();
        let mut changes = handle.subscribe();

        assert!(handle.replace(with_port("2")));

        changes.changed().await.expect("the sender lives");
        assert_eq!(changes.borrow().get(api::PORT), 2);
        assert_eq!(clone.current().get(api::PORT), 2);
    }

    #[test]
    fn the_same_settings_notify_no_watcher() {
        let handle = SettingsHandle::new(with_port("1"));
        let changes = handle.subscribe();

        assert!(!handle.replace(with_port("1")));

        assert!(!changes.has_changed().expect("the sender lives"));
    }
}
