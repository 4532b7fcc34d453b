//! The unavoidable work: the same SQL and file operations, without HTTP, tokens, JSON or digests. One blocking
//! thread for each connection to PostgreSQL.

use std::{
    fs::{self, File},
    io::Write as _,
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context as _, anyhow, ensure};
use hdrhistogram::Histogram;
use tempfile::TempDir;

use super::{
    replay::Replay,
    small::{self, FILES, SIZE, Work},
};
use crate::{
    cpu::CpuTime,
    managed::Login,
    random::Random,
    run::{Run, Sample},
    socket::Socket,
    work_folder,
};

pub(crate) const BARE: &str = "bare program";

/// What a program without a protocol does for one kind of request.
pub(crate) struct Bare {
    work: Work,
    login: Login,
    /// The process of PostgreSQL.
    postgres: u32,
    replay: Replay,
    /// Where the files that are asked for are, in the database.
    files: String,
    folder: TempDir,
    runs: u32,
}

impl Bare {
    pub(crate) fn new(
        work: Work,
        login: Login,
        postgres: u32,
        replay: Replay,
        files: &str,
    ) -> anyhow::Result<Self> {
        let folder = work_folder::create()?;
        fs::create_dir(folder.path().join("tmp"))?;
        if work == Work::Download {
            for number in 1..=FILES.unsigned_abs() {
                let path = blob(folder.path(), &version(0, number));
                make_parents(&path)?;
                fs::write(path, small::content(number))?;
            }
        }
        Ok(Self {
            work,
            login,
            postgres,
            replay,
            files: files.to_owned(),
            folder,
            runs: 0,
        })
    }

    /// All connections at once.
    pub(crate) fn run(&mut self, connections: u16, duration: Duration) -> anyhow::Result<Run> {
        self.runs += 1;
        let workers = (0..connections).map(|number| self.worker(number));
        let workers: Vec<Worker> = workers.collect::<anyhow::Result<_>>()?;
        let spent =
            || Ok::<_, anyhow::Error>((CpuTime::now()?.own, CpuTime::of_tree(self.postgres)));
        let before = spent()?;
        let begun = Instant::now();
        let running: Vec<_> = workers
            .into_iter()
            .map(|worker| thread::spawn(move || worker.repeat(begun + duration)))
            .collect();
        let mut times = Histogram::new(3)?;
        for worker in running {
            let done = worker.join().map_err(|_| anyhow!("a thread panicked"))?;
            times.add(done.context(BARE)?)?;
        }
        let load = Sample::new(&times, begun.elapsed());
        let after = spent()?;
        let per_request = |seconds: f64| seconds * 1e6 / load.requests as f64;
        Ok(Run {
            cpu_us: per_request(after.0 - before.0),
            postgres_us: per_request(after.1 - before.1),
            generator_us: f64::NAN,
            rss_before: f64::NAN,
            rss_most: f64::NAN,
            load,
        })
    }

    fn worker(&self, number: u16) -> anyhow::Result<Worker> {
        let mut socket = Socket::connect(&self.login)?;
        self.replay.prepare(&mut socket)?;
        Ok(Worker {
            work: self.work,
            socket,
            replay: self.replay.clone(),
            files: self.files.clone(),
            folder: self.folder.path().to_owned(),
            random: Random::new(number.into()),
            // No other worker uploads files of these numbers.
            number: (self.runs * 100 + u32::from(number)) * 10_000,
        })
    }
}

struct Worker {
    work: Work,
    socket: Socket,
    replay: Replay,
    files: String,
    folder: PathBuf,
    random: Random,
    number: u32,
}

impl Worker {
    fn repeat(mut self, until: Instant) -> anyhow::Result<Histogram<u64>> {
        let mut times = Histogram::new(3)?;
        let mut begun = Instant::now();
        while begun < until {
            match self.work {
                Work::Download => self.download()?,
                Work::Upload => self.upload()?,
            }
            let ended = Instant::now();
            times.record(u64::try_from((ended - begun).as_nanos())?)?;
            begun = ended;
        }
        Ok(times)
    }

    fn download(&mut self) -> anyhow::Result<()> {
        let number = self.random.between_one_and(FILES).unsigned_abs();
        let name = small::name(&self.files, number);
        self.replay.run(&mut self.socket, &name, "", || Ok(()))?;
        let bytes = fs::read(blob(&self.folder, &version(0, number)))?;
        ensure!(bytes.len() == SIZE, "a file of {} bytes", bytes.len());
        Ok(())
    }

    fn upload(&mut self) -> anyhow::Result<()> {
        self.number += 1;
        let name = small::name(&self.files, self.number);
        let version = version(1, self.number);
        let (folder, number) = (&self.folder, self.number);
        self.replay.run(&mut self.socket, &name, &version, || {
            store(folder, &version, &small::content(number))
        })?;
        Ok(())
    }
}

/// Written, synced, renamed, and the folder synced.
fn store(folder: &Path, version: &str, bytes: &[u8]) -> anyhow::Result<()> {
    let temporary = folder.join("tmp").join(version);
    let mut file = File::create_new(&temporary)?;
    file.write_all(bytes)?;
    file.sync_data()?;
    let path = blob(folder, version);
    make_parents(&path)?;
    fs::rename(&temporary, &path)?;
    let parent = path.parent().context("a file without a folder")?;
    File::open(parent)?.sync_all()?;
    Ok(())
}

/// Two folders deep, as Plinth keeps them.
pub(crate) fn blob(folder: &Path, version: &str) -> PathBuf {
    let (first, second) = (&version[..2], &version[2..4]);
    folder.join("blobs").join(first).join(second).join(version)
}

fn make_parents(path: &Path) -> anyhow::Result<()> {
    let parent = path.parent().context("a file without a folder")?;
    if !parent.is_dir() {
        fs::create_dir_all(parent)?;
    }
    Ok(())
}

/// Scattered over all folders, as random ones would be.
fn version(kind: u32, number: u32) -> String {
    let scattered = number.wrapping_mul(0x9e37_79b9).swap_bytes();
    format!("{scattered:08x}-0000-4000-8000-{kind:02x}00{number:08x}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_look_like_plinths_and_differ() {
        let versions: Vec<String> = (1..1000).map(|number| version(1, number)).collect();
        let is_uuid = |text: &String| text.len() == 36 && text.matches('-').count() == 4;
        assert!(versions.iter().all(is_uuid));
        let folders: std::collections::HashSet<&str> =
            versions.iter().map(|version| &version[..4]).collect();
        assert!(folders.len() > 900, "{}", folders.len());
    }

    #[test]
    fn what_is_stored_is_found_again() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("tmp")).unwrap();
        let version = version(1, 5);
        store(folder.path(), &version, b"abc").unwrap();
        assert_eq!(fs::read(blob(folder.path(), &version)).unwrap(), b"abc");
    }
}
