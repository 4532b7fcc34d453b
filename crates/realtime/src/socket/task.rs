//! The task of one socket: nothing else reads from or writes to the client.

use std::{convert::Infallible, future::poll_fn, sync::Arc, time::Duration};

use axum::extract::ws::{CloseFrame, Message, WebSocket, close_code};
use futures_util::{SinkExt as _, StreamExt as _};
use serde_json::json;
use tokio::time::{Instant, sleep, sleep_until, timeout};

use super::{SocketContext, channels::SocketChannels, log::Severity};
use crate::{
    clock::now,
    config::RealtimeConfig,
    metrics::GaugeShare,
    outbound_queue::{CloseReason, OutboundQueue, payload_bytes},
    protocol::{Frame, IncomingFrame},
};

/// How long a client may take to reply to a close frame.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(5);

/// At shutdown sockets are closed one after the other within this time, so that not all clients
/// reconnect at once.
const MAX_SHUTDOWN_SPREAD: Duration = Duration::from_secs(3);

/// How often the queue of a slow client is sampled for the gauge.
const QUEUE_SAMPLE_INTERVAL: Duration = Duration::from_secs(1);

/// Why the server closes a socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Close {
    code: u16,
    reason: &'static str,
}

impl Close {
    const TOO_SLOW: Self = Self::new(close_code::ERROR, "client does not keep up");
    const STALLED: Self = Self::new(close_code::ERROR, "client takes nothing");
    const IDLE: Self = Self::new(close_code::NORMAL, "no frame for too long");
    const NO_CHANNEL: Self = Self::new(close_code::NORMAL, "no channel joined");
    const TOO_BIG: Self = Self::new(close_code::SIZE, "frame too big");
    const RESTART: Self = Self::new(close_code::RESTART, "service restart");

    const fn new(code: u16, reason: &'static str) -> Self {
        Self { code, reason }
    }
}

/// The metric's reason for messages that were not sent.
fn drop_reason(close: Option<Close>) -> &'static str {
    match close {
        Some(Close::TOO_SLOW) => "queue_bytes",
        Some(Close::STALLED) => "queue_age",
        _ => "closed",
    }
}

/// Serves a socket until it is closed.
pub(super) async fn serve(socket: WebSocket, context: Arc<SocketContext>) {
    let _open = context.project.keep_open();
    let metrics = &context.hub.metrics;
    let mut task = Task {
        socket,
        channels: SocketChannels::new(context.clone()),
        last_frame_at: Instant::now(),
        checked_channels_at: Instant::now(),
        shutdown_at: None,
        queue_bytes: GaugeShare::new(&metrics.queue_bytes),
        unsent: 0,
        context: context.clone(),
    };
    let close = task.run().await;
    task.channels.remove_all();
    let unsent = task.unsent + context.outbound.unsent();
    metrics.count_dropped_messages(drop_reason(close), unsent);
    if let Some(close) = close {
        metrics.count_closed_socket(close.reason);
        let frame = CloseFrame {
            code: close.code,
            reason: close.reason.into(),
        };
        let closing = async {
            if task.socket.send(Message::Close(Some(frame))).await.is_ok() {
                while let Some(Ok(_)) = task.socket.next().await {}
            }
        };
        _ = timeout(CLOSE_TIMEOUT, closing).await;
    }
}

struct Task {
    socket: WebSocket,
    channels: SocketChannels,
    context: Arc<SocketContext>,
    last_frame_at: Instant,
    /// When it was last checked whether there is a channel.
    checked_channels_at: Instant,
    /// Set when the service shuts down: when this socket is to be closed.
    shutdown_at: Option<Instant>,
    /// Bytes that wait because the client reads slowly.
    queue_bytes: GaugeShare,
    /// Messages taken out of the queue and not yet handed to the connection.
    unsent: usize,
}

