//! What all handles of a client's channels share: the conversation, and the task that carries it.

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
use super::conversation::{Conversation, Order, RoomId, Rules};
use super::dial::OverReqwest;
use super::driver::{Input, drive};
use super::{Connect, ConnectRequest, Connection, RealtimeOptions};
use crate::auth::Auth;
use crate::client::{Base, TokenSource};
use crate::clock::Clock;
use crate::http::{TransportError, client_info};
use crate::runtime::{self, Task};

/// What the task needs; it may live a moment longer than the handles.
pub(super) struct Surroundings {
    pub(super) base: Arc<Base>,
    pub(super) tokens: Arc<dyn TokenSource>,
    pub(super) auth: Option<Auth>,
    pub(super) options: RealtimeOptions,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) wake: Wake,
    transport: Arc<dyn Connect>,
}

pub(super) struct Shared {
    pub(super) around: Arc<Surroundings>,
    conversation: Mutex<Conversation>,
    pub(super) handles: Mutex<BTreeMap<RoomId, Weak<ChannelInner>>>,
    /// Senders wait here while the connection is busy.
    pub(super) capacity: Notify,
    /// Ends with this.
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
        let rules = Rules {
            heartbeat_ms: ms(options.heartbeat),
            timeout_ms: ms(options.timeout),
            idle_ms: ms(options.idle()),
            ladder: options.ladder.clone(),
        };
        let clock = base.http.clock().clone();
        let usual = || -> Arc<dyn Connect> { Arc::new(OverReqwest::new()) };
        let own_tokens = options.tokens.clone();
        Self {
            around: Arc::new(Surroundings {
                // Tokens of another source do not change with the session.
                auth: auth.filter(|_| own_tokens.is_none()),
                tokens: own_tokens.unwrap_or(tokens),
                transport: options.transport.clone().unwrap_or_else(usual),
                base,
                options,
                clock,
                wake: Wake::default(),
            }),
            conversation: Mutex::new(Conversation::new(rules)),
            handles: Mutex::default(),
            capacity: Notify::new(),
            task: Mutex::default(),
        }
    }

    /// Does something, and has the task look at what it led to.
    pub(super) fn act<T>(self: &Arc<Self>, act: impl FnOnce(&mut Conversation, i64) -> T) -> T {
        let mut conversation = self.conversation();
        let done = act(&mut conversation, self.now());
        let has_orders = conversation.has_orders();
        drop(conversation);
        if has_orders {
            self.start();
        }
        self.around.wake.wake();
        done
    }

    /// Looks at something.
    pub(super) fn look<T>(&self, look: impl FnOnce(&mut Conversation) -> T) -> T {
        look(&mut self.conversation())
    }

    pub(super) fn now(&self) -> i64 {
        self.around.clock.now_ms()
    }

    // For the task.

    pub(super) fn next_order(&self) -> Option<Order> {
        let order = self.conversation().next_order();
        if matches!(order, Some(Order::Send(_))) {
            self.capacity.notify_waiters();
        }
        order
    }

    pub(super) fn is_ending(&self) -> bool {
        self.conversation().is_ending()
    }

    pub(super) fn deadline(&self) -> Option<i64> {
        self.conversation().deadline()
    }

    pub(super) fn tell(&self, input: Input) {
        let now = self.now();
        let mut conversation = self.conversation();
        match input {
            Input::Opened => conversation.opened(now),
            Input::Lost(why) => conversation.lost(now, &why),
            Input::Received(message) => conversation.received(now, message),
            // Nobody is signed in: the key speaks for itself.
            Input::Token(token) => {
                let key = || self.around.base.key.clone();
                conversation.token(now, token.map(|token| token.unwrap_or_else(key)));
            }
            Input::Woken => {}
        }
        conversation.time(now);
        drop(conversation);
        self.capacity.notify_waiters();
    }

    /// Begins to carry the conversation, where there is a runtime to do it.
    fn start(self: &Arc<Self>) {
        let mut task = self.task.lock().unwrap_or_else(PoisonError::into_inner);
        let is_running = task.as_ref().is_some_and(|task| !task.is_over());
        if is_running {
            return;
        }
        // The runtime that had the connection has ended, and another one is here.
        if task.take().is_some() {
            let now = self.now();
            self.conversation().lost(now, "its runtime has ended");
        }
        *task = runtime::spawn(drive(Arc::downgrade(self), self.around.clone()));
    }

    fn conversation(&self) -> MutexGuard<'_, Conversation> {
        self.conversation
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

impl Surroundings {
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

/// Tells the task that there is something to do.
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
        match self.is_due.swap(false, Ordering::AcqRel) {
            true => Poll::Ready(()),
            false => Poll::Pending,
        }
    }
}
