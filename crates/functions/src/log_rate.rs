//! How much a function may log (functions contract §9).

use std::{
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

/// Messages of a function per window.
const MAX_MESSAGES: u32 = 100;
const WINDOW: Duration = Duration::from_secs(10);

/// The rate limit of a function's log messages, shared by all of its workers.
#[derive(Debug)]
pub(crate) struct LogRateLimit(Mutex<Window>);

#[derive(Debug)]
struct Window {
    began: Instant,
    messages: u32,
}

/// Whether a message is logged.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum LogPermission {
    Granted,
    /// The first message of the window that is dropped.
    JustExceeded,
    Exceeded,
}

impl Default for LogRateLimit {
    fn default() -> Self {
        Self(Mutex::new(Window::starting_at(Instant::now())))
    }
}

impl LogRateLimit {
    /// Counts a message.
    pub(crate) fn count_message(&self) -> LogPermission {
        let mut window = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        window.count_message(Instant::now())
    }
}

impl Window {
    fn starting_at(began: Instant) -> Self {
        Self { began, messages: 0 }
    }

    fn count_message(&mut self, now: Instant) -> LogPermission {
        if now - self.began > WINDOW {
            *self = Self::starting_at(now);
        }
        self.messages = self.messages.saturating_add(1);
        match self.messages {
            count if count <= MAX_MESSAGES => LogPermission::Granted,
            count if count == MAX_MESSAGES + 1 => LogPermission::JustExceeded,
            _ => LogPermission::Exceeded,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_has_its_limit_and_is_followed_by_another() {
        let now = Instant::now();
        let mut window = Window::starting_at(now);

        for _ in 0..MAX_MESSAGES {
            assert_eq!(window.count_message(now), LogPermission::Granted);
        }
        assert_eq!(window.count_message(now), LogPermission::JustExceeded);
        assert_eq!(window.count_message(now + WINDOW), LogPermission::Exceeded);
        let later = now + WINDOW + Duration::from_millis(1);
        assert_eq!(window.count_message(later), LogPermission::Granted);
    }
}