impl Task {
    /// Runs until the client disconnects (`None`) or the server closes the socket.
    async fn run(&mut self) -> Option<Close> {
        let context = self.context.clone();
        let mut settings = context.project.settings().subscribe();
        let mut keys = context.project.keys_replaced();
        let mut batch = Vec::new();
        let timer = sleep_until(self.next_timer());
        tokio::pin!(timer);
        loop {
            tokio::select! {
                close = poll_fn(|cx| context.outbound.poll_take(cx, &mut batch)) => {
                    if let Some(close) = self.write(&mut batch).await {
                        return close;
                    }
                    match close {
                        Some(CloseReason::TooSlow) => return Some(Close::TOO_SLOW),
                        Some(CloseReason::Disconnected) => return Some(Close::RESTART),
                        None => {}
                    }
                    if let Some(code) = self.channels.close_code {
                        return Some(Close::new(code, "too many joins"));
                    }
                }
                frame = self.socket.next(), if self.channels.can_read() => {
                    self.last_frame_at = Instant::now();
                    match frame {
                        None => return None,
                        Some(Err(error)) => return is_too_big(error).then_some(Close::TOO_BIG),
                        Some(Ok(Message::Close(_))) => return None,
                        Some(Ok(message)) => self.handle_message(message),
                    }
                    if self.timer_is_late(timer.deadline()) {
                        timer.as_mut().reset(self.next_timer());
                    }
                }
                outcome = self.channels.work.next(), if !self.channels.work.is_empty() => {
                    if let Some(outcome) = outcome {
                        self.channels.complete(outcome);
                    }
                    if self.timer_is_late(timer.deadline()) {
                        timer.as_mut().reset(self.next_timer());
                    }
                }
                () = &mut timer => {
                    if self.shutdown_at.is_some_and(|at| at <= Instant::now()) {
                        return self.drain_and_close(&mut batch).await;
                    }
                    if let Some(close) = self.check_timeouts() {
                        return Some(close);
                    }
                    timer.as_mut().reset(self.next_timer());
                }
                changed = keys.changed() => match changed {
                    // Clients reconnect a closed socket, but never rejoin a closed channel.
                    Ok(()) if self.channels.has_valid_credentials() => {}
                    Ok(()) | Err(_) => self.disconnect(),
                },
                changed = settings.changed() => match changed {
                    Ok(()) => {
                        let config = context.config();
                        let is_forbidden = config.is_private_only
                            && self.channels.has_public_channel();
                        if is_forbidden || !config.is_enabled {
                            self.disconnect();
                        }
                    }
                    Err(_) => self.disconnect(),
                },
                () = context.project.closed().cancelled() => {
                    self.disconnect();
                    return self.drain_and_close(&mut batch).await;
                }
                // Until then it is served as before, except that joins are rejected.
                () = context.stop.cancelled(), if self.shutdown_at.is_none() => {
                    self.shutdown_at = Some(Instant::now() + self.shutdown_delay());
                    timer.as_mut().reset(self.next_timer());
                }
            }
        }
    }

    fn handle_message(&mut self, message: Message) {
        let version = self.context.version;
        let size = payload_bytes(&message) as u64;
        self.context.hub.metrics.input_bytes.increment(size);
        let frame = match &message {
            Message::Text(text) => IncomingFrame::parse_text(version, text),
            Message::Binary(bytes) => IncomingFrame::parse_binary(version, bytes),
            Message::Ping(_) | Message::Pong(_) | Message::Close(_) => return,
        };
        match frame {
            Ok(frame) => self.channels.handle_frame(frame),
            Err(error) => {
                let code = "MalformedWebSocketMessage";
                let log = &self.context.log;
                let what = format_args!("dropping a malformed frame: {error}");
                log.record(Severity::Warning, code, what);
            }
        }
    }

    /// Sends a batch and flushes once. `Some` if the socket must be closed or is gone.
    async fn write(&mut self, batch: &mut Vec<Message>) -> Option<Option<Close>> {
        let outbound = &self.context.outbound;
        let max_age = self.context.config().max_queue_age;
        let bytes: usize = batch.iter().map(payload_bytes).sum();
        self.context
            .hub
            .metrics
            .output_bytes
            .increment(bytes as u64);
        let (socket, unsent) = (&mut self.socket, &mut self.unsent);
        *unsent = batch.len();
        let sending = async {
            for message in batch.drain(..) {
                socket.feed(message).await?;
                *unsent -= 1;
            }
            socket.flush().await
        };
        let written = tokio::select! {
            biased;
            sent = timeout(max_age, sending) => match sent {
                Ok(Ok(())) => None,
                Ok(Err(_)) => Some(None),
                Err(_) => Some(Some(Close::STALLED)),
            },
            () = poll_fn(|cx| outbound.poll_overflow(cx)) => Some(Some(Close::TOO_SLOW)),
            never = sample_queue(&mut self.queue_bytes, bytes, outbound) => match never {},
        };
        self.queue_bytes.set(0);
        written
    }

