//! The task of one socket: it alone reads from and writes to the client.

use std::{convert::Infallible, future::poll_fn, sync::Arc, time::Duration};

use axum::extract::ws::{CloseFrame, Message, WebSocket, close_code};
use futures_util::{SinkExt as _, StreamExt as _};
use serde_json::json;
use tokio::time::{Instant, sleep, sleep_until, timeout};

use super::{End, Outbox, Scene, conversation::Conversation, log::Severity, outbox::payload_bytes};
use crate::{
    clock::now,
    config::RealtimeConfig,
    numbers::Share,
    protocol::{Frame, Incoming},
};

/// How long a client may take to answer the end of its socket.
const FAREWELL: Duration = Duration::from_secs(5);

/// When the service ends, its clients come back one after the other.
const LONGEST_SPREAD: Duration = Duration::from_secs(3);

/// How often it is counted what waits for a client that does not take it.
const COUNTING: Duration = Duration::from_secs(1);

/// Why a socket ends on our side.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Close {
    code: u16,
    reason: &'static str,
}

impl Close {
    const TOO_SLOW: Self = Self::new(close_code::ERROR, "client does not keep up");
    const STALLED: Self = Self::new(close_code::ERROR, "client takes nothing");
    const SILENT: Self = Self::new(close_code::NORMAL, "no frame for too long");
    const NO_CHANNEL: Self = Self::new(close_code::NORMAL, "no channel joined");
    const TOO_BIG: Self = Self::new(close_code::SIZE, "frame too big");
    const RESTART: Self = Self::new(close_code::RESTART, "service restart");

    const fn new(code: u16, reason: &'static str) -> Self {
        Self { code, reason }
    }
}

/// What became of messages that were not sent, as operators read it.
fn drop_reason(close: Option<Close>) -> &'static str {
    match close {
        Some(Close::TOO_SLOW) => "queue_bytes",
        Some(Close::STALLED) => "queue_age",
        _ => "closed",
    }
}

/// Serves a socket to its end.
pub(super) async fn serve(socket: WebSocket, scene: Arc<Scene>) {
    let _open = scene.project.stay_open();
    let numbers = &scene.hub.numbers;
    let mut task = Task {
        socket,
        conversation: Conversation::new(scene.clone()),
        heard_at: Instant::now(),
        swept_at: Instant::now(),
        leaves_at: None,
        waiting: Share::of(&numbers.queue_bytes),
        unsent: 0,
        scene: scene.clone(),
    };
    let close = task.run().await;
    task.conversation.end();
    let unsent = task.unsent + scene.outbox.unsent();
    numbers.dropped(drop_reason(close), unsent);
    if let Some(close) = close {
        numbers.closed(close.reason);
        let frame = CloseFrame {
            code: close.code,
            reason: close.reason.into(),
        };
        let farewell = async {
            if task.socket.send(Message::Close(Some(frame))).await.is_ok() {
                while let Some(Ok(_)) = task.socket.next().await {}
            }
        };
        _ = timeout(FAREWELL, farewell).await;
    }
}

struct Task {
    socket: WebSocket,
    conversation: Conversation,
    scene: Arc<Scene>,
    /// The client's last frame.
    heard_at: Instant,
    /// When it was last looked whether there is a channel.
    swept_at: Instant,
    /// When it is this socket's turn to end with the service.
    leaves_at: Option<Instant>,
    /// Bytes that the client does not take.
    waiting: Share,
    /// Messages that were taken out of the outbox and not handed over to the client's connection.
    unsent: usize,
}

