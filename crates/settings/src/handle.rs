//! Settings that change while services run.

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

    /// The settings of this moment. Keep the value for one piece of work, not for longer.
    pub fn current(&self) -> Arc<Settings> {
        self.sender.borrow().clone()
    }

    /// Wakes at every change from now on.
    pub fn subscribe(&self) -> watch::Receiver<Arc<Settings>> {
        self.sender.subscribe()
    }

    /// Takes new settings and wakes subscribers, unless nothing differs. Says whether it did.
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
        assert_eq!(changes.borrow().port("api.port"), 2);
        assert_eq!(clone.current().port("api.port"), 2);
    }

    #[test]
    fn the_same_settings_wake_nobody() {
        let handle = SettingsHandle::new(with_port("1"));
        let changes = handle.subscribe();

        assert!(!handle.replace(with_port("1")));

        assert!(!changes.has_changed().expect("the sender lives"));
    }
}
