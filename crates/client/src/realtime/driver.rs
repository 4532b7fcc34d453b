//! Executes the actions of the protocol state machine and feeds it their results.
//!
//! One task per client. It holds its client weakly and ends with it.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::{Arc, Weak};
use std::task::{Context, Poll};
use std::time::Duration;

use futures_util::{FutureExt, SinkExt, StreamExt};

use super::frame::Incoming;
use super::protocol::Action;
use super::shared::{Environment, Shared};
use super::{Connection, SocketMessage, WebSocket};
use crate::auth::{AuthError, AuthEvent, AuthEvents};
use crate::http::TransportError;
use crate::runtime::{self, BoxFuture};

/// Timeout of the WebSocket handshake.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(20);
/// Timeout of the closing handshake.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(2);
/// Messages passed to the socket but not written yet.
const MAX_UNSENT: usize = 16;
const NORMAL: u16 = 1000;

/// An input for the state machine.
pub(super) enum Input {
    Opened,
    Lost(String),
    Received(Incoming),
    Token(Result<Option<String>, AuthError>),
    /// A timer fired, or there are new actions.
    Wakeup,
}

struct Driver {
    environment: Arc<Environment>,
    dialing: Option<BoxFuture<'static, Result<Connection, TransportError>>>,
    socket: Option<Connection>,
    unsent: VecDeque<SocketMessage>,
    fetching_token: Option<BoxFuture<'static, Result<Option<String>, AuthError>>>,
    events: Option<AuthEvents>,
    timer: Option<(i64, BoxFuture<'static, ()>)>,
}

pub(super) async fn run_driver(shared: Weak<Shared>, environment: Arc<Environment>) {
    let mut driver = Driver {
        events: environment.auth.as_ref().map(crate::auth::Auth::events),
        environment,
        dialing: None,
        socket: None,
        unsent: VecDeque::new(),
        fetching_token: None,
        timer: None,
    };
    loop {
        let Some(strong) = shared.upgrade() else {
            return;
        };
        // Even a connection that accepts no messages can be closed.
        while (driver.unsent.len() < MAX_UNSENT || strong.is_closing())
            && let Some(action) = strong.next_action()
        {
            driver.execute(action);
        }
        driver.wait_until(strong.deadline());
        drop(strong);

        let input = poll_fn(|context| driver.poll_input(context)).await;

        let Some(strong) = shared.upgrade() else {
            return;
        };
        strong.handle_input(input);
    }
}

impl Driver {
    fn execute(&mut self, action: Action) {
        match action {
            Action::Connect => {
                let environment = self.environment.clone();
                self.unsent.clear();
                self.socket = None;
                self.dialing = Some(Box::pin(async move {
                    environment.dial(HANDSHAKE_TIMEOUT).await
                }));
            }
            Action::Send(message) => {
                // Messages that this protocol version cannot encode were rejected earlier.
                let message = message.encode(self.environment.options.vsn);
                self.unsent
                    .extend(message.filter(|_| self.socket.is_some()));
            }
            Action::Close(reason) => {
                self.dialing = None;
                if let Some(socket) = self.socket.take() {
                    let unsent = std::mem::take(&mut self.unsent);
                    close_gracefully(&self.environment, socket, unsent, reason);
                }
            }
            Action::FetchToken => {
                let tokens = self.environment.tokens.clone();
                let ask = async move { tokens.token().await };
                self.fetching_token.get_or_insert_with(|| Box::pin(ask));
            }
        }
    }

    fn wait_until(&mut self, deadline: Option<i64>) {
        let is_same = self.timer.as_ref().map(|(at, _)| *at) == deadline;
        if is_same {
            return;
        }
        let clock = &self.environment.clock;
        self.timer = deadline.map(|at| {
            let wait = u64::try_from(at - clock.now_ms()).unwrap_or_default();
            (at, clock.sleep(Duration::from_millis(wait)))
        });
    }

    /// Polls all sources; returns one input at a time.
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
                    tracing::debug!("realtime connection opened");
                    self.socket = Some(socket);
                    Input::Opened
                }
                Err(error) => lost_connection(error.to_string()),
            });
        }
        if let Poll::Ready(token) = self.poll_events(context) {
            // A pending request for a token would return an older one.
            self.fetching_token = None;
            return Poll::Ready(Input::Token(Ok(token)));
        }
        if let Some(fetching_token) = &mut self.fetching_token
            && let Poll::Ready(token) = fetching_token.poll_unpin(context)
        {
            self.fetching_token = None;
            return Poll::Ready(Input::Token(token));
        }
        if let Some((_, timer)) = &mut self.timer
            && timer.poll_unpin(context).is_ready()
        {
            self.timer = None;
            return Poll::Ready(Input::Wakeup);
        }
        if self.environment.wake.poll(context).is_ready() {
            return Poll::Ready(Input::Wakeup);
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
                        match Incoming::decode(&message, self.environment.options.vsn) {
                            Some(message) => return Poll::Ready(Input::Received(message)),
                            None => tracing::debug!("skipped a malformed realtime message"),
                        }
                    }
                }
            },
        };
        match end {
            Some(why) => {
                self.socket = None;
                self.unsent.clear();
                Poll::Ready(lost_connection(why.trim_end().to_owned()))
            }
            // There is capacity for queued messages again.
            None if had_unsent && self.unsent.len() < MAX_UNSENT => Poll::Ready(Input::Wakeup),
            None => Poll::Pending,
        }
    }

    /// The access token after an auth event; `None` after a sign-out.
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
            // Verifying a second factor also yields a new token, which the JavaScript client sends only
            // with the next heartbeat.
            match event {
                AuthEvent::SignedOut { .. } => return Poll::Ready(None),
                _ if token.is_some() => return Poll::Ready(token),
                _ => {}
            }
        }
        Poll::Pending
    }
}

/// The reason stays out of traces: servers may repeat what they were sent.
fn lost_connection(why: String) -> Input {
    tracing::debug!("realtime connection lost or failed");
    Input::Lost(why)
}

/// Writes as much as the socket accepts.
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

/// Sends the remaining messages and closes the socket in the background.
fn close_gracefully(
    environment: &Arc<Environment>,
    mut socket: Connection,
    unsent: VecDeque<SocketMessage>,
    reason: &str,
) {
    let clock = environment.clock.clone();
    let end = SocketMessage::Close {
        code: NORMAL,
        reason: reason.to_owned(),
    };
    runtime::finish(async move {
        let closing = async {
            for message in unsent.into_iter().chain([end]) {
                socket.send(message).await?;
            }
            // Wait for the server's close frame.
            while let Some(Ok(message)) = socket.next().await {
                if matches!(message, SocketMessage::Close { .. }) {
                    break;
                }
            }
            socket.close().await
        };
        let limit = clock.sleep(CLOSE_TIMEOUT);
        _ = futures_util::future::select(Box::pin(closing), limit).await;
    });
}