impl Task {
    /// Runs until the client is gone (`None`), or must go.
    async fn run(&mut self) -> Option<Close> {
        let scene = self.scene.clone();
        let mut settings = scene.project.settings().subscribe();
        let mut keys = scene.project.keys_replaced();
        let mut batch = Vec::new();
        let alarm = sleep_until(self.next_alarm());
        tokio::pin!(alarm);
        loop {
            tokio::select! {
                end = poll_fn(|cx| scene.outbox.poll_take(cx, &mut batch)) => {
                    if let Some(close) = self.write(&mut batch).await {
                        return close;
                    }
                    match end {
                        Some(End::TooSlow) => return Some(Close::TOO_SLOW),
                        Some(End::Disconnected) => return Some(Close::RESTART),
                        None => {}
                    }
                    if let Some(code) = self.conversation.ends {
                        return Some(Close::new(code, "too many joins"));
                    }
                }
                frame = self.socket.next(), if self.conversation.takes_more() => {
                    self.heard_at = Instant::now();
                    match frame {
                        None => return None,
                        Some(Err(error)) => return is_too_big(error).then_some(Close::TOO_BIG),
                        Some(Ok(Message::Close(_))) => return None,
                        Some(Ok(message)) => self.hear(message),
                    }
                    if self.alarm_is_late(alarm.deadline()) {
                        alarm.as_mut().reset(self.next_alarm());
                    }
                }
                outcome = self.conversation.work.next(), if !self.conversation.work.is_empty() => {
                    if let Some(outcome) = outcome {
                        self.conversation.finish(outcome);
                    }
                    if self.alarm_is_late(alarm.deadline()) {
                        alarm.as_mut().reset(self.next_alarm());
                    }
                }
                () = &mut alarm => {
                    if self.leaves_at.is_some_and(|at| at <= Instant::now()) {
                        return self.last_words(&mut batch).await;
                    }
                    if let Some(close) = self.look_at_the_clock() {
                        return Some(close);
                    }
                    alarm.as_mut().reset(self.next_alarm());
                }
                changed = keys.changed() => match changed {
                    // A closed channel is not joined again by clients; a closed socket is opened anew.
                    Ok(()) if self.conversation.has_good_tokens() => {}
                    Ok(()) | Err(_) => self.disconnect(),
                },
                changed = settings.changed() => match changed {
                    Ok(()) => {
                        let config = scene.config();
                        let is_refused = config.is_private_only
                            && self.conversation.has_public_channel();
                        if is_refused || !config.is_enabled {
                            self.disconnect();
                        }
                    }
                    Err(_) => self.disconnect(),
                },
                () = scene.project.closed().cancelled() => {
                    self.disconnect();
                    return self.last_words(&mut batch).await;
                }
                // Until its turn comes, it is served as ever; only joins are refused.
                () = scene.stop.cancelled(), if self.leaves_at.is_none() => {
                    self.leaves_at = Some(Instant::now() + self.own_delay());
                    alarm.as_mut().reset(self.next_alarm());
                }
            }
        }
    }

    fn hear(&mut self, message: Message) {
        let version = self.scene.version;
        let size = payload_bytes(&message) as u64;
        self.scene.hub.numbers.input_bytes.increment(size);
        let incoming = match &message {
            Message::Text(text) => Incoming::read_text(version, text),
            Message::Binary(bytes) => Incoming::read_binary(version, bytes),
            Message::Ping(_) | Message::Pong(_) | Message::Close(_) => return,
        };
        match incoming {
            Ok(incoming) => self.conversation.hear(incoming),
            Err(error) => {
                let code = "MalformedWebSocketMessage";
                let log = &self.scene.log;
                log.note(Severity::Warning, code, format_args!("{error}"));
            }
        }
    }

    /// Sends everything at once. `Some` if the socket ends.
    async fn write(&mut self, batch: &mut Vec<Message>) -> Option<Option<Close>> {
        let outbox = &self.scene.outbox;
        let patience = self.scene.config().max_queue_age;
        let bytes: usize = batch.iter().map(payload_bytes).sum();
        self.scene.hub.numbers.output_bytes.increment(bytes as u64);
        let (socket, unsent) = (&mut self.socket, &mut self.unsent);
        *unsent = batch.len();
        let sending = async {
            for message in batch.drain(..) {
                socket.feed(message).await?;
                *unsent -= 1;
            }
            socket.flush().await
        };
        // Sending comes first: as a rule nothing else is looked at.
        let written = tokio::select! {
            biased;
            sent = timeout(patience, sending) => match sent {
                Ok(Ok(())) => None,
                Ok(Err(_)) => Some(None),
                Err(_) => Some(Some(Close::STALLED)),
            },
            () = poll_fn(|cx| outbox.poll_overflow(cx)) => Some(Some(Close::TOO_SLOW)),
            never = count_waiting(&mut self.waiting, bytes, outbox) => match never {},
        };
        self.waiting.set(0);
        written
    }

