//! Those who stay, and those who come and go.

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
    rows::{Place, Users},
};

/// How many stay in one room.
const ROOM: u16 = 10;
/// What a visitor says.
const WORDS: usize = 3;
/// How long a visitor stays after its last word.
const STAY: Duration = Duration::from_millis(500);
/// A server that hangs must not hang the benchmark.
const STUCK: Duration = Duration::from_secs(30);

/// The room of somebody.
pub(super) fn topic(number: u16) -> String {
    format!("realtime:soak-{}", number / ROOM)
}

/// How many stay in the room of somebody.
pub(super) fn hearers(number: u16, sockets: u16) -> u16 {
    ROOM.min(sockets - number / ROOM * ROOM)
}

/// Opens sockets that listen until they are dropped.
pub(super) async fn stay(
    place: &Place,
    sockets: u16,
    counts: &Arc<Counts>,
) -> anyhow::Result<Vec<AbortOnDropHandle<()>>> {
    let users = Users::new(place)?;
    let mut staying = Vec::with_capacity(sockets.into());
    for number in 0..sockets {
        let presence = serde_json::json!({"enabled": true, "key": format!("stays-{number}")});
        let mut wishes = users.wishes(number, true)?;
        wishes["config"]["presence"] = presence;
        let topic = topic(number);
        let wishes = wishes.to_string();
        let mut stream = client::join_with(place.port, &place.key, &topic, &wishes).await?;
        until(&mut stream, b"Subscribed to PostgreSQL").await?;
        stream.write_all(&track(&topic)).await?;
        counts.add(|counts| &counts.joined, 1);
        let counts = counts.clone();
        staying.push(AbortOnDropHandle::new(tokio::spawn(async move {
            client::read_all(stream, true, |frames| counts.hear(frames)).await;
            counts.add(|counts| &counts.lost_sockets, 1);
        })));
    }
    Ok(staying)
}

/// Sends visitors to the rooms, so many per second.
pub(super) async fn visit(
    place: &Place,
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
        let (place, counts) = (place.clone(), counts.clone());
        let room = (number % u64::from(sockets)) as u16;
        let hearers = hearers(room, sockets);
        visits.spawn(async move {
            let topic = topic(room);
            let visit = visit_once(&place, number, &topic, hearers, &counts);
            timeout(STUCK, visit).await.context("a visitor is stuck")?
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
    place: &Place,
    number: u64,
    topic: &str,
    hearers: u16,
    counts: &Counts,
) -> anyhow::Result<()> {
    let key = format!("visits-{number}");
    let wishes = serde_json::json!({"config": {
        "broadcast": {"self": true},
        "presence": {"enabled": true, "key": key},
    }});
    let mut stream = client::join_with(place.port, &place.key, topic, &wishes.to_string()).await?;
    stream.write_all(&track(topic)).await?;
    // A room of its own, that must be cleared away after it.
    let own = format!("realtime:soak-visit-{number}");
    let join = format!(r#"["8","8","{own}","phx_join",{{"config":{{}}}}]"#);
    stream.write_all(&client::text(&join)).await?;
    counts.add(|counts| &counts.joined, 2);
    for word in 0..WORDS {
        let said = format!(r#"{{"from":"{key}","word":{word}}}"#);
        let message = client::broadcast(topic, said.as_bytes());
        stream.write_all(&message).await?;
        counts.add(|counts| &counts.broadcasts_due, hearers.into());
        until(&mut stream, said.as_bytes()).await?;
    }
    sleep(STAY).await;
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

/// Reads up to a frame that holds these bytes.
async fn until(stream: &mut TcpStream, part: &[u8]) -> anyhow::Result<()> {
    let reading = async {
        loop {
            let frame = client::read_frame(stream).await?;
            if frame.windows(part.len()).any(|bytes| bytes == part) {
                return anyhow::Ok(());
            }
            let is_refusal = frame
                .windows(16)
                .any(|bytes| bytes == br#""status":"error""#);
            ensure!(!is_refusal, "{}", String::from_utf8_lossy(&frame));
        }
    };
    timeout(STUCK, reading).await.context("nothing arrives")?
}
