//! LISTEN on a dedicated connection that reconnects by itself.

use std::time::Duration;

use futures_util::{StreamExt, stream};
use tokio::sync::mpsc;
use tokio_postgres::{AsyncMessage, Client, Connection, NoTls, Socket, tls::TlsStream};
use tokio_util::sync::CancellationToken;

use crate::{DbError, QuotedIdent, Target};

const MIN_RECONNECT_BACKOFF: Duration = Duration::from_millis(100);
const MAX_RECONNECT_BACKOFF: Duration = Duration::from_secs(5);

/// Item of the receiver that [`listen`] returns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ListenEvent {
    /// Connected or reconnected: notifications in between were lost, so reload.
    Connected,
    /// One NOTIFY.
    Notification {
        /// The channel it was sent on.
        channel: String,
        /// Its text, possibly empty.
        payload: String,
    },
}

/// Listens on `channels` until `stop`; reconnects with backoff when the connection is lost.
///
/// The channel is bounded: a slow receiver only slows this listener down.
pub fn listen(
    target: Target,
    channels: Vec<String>,
    stop: CancellationToken,
) -> (mpsc::Receiver<ListenEvent>, tokio::task::JoinHandle<()>) {
    let (sender, receiver) = mpsc::channel(256);
    let task = tokio::spawn(async move {
        let mut backoff = MIN_RECONNECT_BACKOFF;
        loop {
            let session = listen_once(&target, &channels, &sender, &mut backoff);
            let ended = tokio::select! {
                () = stop.cancelled() => return,
                ended = session => ended,
            };
            if sender.is_closed() {
                return;
            }
            if let Err(error) = ended {
                tracing::debug!(error = %error, "LISTEN connection lost, reconnecting: {error}");
            }
            tokio::select! {
                () = stop.cancelled() => return,
                () = tokio::time::sleep(backoff) => backoff = (backoff * 2).min(MAX_RECONNECT_BACKOFF),
            }
        }
    });
    (receiver, task)
}

async fn listen_once(
    target: &Target,
    channels: &[String],
    sender: &mpsc::Sender<ListenEvent>,
    backoff: &mut Duration,
) -> Result<(), DbError> {
    match target.tls() {
        Some(tls) => {
            let (client, connection) = target.config().connect(tls).await?;
            receive(client, connection, channels, sender, backoff).await
        }
        None => {
            let (client, connection) = target.config().connect(NoTls).await?;
            receive(client, connection, channels, sender, backoff).await
        }
    }
}

async fn receive<T>(
    client: Client,
    mut connection: Connection<Socket, T>,
    channels: &[String],
    sender: &mpsc::Sender<ListenEvent>,
    backoff: &mut Duration,
) -> Result<(), DbError>
where
    T: TlsStream + Unpin,
{
    let mut messages = stream::poll_fn(move |cx| connection.poll_message(cx));
    let listen: String = channels
        .iter()
        .map(|channel| format!("listen {};", QuotedIdent::new(channel)))
        .collect();
    let subscribe = client.batch_execute(&listen);
    tokio::pin!(subscribe);
    let mut subscribed = false;
    loop {
        tokio::select! {
            result = &mut subscribe, if !subscribed => {
                result?;
                subscribed = true;
                *backoff = MIN_RECONNECT_BACKOFF;
                if sender.send(ListenEvent::Connected).await.is_err() {
                    return Ok(());
                }
            }
            message = messages.next() => match message {
                Some(Ok(AsyncMessage::Notification(notification))) => {
                    let event = ListenEvent::Notification {
                        channel: notification.channel().to_owned(),
                        payload: notification.payload().to_owned(),
                    };
                    if sender.send(event).await.is_err() {
                        return Ok(());
                    }
                }
                Some(Ok(_)) => {}
                Some(Err(error)) => return Err(error.into()),
                None => return Ok(()),
            },
        }
    }
}
