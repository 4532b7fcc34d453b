//! Looks up the mail servers of a domain in DNS.
//!
//! Only what that takes: one query in a UDP datagram, for the MX records of a domain and, if it has
//! none, for its addresses. The system's resolver cannot look up MX records.

mod packet;

use std::{
    net::{IpAddr, SocketAddr},
    time::Duration,
};

use tokio::{fs, net::UdpSocket, time::timeout};

use packet::{DnsResponse, Kind};

/// Per name server; the whole check takes at most three times that for each of them.
const QUERY_TIMEOUT: Duration = Duration::from_millis(1500);
const MAX_SERVERS: usize = 2;
const PORT: u16 = 53;

/// The name servers to query.
#[derive(Debug, Clone)]
pub(super) struct Resolver {
    servers: Vec<SocketAddr>,
}

/// Where the mail of a domain goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum MailRouting {
    /// The mail servers; a domain without MX records is its own.
    Hosts(Vec<String>),
    /// No mail can be delivered.
    NoHost,
    /// No name server responded.
    Unknown,
}

impl Resolver {
    /// The name servers of `/etc/resolv.conf`.
    pub(super) async fn from_system() -> Self {
        let text = fs::read_to_string("/etc/resolv.conf").await;
        let servers = name_servers(&text.unwrap_or_default());
        Self { servers }
    }

    pub(super) async fn find_mail_hosts(&self, domain: &str) -> MailRouting {
        match self.query(domain, Kind::Mx).await {
            Some(DnsResponse::NoSuchName) => return MailRouting::NoHost,
            Some(DnsResponse::Found(hosts)) => return MailRouting::Hosts(hosts),
            Some(DnsResponse::Nothing) => {}
            None => return MailRouting::Unknown,
        }
        for kind in [Kind::A, Kind::Aaaa] {
            match self.query(domain, kind).await {
                Some(DnsResponse::Found(_)) => return MailRouting::Hosts(vec![domain.to_owned()]),
                Some(DnsResponse::Nothing | DnsResponse::NoSuchName) => {}
                None => return MailRouting::Unknown,
            }
        }
        MailRouting::NoHost
    }

    async fn query(&self, domain: &str, kind: Kind) -> Option<DnsResponse> {
        for server in &self.servers {
            let response = timeout(QUERY_TIMEOUT, query(*server, domain, kind)).await;
            if let Ok(Some(response)) = response {
                return Some(response);
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

async fn query(server: SocketAddr, domain: &str, kind: Kind) -> Option<DnsResponse> {
    let any = match server {
        SocketAddr::V4(_) => "0.0.0.0:0",
        SocketAddr::V6(_) => "[::]:0",
    };
    let id = u16::from_be_bytes(crate::random::bytes());
    let question = packet::question(id, domain, kind)?;
    let socket = UdpSocket::bind(any).await.ok()?;
    // Connected, so that datagrams from other addresses are dropped.
    socket.connect(server).await.ok()?;
    socket.send(&question).await.ok()?;
    let mut response = [0; 1500];
    loop {
        let length = socket.recv(&mut response).await.ok()?;
        if let Some(response) = packet::read(&response[..length], id, kind) {
            return Some(response);
        }
    }
}

#[cfg(test)]
pub(super) mod tests;