    /// Sends what waits, and ends.
    async fn last_words(&mut self, batch: &mut Vec<Message>) -> Option<Close> {
        self.scene.outbox.end(End::Disconnected);
        let outbox = self.scene.outbox.clone();
        poll_fn(|cx| outbox.poll_take(cx, batch)).await;
        match self.write(batch).await {
            Some(close) => close,
            None => Some(Close::RESTART),
        }
    }

    /// Lets the client connect anew: what it was told no longer holds.
    fn disconnect(&self) {
        let payload = json!({
            "extension": "system",
            "status": "ok",
            "message": "Server requested disconnect",
        });
        for topic in self.conversation.topics() {
            let frame = Frame {
                join_ref: None,
                reference: None,
                topic,
                event: "system",
                payload: &payload.to_string(),
            };
            self.conversation.say(frame.encode(self.scene.version));
        }
        self.scene.outbox.end(End::Disconnected);
    }

    fn look_at_the_clock(&mut self) -> Option<Close> {
        let config = self.scene.config();
        if self.heard_at.elapsed() >= config.socket_idle {
            return Some(Close::SILENT);
        }
        if self.swept_at.elapsed() >= config.no_channel_timeout {
            if !self.conversation.has_channels() {
                return Some(Close::NO_CHANNEL);
            }
            self.swept_at = Instant::now();
        }
        if self
            .conversation
            .next_expiry()
            .is_some_and(|at| at <= now())
        {
            self.conversation.verify_again();
        }
        None
    }

    fn next_alarm(&self) -> Instant {
        let config: Arc<RealtimeConfig> = self.scene.config();
        let silent = self.heard_at + config.socket_idle;
        let sweep = self.swept_at + config.no_channel_timeout;
        let next = silent.min(sweep).min(self.next_expiry());
        self.leaves_at.map_or(next, |leaves_at| next.min(leaves_at))
    }

    fn next_expiry(&self) -> Instant {
        let seconds = self.conversation.next_expiry().map(|at| at - now());
        let far = Duration::from_secs(24 * 3600);
        let wait = seconds.map_or(far, |seconds| {
            Duration::from_secs(u64::try_from(seconds).unwrap_or(0)).min(far)
        });
        Instant::now() + wait
    }

    /// Whether a token ends before the alarm would ring. That the client spoke meanwhile need not
    /// be told to the timer: it looks when it rings.
    fn alarm_is_late(&self, alarm: Instant) -> bool {
        self.conversation.next_expiry().is_some() && self.next_expiry() < alarm
    }

    /// Clients of a service that ends come back one after the other.
    fn own_delay(&self) -> Duration {
        let spread = Duration::from_millis(self.scene.hub.sockets() as u64).min(LONGEST_SPREAD);
        let place = Arc::as_ptr(&self.scene.outbox) as usize / 64 % 1024;
        spread.mul_f64(place as f64 / 1024.0)
    }
}

/// Counts what the client does not take, as long as it does not.
async fn count_waiting(waiting: &mut Share, being_sent: usize, outbox: &Outbox) -> Infallible {
    loop {
        waiting.set(being_sent + outbox.bytes());
        sleep(COUNTING).await;
    }
}

/// Whether the client sent more than it may.
fn is_too_big(error: axum::Error) -> bool {
    let error = error.into_inner();
    let error = error.downcast_ref::<tungstenite::Error>();
    matches!(error, Some(tungstenite::Error::Capacity(_)))
}
