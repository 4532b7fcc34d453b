//! LISTEN on a connection of its own that comes back by itself.

use std::time::Duration;

use futures_util::{StreamExt, stream};
use tokio::sync::mpsc;
use tokio_postgres::{AsyncMessage, Client, Connection, NoTls, Socket, tls::TlsStream};
use tokio_util::sync::CancellationToken;

use crate::{DbError, QuotedIdent, Target};

const FIRST_DELAY: Duration = Duration::from_millis(100);
const LONGEST_DELAY: Duration = Duration::from_secs(5);

/// What a listener tells.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Heard {
    /// Listening (again): whatever happened in between was missed, so reload.
    Connected,
    /// One NOTIFY.
    Notification {
        /// The channel it was sent on.
        channel: String,
        /// Its text, possibly empty.
        payload: String,
    },
}

/// Listens on `channels` until `stop`; reconnects with a growing delay when the server is lost.
///
/// The receiver is bounded: a reader that falls behind slows the listener down, nothing else.
pub fn listen(
    target: Target,
    channels: Vec<String>,
    stop: CancellationToken,
) -> (mpsc::Receiver<Heard>, tokio::task::JoinHandle<()>) {
    let (sender, receiver) = mpsc::channel(256);
    let task = tokio::spawn(async move {
        let mut delay = FIRST_DELAY;
        loop {
            let session = listen_once(&target, &channels, &sender, &mut delay);
            let ended = tokio::select! {
                () = stop.cancelled() => return,
                ended = session => ended,
            };
            if sender.is_closed() {
                return;
            }
            if let Err(error) = ended {
                tracing::debug!(error = %error, "listening was interrupted: {error}");
            }
            tokio::select! {
                () = stop.cancelled() => return,
                () = tokio::time::sleep(delay) => delay = (delay * 2).min(LONGEST_DELAY),
            }
        }
    });
    (receiver, task)
}

async fn listen_once(
    target: &Target,
    channels: &[String],
    sender: &mpsc::Sender<Heard>,
    delay: &mut Duration,
) -> Result<(), DbError> {
    match target.tls() {
        Some(tls) => {
            let (client, connection) = target.config().connect(tls).await?;
            follow(client, connection, channels, sender, delay).await
        }
        None => {
            let (client, connection) = target.config().connect(NoTls).await?;
            follow(client, connection, channels, sender, delay).await
        }
    }
}

async fn follow<T>(
    client: Client,
    mut connection: Connection<Socket, T>,
    channels: &[String],
    sender: &mpsc::Sender<Heard>,
    delay: &mut Duration,
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
            answer = &mut subscribe, if !subscribed => {
                answer?;
                subscribed = true;
                *delay = FIRST_DELAY;
                if sender.send(Heard::Connected).await.is_err() {
                    return Ok(());
                }
            }
            message = messages.next() => match message {
                Some(Ok(AsyncMessage::Notification(notification))) => {
                    let heard = Heard::Notification {
                        channel: notification.channel().to_owned(),
                        payload: notification.payload().to_owned(),
                    };
                    if sender.send(heard).await.is_err() {
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
