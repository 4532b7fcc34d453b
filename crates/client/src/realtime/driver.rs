//! Carries out what the conversation orders, and tells it what comes of it.
//!
//! One task per client. It holds its client weakly and ends with it.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::{Arc, Weak};
use std::task::{Context, Poll};
use std::time::Duration;

use futures_util::{FutureExt, SinkExt, StreamExt};

use super::conversation::Order;
use super::frame::Incoming;
use super::shared::{Shared, Surroundings};
use super::{Connection, SocketMessage, WebSocket};
use crate::auth::{AuthError, AuthEvent, AuthEvents};
use crate::http::TransportError;
use crate::runtime::{self, BoxFuture};

/// How long a handshake may take.
const HANDSHAKE_LIMIT: Duration = Duration::from_secs(20);
/// How long goodbyes may take.
const GOODBYE_LIMIT: Duration = Duration::from_secs(2);
/// What is handed to the connection and not yet taken by the network.
const MAX_UNSENT: usize = 16;
const NORMAL: u16 = 1000;

/// Something happened.
pub(super) enum Input {
    Opened,
    Lost(String),
    Received(Incoming),
    Token(Result<Option<String>, AuthError>),
    /// Time has passed, or there are orders.
    Woken,
}

struct Driver {
    around: Arc<Surroundings>,
    dialing: Option<BoxFuture<'static, Result<Connection, TransportError>>>,
    socket: Option<Connection>,
    unsent: VecDeque<SocketMessage>,
    asking: Option<BoxFuture<'static, Result<Option<String>, AuthError>>>,
    events: Option<AuthEvents>,
    timer: Option<(i64, BoxFuture<'static, ()>)>,
}

pub(super) async fn drive(shared: Weak<Shared>, around: Arc<Surroundings>) {
    let mut driver = Driver {
        events: around.auth.as_ref().map(crate::auth::Auth::events),
        around,
        dialing: None,
        socket: None,
        unsent: VecDeque::new(),
        asking: None,
        timer: None,
    };
    loop {
        let Some(strong) = shared.upgrade() else {
            return;
        };
        // A connection that takes nothing can still be ended.
        while (driver.unsent.len() < MAX_UNSENT || strong.is_ending())
            && let Some(order) = strong.next_order()
        {
            driver.obey(order);
        }
        driver.wait_until(strong.deadline());
        drop(strong);

        let input = poll_fn(|context| driver.poll_input(context)).await;

        let Some(strong) = shared.upgrade() else {
            return;
        };
        strong.tell(input);
    }
}

impl Driver {
    fn obey(&mut self, order: Order) {
        match order {
            Order::Connect => {
                let around = self.around.clone();
                self.unsent.clear();
                self.socket = None;
                self.dialing = Some(Box::pin(async move { around.dial(HANDSHAKE_LIMIT).await }));
            }
            Order::Send(message) => {
                // What has no form on this connection was refused where it was given.
                let message = message.encode(self.around.options.vsn);
                self.unsent
                    .extend(message.filter(|_| self.socket.is_some()));
            }
            Order::Close(reason) => {
                self.dialing = None;
                if let Some(socket) = self.socket.take() {
                    let unsent = std::mem::take(&mut self.unsent);
                    say_goodbye(&self.around, socket, unsent, reason);
                }
            }
            Order::AskToken => {
                let tokens = self.around.tokens.clone();
                let ask = async move { tokens.token().await };
                self.asking.get_or_insert_with(|| Box::pin(ask));
            }
        }
    }

    fn wait_until(&mut self, deadline: Option<i64>) {
        let is_same = self.timer.as_ref().map(|(at, _)| *at) == deadline;
        if is_same {
            return;
        }
        let clock = &self.around.clock;
        self.timer = deadline.map(|at| {
            let wait = u64::try_from(at - clock.now_ms()).unwrap_or_default();
            (at, clock.sleep(Duration::from_millis(wait)))
        });
    }

    /// Everything that can happen, one at a time.
    fn poll_input(&mut self, context: &mut Context<'_>) -> Poll<Input> {
        if let Poll::Ready(input) = self.poll_socket(context) {
            return Poll::Ready(input);
        }
        if let Some(dialing) = &mut self.dialing
            && let Poll::Ready(dialed) = dialing.poll_unpin(context)
        {
            self.dialing = None;
            return Poll::Ready(match dialed {
                Ok(socket) => {
                    tracing::debug!("the realtime connection is open");
                    self.socket = Some(socket);
                    Input::Opened
                }
                Err(error) => lost(error.to_string()),
            });
        }
        if let Poll::Ready(token) = self.poll_events(context) {
            // Whatever is being asked for is older.
            self.asking = None;
            return Poll::Ready(Input::Token(Ok(token)));
        }
        if let Some(asking) = &mut self.asking
            && let Poll::Ready(token) = asking.poll_unpin(context)
        {
            self.asking = None;
            return Poll::Ready(Input::Token(token));
        }
        if let Some((_, timer)) = &mut self.timer
            && timer.poll_unpin(context).is_ready()
        {
            self.timer = None;
            return Poll::Ready(Input::Woken);
        }
        if self.around.wake.poll(context).is_ready() {
            return Poll::Ready(Input::Woken);
        }
        Poll::Pending
    }

