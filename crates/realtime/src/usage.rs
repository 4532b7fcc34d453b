//! What one project uses on this node, to be held against its limits (§11).

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering::Relaxed},
};

use crate::{metrics::RealtimeMetrics, rate::Rate};

/// Rates per second and the number of sockets that have a channel.
#[derive(Debug)]
pub(crate) struct Usage {
    metrics: Arc<RealtimeMetrics>,
    pub(crate) events: Rate,
    pub(crate) joins: Rate,
    pub(crate) presence_events: Rate,
    /// Row changes that were delivered.
    pub(crate) change_events: Rate,
    sockets: AtomicUsize,
}

impl Usage {
    pub(crate) fn new(metrics: &Arc<RealtimeMetrics>) -> Self {
        Self {
            events: metrics.events(),
            joins: metrics.joins(),
            presence_events: metrics.presence_events(),
            change_events: metrics.change_events(),
            sockets: AtomicUsize::new(0),
            metrics: metrics.clone(),
        }
    }

    /// How many sockets of this node have a channel.
    pub(crate) fn sockets(&self) -> usize {
        self.sockets.load(Relaxed)
    }

    /// Counts a socket that gets its first channel; `None` if there are `max` already.
    pub(crate) fn acquire_socket(self: &Arc<Self>, max: usize) -> Option<SocketPermit> {
        let taken = self
            .sockets
            .fetch_update(Relaxed, Relaxed, |taken| (taken < max).then_some(taken + 1));
        taken.ok()?;
        self.metrics.connected.increment(1.0);
        self.metrics.connected_cluster.increment(1.0);
        Some(SocketPermit(self.clone()))
    }
}

/// One of the sockets that a project may have.
#[derive(Debug)]
pub(crate) struct SocketPermit(Arc<Usage>);

impl Drop for SocketPermit {
    fn drop(&mut self) {
        self.0.sockets.fetch_sub(1, Relaxed);
        self.0.metrics.connected.decrement(1.0);
        self.0.metrics.connected_cluster.decrement(1.0);
    }
}