    /// Sends what is queued, and closes.
    async fn drain_and_close(&mut self, batch: &mut Vec<Message>) -> Option<Close> {
        self.context.outbound.close(CloseReason::Disconnected);
        let outbound = self.context.outbound.clone();
        poll_fn(|cx| outbound.poll_take(cx, batch)).await;
        match self.write(batch).await {
            Some(close) => close,
            None => Some(Close::RESTART),
        }
    }

    /// Makes the client reconnect: what it was served with no longer holds.
    fn disconnect(&self) {
        let payload = json!({
            "extension": "system",
            "status": "ok",
            "message": "Server requested disconnect",
        });
        for topic in self.channels.topics() {
            let frame = Frame {
                join_ref: None,
                reference: None,
                topic,
                event: "system",
                payload: &payload.to_string(),
            };
            self.channels.send(frame.encode(self.context.version));
        }
        self.context.outbound.close(CloseReason::Disconnected);
    }

    fn check_timeouts(&mut self) -> Option<Close> {
        let config = self.context.config();
        if self.last_frame_at.elapsed() >= config.socket_idle {
            return Some(Close::IDLE);
        }
        if self.checked_channels_at.elapsed() >= config.no_channel_timeout {
            if !self.channels.has_channels() {
                return Some(Close::NO_CHANNEL);
            }
            self.checked_channels_at = Instant::now();
        }
        if self.channels.next_expiry().is_some_and(|at| at <= now()) {
            self.channels.reverify_credentials();
        }
        None
    }

    fn next_timer(&self) -> Instant {
        let config: Arc<RealtimeConfig> = self.context.config();
        let idle = self.last_frame_at + config.socket_idle;
        let no_channel = self.checked_channels_at + config.no_channel_timeout;
        let next = idle.min(no_channel).min(self.next_expiry());
        self.shutdown_at.map_or(next, |at| next.min(at))
    }

    fn next_expiry(&self) -> Instant {
        let seconds = self.channels.next_expiry().map(|at| at - now());
        let far = Duration::from_secs(24 * 3600);
        let wait = seconds.map_or(far, |seconds| {
            Duration::from_secs(u64::try_from(seconds).unwrap_or(0)).min(far)
        });
        Instant::now() + wait
    }

    /// Whether a token expires before the timer fires. A frame of the client does not move the timer:
    /// when it fires early, nothing has timed out and it is set again.
    fn timer_is_late(&self, timer: Instant) -> bool {
        self.channels.next_expiry().is_some() && self.next_expiry() < timer
    }

    /// Spreads sockets over the shutdown, by a number that is as good as random.
    fn shutdown_delay(&self) -> Duration {
        let spread =
            Duration::from_millis(self.context.hub.sockets() as u64).min(MAX_SHUTDOWN_SPREAD);
        let position = Arc::as_ptr(&self.context.outbound) as usize / 64 % 1024;
        spread.mul_f64(position as f64 / 1024.0)
    }
}

/// Updates the gauge for as long as the client does not read.
async fn sample_queue(
    queue_bytes: &mut GaugeShare,
    being_sent: usize,
    outbound: &OutboundQueue,
) -> Infallible {
    loop {
        queue_bytes.set(being_sent + outbound.bytes());
        sleep(QUEUE_SAMPLE_INTERVAL).await;
    }
}

/// Whether the client sent a frame over the size limit.
fn is_too_big(error: axum::Error) -> bool {
    let error = error.into_inner();
    let error = error.downcast_ref::<tungstenite::Error>();
    matches!(error, Some(tungstenite::Error::Capacity(_)))
}