    fn poll_socket(&mut self, context: &mut Context<'_>) -> Poll<Input> {
        let Some(socket) = &mut self.socket else {
            return Poll::Pending;
        };
        let had_unsent = self.unsent.len() >= MAX_UNSENT;
        let failure = match poll_write(&mut **socket, &mut self.unsent, context) {
            Poll::Ready(Err(error)) => Some(error.to_string()),
            Poll::Ready(Ok(())) | Poll::Pending => None,
        };
        let end = match failure {
            Some(failure) => Some(failure),
            None => loop {
                match socket.poll_next_unpin(context) {
                    Poll::Pending => break None,
                    Poll::Ready(None) => break Some("the server ended it".to_owned()),
                    Poll::Ready(Some(Err(error))) => break Some(error.to_string()),
                    Poll::Ready(Some(Ok(SocketMessage::Close { code, reason }))) => {
                        break Some(format!("the server ended it with {code} {reason}"));
                    }
                    Poll::Ready(Some(Ok(message))) => {
                        match Incoming::decode(&message, self.around.options.vsn) {
                            Some(message) => return Poll::Ready(Input::Received(message)),
                            None => tracing::debug!(
                                "a realtime message that makes no sense was skipped"
                            ),
                        }
                    }
                }
            },
        };
        match end {
            Some(why) => {
                self.socket = None;
                self.unsent.clear();
                Poll::Ready(lost(why.trim_end().to_owned()))
            }
            // There is room for more of what waits.
            None if had_unsent && self.unsent.len() < MAX_UNSENT => Poll::Ready(Input::Woken),
            None => Poll::Pending,
        }
    }

    /// The token that somebody signed in with, or none any more.
    fn poll_events(&mut self, context: &mut Context<'_>) -> Poll<Option<String>> {
        let Some(events) = &mut self.events else {
            return Poll::Pending;
        };
        while let Poll::Ready(next) = events.poll_next_unpin(context) {
            let Some((event, session)) = next else {
                self.events = None;
                return Poll::Pending;
            };
            let token = session.map(|session| session.access_token().to_owned());
            // A second factor, too, comes with a new token, which JavaScript tells the server of
            // only at the next heartbeat.
            match event {
                AuthEvent::SignedOut { .. } => return Poll::Ready(None),
                _ if token.is_some() => return Poll::Ready(token),
                _ => {}
            }
        }
        Poll::Pending
    }
}

/// Why stays out of traces: servers may repeat what they were sent.
fn lost(why: String) -> Input {
    tracing::debug!("there is no realtime connection");
    Input::Lost(why)
}

/// Hands over as much as the connection takes.
fn poll_write(
    socket: &mut dyn WebSocket,
    unsent: &mut VecDeque<SocketMessage>,
    context: &mut Context<'_>,
) -> Poll<Result<(), TransportError>> {
    while !unsent.is_empty() {
        std::task::ready!(Pin::new(&mut *socket).poll_ready(context))?;
        if let Some(message) = unsent.pop_front() {
            Pin::new(&mut *socket).start_send(message)?;
        }
    }
    Pin::new(socket).poll_flush(context)
}

/// Sends what is left and the end, on its own: nobody waits for it.
fn say_goodbye(
    around: &Arc<Surroundings>,
    mut socket: Connection,
    unsent: VecDeque<SocketMessage>,
    reason: &str,
) {
    let clock = around.clock.clone();
    let end = SocketMessage::Close {
        code: NORMAL,
        reason: reason.to_owned(),
    };
    runtime::finish(async move {
        let goodbye = async {
            for message in unsent.into_iter().chain([end]) {
                socket.send(message).await?;
            }
            // Until the server has said it, too.
            while let Some(Ok(message)) = socket.next().await {
                if matches!(message, SocketMessage::Close { .. }) {
                    break;
                }
            }
            socket.close().await
        };
        let limit = clock.sleep(GOODBYE_LIMIT);
        _ = futures_util::future::select(Box::pin(goodbye), limit).await;
    });
}
