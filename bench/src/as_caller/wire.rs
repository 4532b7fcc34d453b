//! The limit: what one flush costs when the client does next to nothing.
//!
//! One blocking thread per connection writes bytes that were made beforehand, in which only the
//! id changes, and reads the response. What our path loses against it is the driver's, the pool's
//! and the runtime's; what it loses against pgbench would be ours to explain.

use std::{
    thread,
    time::{Duration, Instant},
};

use anyhow::{anyhow, ensure};
use bytes::{BufMut as _, BytesMut};
use postgres_protocol::{IsNull, message::frontend};

use super::database::{BEGIN, Prepared, ROWS, SELECT, SETTINGS, settings_sql};
use crate::{cpu::CpuTime, managed::Login, random::Random, socket::Socket};

/// The settings' row and the item's.
const ROWS_PER_TRANSACTION: usize = 2;

/// How often the server is asked to flush its results.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Syncs {
    /// Once: the fewest system calls.
    AtTheEnd,
    /// After each statement, as drivers do that pipeline independent requests.
    AfterEach,
}

impl Syncs {
    fn count(self) -> usize {
        match self {
            Syncs::AtTheEnd => 1,
            Syncs::AfterEach => 4,
        }
    }
}

/// One run.
pub(crate) struct Sample {
    pub(crate) per_second: f64,
    /// Processor time of this process per transaction, in µs.
    pub(crate) cpu_us: f64,
}

pub(crate) fn run(
    prepared: &Prepared,
    syncs: Syncs,
    connections: u16,
    duration: Duration,
) -> anyhow::Result<Sample> {
    let sockets = (0..connections)
        .map(|_| open(prepared.login()))
        .collect::<Result<Vec<_>, _>>()?;
    let (begun, before) = (Instant::now(), CpuTime::now()?);
    let threads: Vec<_> = sockets
        .into_iter()
        .zip(0..)
        .map(|(socket, seed)| thread::spawn(move || repeat(socket, seed, syncs, begun + duration)))
        .collect();
    let mut transactions = 0;
    for thread in threads {
        transactions += thread
            .join()
            .map_err(|_| anyhow!("a thread of the limit ended early"))??;
    }
    let cpu = CpuTime::now()?.own - before.own;
    Ok(Sample {
        per_second: transactions as f64 / begun.elapsed().as_secs_f64(),
        cpu_us: cpu * 1e6 / transactions as f64,
    })
}

/// Connects and prepares the four statements.
fn open(login: &Login) -> anyhow::Result<Socket> {
    let mut socket = Socket::connect(login)?;
    let mut out = BytesMut::new();
    let settings = settings_sql(|i| format!("${}", i + 1));
    let statements = [
        ("begin", BEGIN),
        ("set", &*settings),
        ("get", SELECT),
        ("end", "commit"),
    ];
    for (name, sql) in statements {
        frontend::parse(name, sql, [], &mut out)?;
    }
    frontend::sync(&mut out);
    socket.send(&out)?;
    socket.rows_until_ready(1)?;
    Ok(socket)
}

fn repeat(mut socket: Socket, seed: u64, syncs: Syncs, until: Instant) -> anyhow::Result<u64> {
    let mut random = Random::new(seed);
    let (mut bytes, id_at) = transaction(syncs)?;
    let mut transactions = 0;
    while Instant::now() < until {
        let id = random.between_one_and(ROWS);
        bytes[id_at..id_at + 4].copy_from_slice(&id.to_be_bytes());
        socket.send(&bytes)?;
        let rows = socket.rows_until_ready(syncs.count())?;
        ensure!(
            rows == ROWS_PER_TRANSACTION,
            "row {id} was asked for, but {rows} rows came"
        );
        transactions += 1;
    }
    Ok(transactions)
}

/// The whole transaction as bytes, and where in it the id stands.
fn transaction(syncs: Syncs) -> anyhow::Result<(BytesMut, usize)> {
    let mut out = BytesMut::new();
    let sync = |out: &mut BytesMut| {
        if syncs == Syncs::AfterEach {
            frontend::sync(out);
        }
    };
    execute("begin", &[], &mut out)?;
    sync(&mut out);
    let values: Vec<&[u8]> = SETTINGS
        .iter()
        .flat_map(|(name, value)| [name.as_bytes(), value.as_bytes()])
        .collect();
    execute("set", &values, &mut out)?;
    sync(&mut out);
    let marker = [0xA5, 0x5A, 0xA5, 0x5A];
    let before = out.len();
    execute("get", &[&marker], &mut out)?;
    let id_at = out[before..].windows(4).position(|window| window == marker);
    let id_at = before + id_at.ok_or_else(|| anyhow!("the id is not among the bytes"))?;
    sync(&mut out);
    execute("end", &[], &mut out)?;
    frontend::sync(&mut out);
    Ok((out, id_at))
}

/// Binary parameters and results, as the driver asks for them.
fn execute(statement: &str, values: &[&[u8]], out: &mut BytesMut) -> anyhow::Result<()> {
    let write = |value: &&[u8], out: &mut BytesMut| {
        out.put_slice(value);
        Ok(IsNull::No)
    };
    frontend::bind("", statement, [1], values, write, [1], out)
        .map_err(|_| anyhow!("the parameters cannot be written"))?;
    Ok(frontend::execute("", 0, out)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_id_stands_where_it_is_written_and_syncs_are_counted() {
        for syncs in [Syncs::AtTheEnd, Syncs::AfterEach] {
            let (bytes, id_at) = transaction(syncs).unwrap();
            assert_eq!(bytes[id_at..id_at + 4], [0xA5, 0x5A, 0xA5, 0x5A]);
            let sync = [b'S', 0, 0, 0, 4];
            let found = bytes.windows(5).filter(|window| *window == sync).count();
            assert_eq!(found, syncs.count());
        }
    }
}
