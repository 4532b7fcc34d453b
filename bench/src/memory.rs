//! Peak memory of a process during a run.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread::{self, JoinHandle},
    time::Duration,
};

use crate::processes;

/// Shorter than any response of ten megabytes takes.
const SAMPLE_INTERVAL: Duration = Duration::from_millis(10);

/// Samples the memory until it is stopped.
pub(crate) struct Watch {
    is_over: Arc<AtomicBool>,
    watching: JoinHandle<f64>,
}

impl Watch {
    pub(crate) fn start(pid: u32) -> Self {
        let is_over = Arc::new(AtomicBool::new(false));
        let watching = thread::spawn({
            let is_over = is_over.clone();
            move || {
                let mut most = 0.0;
                while !is_over.load(Ordering::Relaxed) {
                    most = processes::rss(pid).map_or(most, |rss| rss.max(most));
                    thread::sleep(SAMPLE_INTERVAL);
                }
                most
            }
        });
        Self { is_over, watching }
    }

    /// The largest RSS seen, in MiB.
    pub(crate) fn stop(self) -> f64 {
        self.is_over.store(true, Ordering::Relaxed);
        self.watching.join().unwrap_or(f64::NAN)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_that_came_and_went_is_seen() {
        let pid = std::process::id();
        let before = processes::rss(pid).unwrap();
        let watch = Watch::start(pid);

        let large = vec![1_u8; 64 << 20];
        // Samples are taken meanwhile.
        thread::sleep(SAMPLE_INTERVAL * 10);
        drop(large);

        assert!(watch.stop() > before + 60.0);
    }
}
