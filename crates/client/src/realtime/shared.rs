//! State shared by the handles of a client's channels: the protocol state machine and its driver task.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::task::{Context, Poll};
use std::time::Duration;

use futures_util::task::AtomicWaker;
use http::{HeaderName, HeaderValue};
use tokio::sync::Notify;
use url::Url;

use super::channel::ChannelInner;
use super::dial::OverReqwest;
use super::driver::{Input, run_driver};
use super::protocol::{Action, ChannelId, Protocol, Timing};
use super::{Connect, ConnectRequest, Connection, RealtimeOptions};
use crate::auth::Auth;
use crate::client::{Base, TokenSource};
use crate::clock::Clock;
use crate::http::{TransportError, client_info};
use crate::runtime::{self, Task};

/// What the driver task needs; it may outlive the handles for a moment.
pub(super) struct Environment {
    pub(super) base: Arc<Base>,
    pub(super) tokens: Arc<dyn TokenSource>,
    pub(super) auth: Option<Auth>,
    pub(super) options: RealtimeOptions,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) wake: Wake,
    transport: Arc<dyn Connect>,
}

pub(super) struct Shared {
    pub(super) environment: Arc<Environment>,
    protocol: Mutex<Protocol>,
    pub(super) handles: Mutex<BTreeMap<ChannelId, Weak<ChannelInner>>>,
    /// Senders wait here for capacity.
    pub(super) capacity: Notify,
    /// Cancelled when dropped.
    task: Mutex<Option<Task>>,
}

impl Shared {
    pub(super) fn new(
        base: Arc<Base>,
        tokens: Arc<dyn TokenSource>,
        auth: Option<Auth>,
        options: RealtimeOptions,
    ) -> Self {
        let ms = |duration: Duration| i64::try_from(duration.as_millis()).unwrap_or(i64::MAX / 2);
        let timing = Timing {
            heartbeat_ms: ms(options.heartbeat),
            timeout_ms: ms(options.timeout),
            idle_ms: ms(options.idle()),
            backoff: options.backoff.clone(),
        };
        let clock = base.http.clock().clone();
        let usual = || -> Arc<dyn Connect> { Arc::new(OverReqwest::new()) };
        let own_tokens = options.tokens.clone();
        Self {
            environment: Arc::new(Environment {
                // Tokens of a custom source do not change with the session.
                auth: auth.filter(|_| own_tokens.is_none()),
                tokens: own_tokens.unwrap_or(tokens),
                transport: options.transport.clone().unwrap_or_else(usual),
                base,
                options,
                clock,
                wake: Wake::default(),
            }),
            protocol: Mutex::new(Protocol::new(timing)),
            handles: Mutex::default(),
            capacity: Notify::new(),
            task: Mutex::default(),
        }
    }

    /// Updates the state machine and wakes the driver.
    pub(super) fn update_state<T>(
        self: &Arc<Self>,
        update_state: impl FnOnce(&mut Protocol, i64) -> T,
    ) -> T {
        let mut protocol = self.protocol();
        let done = update_state(&mut protocol, self.now());
        let has_actions = protocol.has_actions();
        drop(protocol);
        if has_actions {
            self.start();
        }
        self.environment.wake.wake();
        done
    }

    /// Reads the state machine.
    pub(super) fn read_state<T>(&self, read_state: impl FnOnce(&mut Protocol) -> T) -> T {
        read_state(&mut self.protocol())
    }

    pub(super) fn now(&self) -> i64 {
        self.environment.clock.now_ms()
    }

    // For the driver.

    pub(super) fn next_action(&self) -> Option<Action> {
        let action = self.protocol().next_action();
        if matches!(action, Some(Action::Send(_))) {
            self.capacity.notify_waiters();
        }
        action
    }

    pub(super) fn is_closing(&self) -> bool {
        self.protocol().is_closing()
    }

    pub(super) fn deadline(&self) -> Option<i64> {
        self.protocol().deadline()
    }

    pub(super) fn handle_input(&self, input: Input) {
        let now = self.now();
        let mut protocol = self.protocol();
        match input {
            Input::Opened => protocol.opened(now),
            Input::Lost(why) => protocol.lost(now, &why),
            Input::Received(message) => protocol.received(now, message),
            // Without a session the API key is the token.
            Input::Token(token) => {
                let key = || self.environment.base.key.clone();
                protocol.token_received(now, token.map(|token| token.unwrap_or_else(key)));
            }
            Input::Wakeup => {}
        }
        protocol.handle_timers(now);
        drop(protocol);
        self.capacity.notify_waiters();
    }

    /// Starts the driver, if there is a runtime.
    fn start(self: &Arc<Self>) {
        let mut task = self.task.lock().unwrap_or_else(PoisonError::into_inner);
        let is_running = task.as_ref().is_some_and(|task| !task.is_over());
        if is_running {
            return;
        }
        // The runtime of the earlier driver has ended.
        if task.take().is_some() {
            let now = self.now();
            self.protocol().lost(now, "its runtime has ended");
        }
        *task = runtime::spawn(run_driver(Arc::downgrade(self), self.environment.clone()));
    }

    fn protocol(&self) -> MutexGuard<'_, Protocol> {
        self.protocol.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Environment {
    pub(super) async fn dial(&self, limit: Duration) -> Result<Connection, TransportError> {
        let request = self.connect_request()?;
        let dialing = self.transport.connect(request);
        self.base.http.within(Some(limit), dialing).await?
    }

    fn connect_request(&self) -> Result<ConnectRequest, TransportError> {
        let url = format!("{}/websocket", self.base.url.realtime());
        let malformed = |_| TransportError::new("the project's URL is malformed");
        let mut url = Url::parse(&url).map_err(malformed)?;
        let mut query = url.query_pairs_mut();
        query.append_pair("apikey", &self.base.key);
        query.append_pair("vsn", self.options.vsn.name());
        query.extend_pairs(&self.options.params);
        drop(query);
        let mut headers = self.base.headers.clone();
        if let Ok(info) = HeaderValue::from_str(&client_info()) {
            let name = HeaderName::from_static("x-client-info");
            headers.entry(name).or_insert(info);
        }
        Ok(ConnectRequest {
            url: url.into(),
            headers,
        })
    }
}

/// Wakes the driver.
#[derive(Default)]
pub(super) struct Wake {
    is_due: AtomicBool,
    waker: AtomicWaker,
}

impl Wake {
    fn wake(&self) {
        self.is_due.store(true, Ordering::Release);
        self.waker.wake();
    }

    pub(super) fn poll(&self, context: &mut Context<'_>) -> Poll<()> {
        self.waker.register(context.waker());
        if self.is_due.swap(false, Ordering::AcqRel) {
            Poll::Ready(())
        } else {
            Poll::Pending
        }
    }
}
