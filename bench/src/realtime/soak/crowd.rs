//! Permanent sockets and short-lived visitors.

use std::{sync::Arc, time::Duration};

use anyhow::{Context as _, ensure};
use tokio::{
    io::AsyncWriteExt as _,
    net::TcpStream,
    task::JoinSet,
    time::{Instant, MissedTickBehavior, interval, sleep, timeout},
};
use tokio_util::task::AbortOnDropHandle;

use super::counts::Counts;
use crate::realtime::{
    client,
    rows::{Target, Users},
};

/// Permanent sockets per channel.
const CHANNEL_SIZE: u16 = 10;
/// Messages that a visitor sends.
const MESSAGES_PER_VISIT: usize = 3;
/// How long a visitor stays after its last message.
const LEAVE_DELAY: Duration = Duration::from_millis(500);
/// Timeout, so that a hanging server does not hang the benchmark.
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(30);

/// The channel of a socket.
pub(super) fn topic(number: u16) -> String {
    format!("realtime:soak-{}", number / CHANNEL_SIZE)
}

/// How many sockets share a channel.
pub(super) fn subscribers_of(number: u16, sockets: u16) -> u16 {
    CHANNEL_SIZE.min(sockets - number / CHANNEL_SIZE * CHANNEL_SIZE)
}

/// Opens sockets that receive until they are dropped.
pub(super) async fn stay(
    target: &Target,
    sockets: u16,
    counts: &Arc<Counts>,
) -> anyhow::Result<Vec<AbortOnDropHandle<()>>> {
    let users = Users::new(target)?;
    let mut staying = Vec::with_capacity(sockets.into());
    for number in 0..sockets {
        let presence = serde_json::json!({"enabled": true, "key": format!("stays-{number}")});
        let mut join_config = users.join_config(number, true)?;
        join_config["config"]["presence"] = presence;
        let topic = topic(number);
        let join_config = join_config.to_string();
        let mut stream = client::join_with(target.port, &target.key, &topic, &join_config).await?;
        until(&mut stream, b"Subscribed to PostgreSQL").await?;
        stream.write_all(&track(&topic)).await?;
        counts.add(|counts| &counts.joined, 1);
        let counts = counts.clone();
        staying.push(AbortOnDropHandle::new(tokio::spawn(async move {
            client::read_all(stream, true, |frames| counts.count_frames(frames)).await;
            counts.add(|counts| &counts.lost_sockets, 1);
        })));
    }
    Ok(staying)
}

/// Sends visitors to the channels, at this rate per second.
pub(super) async fn visit(
    target: &Target,
    sockets: u16,
    per_second: u16,
    counts: &Arc<Counts>,
    end: Instant,
) -> anyhow::Result<()> {
    let mut turn = interval(Duration::from_secs(1) / u32::from(per_second));
    turn.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut visits = JoinSet::new();
    for number in 0_u64.. {
        turn.tick().await;
        if Instant::now() >= end {
            break;
        }
        let (target, counts) = (target.clone(), counts.clone());
        let topic_number = (number % u64::from(sockets)) as u16;
        let subscribers_of = subscribers_of(topic_number, sockets);
        visits.spawn(async move {
            let topic = topic(topic_number);
            let visit = visit_once(&target, number, &topic, subscribers_of, &counts);
            timeout(RESPONSE_TIMEOUT, visit)
                .await
                .context("a visitor is stuck")?
        });
        while let Some(ended) = visits.try_join_next() {
            ended??;
        }
    }
    while let Some(ended) = visits.join_next().await {
        ended??;
    }
    Ok(())
}

async fn visit_once(
    target: &Target,
    number: u64,
    topic: &str,
    subscribers_of: u16,
    counts: &Counts,
) -> anyhow::Result<()> {
    let key = format!("visits-{number}");
    let join_config = serde_json::json!({"config": {
        "broadcast": {"self": true},
        "presence": {"enabled": true, "key": key},
    }});
    let mut stream =
        client::join_with(target.port, &target.key, topic, &join_config.to_string()).await?;
    stream.write_all(&track(topic)).await?;
    // A channel of its own, which the server has to clean up.
    let own = format!("realtime:soak-visit-{number}");
    let join = format!(r#"["8","8","{own}","phx_join",{{"config":{{}}}}]"#);
    stream.write_all(&client::text(&join)).await?;
    counts.add(|counts| &counts.joined, 2);
    for word in 0..MESSAGES_PER_VISIT {
        let said = format!(r#"{{"from":"{key}","word":{word}}}"#);
        let message = client::broadcast(topic, said.as_bytes());
        stream.write_all(&message).await?;
        counts.add(|counts| &counts.broadcasts_due, subscribers_of.into());
        until(&mut stream, said.as_bytes()).await?;
    }
    sleep(LEAVE_DELAY).await;
    if number.is_multiple_of(2) {
        for (reference, topic) in [("1", topic), ("8", &own)] {
            let leave = format!(r#"["{reference}","9","{topic}","phx_leave",{{}}]"#);
            stream.write_all(&client::text(&leave)).await?;
            until(&mut stream, b"phx_close").await?;
        }
        counts.add(|counts| &counts.left, 2);
    } else {
        counts.add(|counts| &counts.vanished, 2);
    }
    Ok(())
}

fn track(topic: &str) -> Vec<u8> {
    let payload = r#"{"type":"presence","event":"track","payload":{"mood":"patient"}}"#;
    client::text(&format!(r#"["1","3","{topic}","presence",{payload}]"#))
}

/// Reads until a frame contains these bytes.
async fn until(stream: &mut TcpStream, part: &[u8]) -> anyhow::Result<()> {
    let reading = async {
        loop {
            let frame = client::read_frame(stream).await?;
            if frame.windows(part.len()).any(|bytes| bytes == part) {
                return anyhow::Ok(());
            }
            let is_error_reply = frame
                .windows(16)
                .any(|bytes| bytes == br#""status":"error""#);
            ensure!(!is_error_reply, "{}", String::from_utf8_lossy(&frame));
        }
    };
    timeout(RESPONSE_TIMEOUT, reading)
        .await
        .context("nothing arrives")?
}
