//! A program that forwards a frame to all other sockets and does nothing else: no handshake, no topics, no
//! limits. An upper bound.

use std::{
    net::{Ipv4Addr, TcpListener},
    sync::{Arc, Mutex, PoisonError},
    thread,
};

use bytes::{Bytes, BytesMut};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    runtime::Builder,
    sync::mpsc,
};

use super::client;

/// A frame from the server's side, which is passed on as it is.
pub(crate) fn frame(payload: &[u8]) -> Vec<u8> {
    let mut frame = vec![0x82, 126];
    frame.extend((payload.len() as u16).to_be_bytes());
    frame.extend(payload);
    frame
}

/// The program, in threads of this one. It ends with it.
pub(crate) struct Bare {
    port: u16,
}

type Outbox = mpsc::UnboundedSender<Bytes>;

impl Bare {
    pub(crate) fn start() -> anyhow::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        listener.set_nonblocking(true)?;
        let port = listener.local_addr()?.port();
        let runtime = Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()?;
        thread::spawn(move || runtime.block_on(serve(listener)));
        Ok(Self { port })
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }
}

async fn serve(listener: TcpListener) -> anyhow::Result<()> {
    let listener = tokio::net::TcpListener::from_std(listener)?;
    let members: Arc<Mutex<Vec<Outbox>>> = Arc::default();
    loop {
        let (stream, _) = listener.accept().await?;
        stream.set_nodelay(true)?;
        let (outbox, waiting) = mpsc::unbounded_channel();
        let mine = {
            let mut members = members.lock().unwrap_or_else(PoisonError::into_inner);
            members.push(outbox);
            members.len() - 1
        };
        let (reader, writer) = stream.into_split();
        tokio::spawn(write(writer, waiting));
        tokio::spawn(read(reader, members.clone(), mine));
    }
}

async fn read(
    mut stream: tokio::net::tcp::OwnedReadHalf,
    members: Arc<Mutex<Vec<Outbox>>>,
    mine: usize,
) {
    let mut buffer = BytesMut::with_capacity(4096);
    while let Ok(1..) = stream.read_buf(&mut buffer).await {
        while let Some((_, rest)) = client::split(&buffer) {
            let length = buffer.len() - rest.len();
            let frame = buffer.split_to(length).freeze();
            let members = members.lock().unwrap_or_else(PoisonError::into_inner);
            for (number, member) in members.iter().enumerate() {
                if number != mine {
                    _ = member.send(frame.clone());
                }
            }
        }
    }
}

async fn write(
    mut stream: tokio::net::tcp::OwnedWriteHalf,
    mut waiting: mpsc::UnboundedReceiver<Bytes>,
) {
    let mut batch = Vec::new();
    let mut bytes = BytesMut::new();
    while waiting.recv_many(&mut batch, 64).await > 0 {
        bytes.clear();
        for frame in batch.drain(..) {
            bytes.extend_from_slice(&frame);
        }
        if stream.write_all(&bytes).await.is_err() {
            return;
        }
    }
}
