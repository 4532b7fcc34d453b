//! Against a local name server.

use super::*;

/// Responds to the queries in turn, each with a response code and the data of a record.
pub(in crate::mail) async fn server(responses: Vec<(u8, Option<&'static [u8]>)>) -> Resolver {
    let socket = UdpSocket::bind("127.0.0.1:0").await.expect("a free port");
    let address = socket.local_addr().expect("an address");
    tokio::spawn(async move {
        for (code, data) in responses {
            let mut packet = vec![0; 512];
            let (length, client) = socket.recv_from(&mut packet).await.expect("a question");
            packet.truncate(length);
            packet[2] = 0x81;
            packet[3] = 0x80 | code;
            if let Some(data) = data {
                let kind = packet[length - 3];
                packet[7] = 1;
                packet.extend([0xc0, 0x0c, 0, kind, 0, 1, 0, 0, 0, 5, 0]);
                packet.push(u8::try_from(data.len()).expect("short"));
                packet.extend(data);
            }
            socket.send_to(&packet, client).await.expect("sent");
        }
    });
    Resolver {
        servers: vec![address],
    }
}

#[tokio::test]
async fn a_domain_names_its_mail_servers() {
    let resolver = server(vec![(0, Some(b"\x00\x0a\x02mx\x04test\x00"))]).await;
    let found = resolver.find_mail_hosts("mail.dev").await;
    assert_eq!(found, MailRouting::Hosts(vec!["mx.test".to_owned()]));
}

#[tokio::test]
async fn a_domain_without_mail_servers_takes_its_own() {
    let resolver = server(vec![(0, None), (0, None), (0, Some(&[0; 16]))]).await;
    let found = resolver.find_mail_hosts("mail.dev").await;
    assert_eq!(found, MailRouting::Hosts(vec!["mail.dev".to_owned()]));
}

#[tokio::test]
async fn a_domain_that_is_nowhere_gets_no_mail() {
    let resolver = server(vec![(3, None)]).await;
    assert_eq!(
        resolver.find_mail_hosts("mail.dev").await,
        MailRouting::NoHost
    );
    let resolver = server(vec![(0, None), (0, None), (0, None)]).await;
    assert_eq!(
        resolver.find_mail_hosts("mail.dev").await,
        MailRouting::NoHost
    );
}

#[tokio::test]
async fn no_server_is_not_a_missing_host() {
    let resolver = Resolver {
        servers: Vec::new(),
    };
    assert_eq!(
        resolver.find_mail_hosts("mail.dev").await,
        MailRouting::Unknown
    );
}

#[test]
fn name_servers_are_read_from_the_system() {
    let text = "# x\nsearch a.b\nnameserver 10.0.0.1\n nameserver\t::1\nnameserver bad\n";
    let servers = name_servers(text);
    let expected: Vec<SocketAddr> = vec![
        "10.0.0.1:53".parse().expect("an address"),
        "[::1]:53".parse().expect("an address"),
    ];
    assert_eq!(servers, expected);
}
