//! Whether a domain can get mail, as the name servers of this machine tell.
//!
//! Only what that takes: one question in a datagram, for the mail servers of a domain and, where
//! it names none, for its addresses. The system's own resolver cannot be asked for mail servers.

mod packet;

use std::{
    net::{IpAddr, SocketAddr},
    time::Duration,
};

use tokio::{fs, net::UdpSocket, time::timeout};

use packet::{Answer, Kind};

/// A name server has so long; the whole check is no longer than twice that for each of them.
const PATIENCE: Duration = Duration::from_millis(1500);
const MAX_SERVERS: usize = 2;
const PORT: u16 = 53;

/// Who is asked.
#[derive(Debug, Clone)]
pub(super) struct Resolver {
    servers: Vec<SocketAddr>,
}

/// What is known of a domain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Mail {
    /// These take its mail; a domain without mail servers takes its own.
    Taken(Vec<String>),
    /// Nobody takes it.
    Nowhere,
    /// Nobody could tell.
    Unknown,
}

impl Resolver {
    /// The name servers of `/etc/resolv.conf`.
    pub(super) async fn of_this_machine() -> Self {
        let text = fs::read_to_string("/etc/resolv.conf").await;
        let servers = name_servers(&text.unwrap_or_default());
        Self { servers }
    }

    /// Who takes the mail of a domain.
    pub(super) async fn mail_of(&self, domain: &str) -> Mail {
        match self.ask(domain, Kind::Mx).await {
            Some(Answer::NoSuchName) => return Mail::Nowhere,
            Some(Answer::Found(hosts)) => return Mail::Taken(hosts),
            Some(Answer::Nothing) => {}
            None => return Mail::Unknown,
        }
        for kind in [Kind::A, Kind::Aaaa] {
            match self.ask(domain, kind).await {
                Some(Answer::Found(_)) => return Mail::Taken(vec![domain.to_owned()]),
                Some(Answer::Nothing | Answer::NoSuchName) => {}
                None => return Mail::Unknown,
            }
        }
        Mail::Nowhere
    }

    async fn ask(&self, domain: &str, kind: Kind) -> Option<Answer> {
        for server in &self.servers {
            let asked = timeout(PATIENCE, ask(*server, domain, kind)).await;
            if let Ok(Some(answer)) = asked {
                return Some(answer);
            }
        }
        None
    }
}

fn name_servers(resolv_conf: &str) -> Vec<SocketAddr> {
    let lines = resolv_conf.lines();
    let servers = lines.filter_map(|line| {
        let address = line.trim().strip_prefix("nameserver")?;
        let address: IpAddr = address.trim().parse().ok()?;
        Some(SocketAddr::new(address, PORT))
    });
    servers.take(MAX_SERVERS).collect()
}

async fn ask(server: SocketAddr, domain: &str, kind: Kind) -> Option<Answer> {
    let any = match server {
        SocketAddr::V4(_) => "0.0.0.0:0",
        SocketAddr::V6(_) => "[::]:0",
    };
    let id = u16::from_be_bytes(crate::random::bytes());
    let question = packet::question(id, domain, kind)?;
    let socket = UdpSocket::bind(any).await.ok()?;
    // Connected, so that answers of others are not seen.
    socket.connect(server).await.ok()?;
    socket.send(&question).await.ok()?;
    let mut answer = [0; 1500];
    loop {
        let length = socket.recv(&mut answer).await.ok()?;
        if let Some(answer) = packet::read(&answer[..length], id, kind) {
            return Some(answer);
        }
    }
}

#[cfg(test)]
pub(super) mod tests;
