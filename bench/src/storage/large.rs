//! One file of a gibibyte: up beside what the disk and a digest take, down beside nginx with the
//! very same file.

use std::{
    fs,
    net::Ipv4Addr,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use anyhow::{Context as _, ensure};
use md5::{Digest as _, Md5};
use tokio::{io::AsyncWriteExt as _, net::TcpStream};

use super::{DATABASE, Options, bare, sides::Side};
use crate::{
    cpu::CpuTime,
    databases::Databases,
    http_response::ResponseReader,
    nginx::{Job, Nginx},
    report::sentence,
    statistics::Summary,
    steal_guard::StealGuard,
    table::Table,
};

pub(crate) const BUCKET: &str = "large";
const NAME: &str = "gibibyte";
const PIECE: usize = 1 << 20;

/// A transfer that takes longer is stuck.
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(180);

/// Mebibytes per second, round by round.
#[derive(Default)]
pub(crate) struct Large {
    pub(crate) uploads: Vec<f64>,
    pub(crate) dd: Vec<f64>,
    pub(crate) md5: Vec<f64>,
    pub(crate) downloads: Vec<f64>,
    pub(crate) nginx: Vec<f64>,
    /// Seconds of processor time that Plinth took for each.
    upload_cpu: Vec<f64>,
    download_cpu: Vec<f64>,
}

/// What measuring takes.
pub(crate) struct Transfers<'a> {
    pub(crate) side: &'a Side,
    pub(crate) plinth: u32,
    pub(crate) databases: &'a Databases,
    /// Where Plinth keeps all files.
    pub(crate) folder: &'a Path,
    pub(crate) options: &'a Options,
}

impl Transfers<'_> {
    /// All rounds, and sentences about them.
    pub(crate) fn measure(
        &self,
        steal_guard: &mut StealGuard,
    ) -> anyhow::Result<(Large, Vec<String>)> {
        let mebibytes = u64::from(self.options.mebibytes);
        eprintln!("one file of {mebibytes} MB:");
        let mut large = Large::default();
        let mut sentences = Vec::new();
        let piece = piece();
        let mut nginx = None;
        for round in 1..=self.options.large_rounds {
            large.dd.push(steal_guard.take(|| self.dd(mebibytes))?);
            large.md5.push(steal_guard.take(|| md5(&piece, mebibytes))?);
            let (rate, cpu) =
                steal_guard.take(|| self.spending(|| self.upload(&piece, mebibytes)))?;
            large.uploads.push(rate);
            large.upload_cpu.push(cpu);

            let project = self.project_folder()?;
            if nginx.is_none() && sentences.is_empty() {
                match Nginx::start(&Job::Serve(&project)) {
                    Ok(started) => {
                        sentences.push(started.version.clone());
                        nginx = Some(started);
                    }
                    Err(error) => sentences.push(sentence("Without nginx", &error)),
                }
            }
            let stored = bare::blob(&project, &self.version()?);
            if let Some(nginx) = &nginx {
                let path = stored.strip_prefix(&project)?.display().to_string();
                let request = format!("GET /{path} HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n");
                let rate = steal_guard.take(|| download(nginx.port, &request, mebibytes));
                large.nginx.push(rate.context("nginx")?);
            }
            let path = format!("/object/public/{BUCKET}/{NAME}");
            let request = self.side.request("GET", &path, "", None);
            let (rate, cpu) = steal_guard
                .take(|| self.spending(|| download(self.side.port, &request, mebibytes)))?;
            large.downloads.push(rate);
            large.download_cpu.push(cpu);
            eprintln!("  round {round}: {}", large.notes());
        }
        Ok((large, sentences))
    }

    /// How long the disk takes for as many bytes.
    fn dd(&self, mebibytes: u64) -> anyhow::Result<f64> {
        let file = self.folder.join("dd");
        let begun = Instant::now();
        let status = Command::new("dd")
            .args(["if=/dev/zero", "bs=1M", "conv=fsync"])
            .arg(format!("of={}", file.display()))
            .arg(format!("count={mebibytes}"))
            .stderr(Stdio::null())
            .status()
            .context("dd does not run")?;
        let rate = mebibytes as f64 / begun.elapsed().as_secs_f64();
        ensure!(status.success(), "dd failed");
        fs::remove_file(file)?;
        Ok(rate)
    }

    fn upload(&self, piece: &[u8], mebibytes: u64) -> anyhow::Result<f64> {
        self.free_disk_space();
        let path = format!("/object/{BUCKET}/{NAME}");
        let headers = "content-type: application/octet-stream\r\n\
                       cache-control: max-age=3600\r\nx-upsert: true\r\n";
        let length = mebibytes * PIECE as u64;
        let head = self.side.request("POST", &path, headers, Some(length));
        transfer(self.side.port, async |stream| {
            stream.write_all(head.as_bytes()).await?;
            let begun = Instant::now();
            for _ in 0..mebibytes {
                stream.write_all(piece).await?;
            }
            let mut body = Vec::new();
            let mut responses = ResponseReader::new();
            let reading = responses.read(stream, |piece| body.extend_from_slice(piece));
            let http_response = reading.await?;
            let elapsed = begun.elapsed();
            ensure!(
                http_response.status == 200,
                "an upload of {mebibytes} MB has the response {}: {}",
                http_response.status,
                String::from_utf8_lossy(&body)
            );
            Ok(mebibytes as f64 / elapsed.as_secs_f64())
        })
    }

    /// What is about to be replaced would stay for a while, and the disk need not hold both.
    fn free_disk_space(&self) {
        if let (Ok(project), Ok(version)) = (self.project_folder(), self.version()) {
            _ = fs::remove_file(bare::blob(&project, &version));
        }
    }

    /// Beside the result, what Plinth spent on it.
    fn spending(&self, work: impl FnOnce() -> anyhow::Result<f64>) -> anyhow::Result<(f64, f64)> {
        let before = CpuTime::of(self.plinth)?.own;
        let rate = work()?;
        Ok((rate, CpuTime::of(self.plinth)?.own - before))
    }

    /// The one project's own folder.
    fn project_folder(&self) -> anyhow::Result<PathBuf> {
        let mut entries = fs::read_dir(self.folder)?.flatten();
        let found = entries.find(|entry| entry.path().join("blobs").is_dir());
        Ok(found.context("no file was stored")?.path())
    }

    fn version(&self) -> anyhow::Result<String> {
        let sql = format!(
            "select version from storage.objects where bucket_id = '{BUCKET}' and name = '{NAME}'"
        );
        self.databases.text(DATABASE, &sql)
    }
}

fn md5(piece: &[u8], mebibytes: u64) -> anyhow::Result<f64> {
    let mut md5 = Md5::new();
    let begun = Instant::now();
    for _ in 0..mebibytes {
        md5.update(piece);
    }
    std::hint::black_box(md5.finalize());
    Ok(mebibytes as f64 / begun.elapsed().as_secs_f64())
}

fn download(port: u16, request: &str, mebibytes: u64) -> anyhow::Result<f64> {
    transfer(port, async |stream| {
        let begun = Instant::now();
        stream.write_all(request.as_bytes()).await?;
        let http_response = ResponseReader::new().read(stream, |_| ()).await?;
        let elapsed = begun.elapsed();
        ensure!(
            http_response.status == 200
                && http_response.body_length as u64 == mebibytes * PIECE as u64,
            "a download has the response {http_response:?}"
        );
        Ok(mebibytes as f64 / elapsed.as_secs_f64())
    })
}

/// On a connection of its own.
fn transfer(
    port: u16,
    work: impl AsyncFnOnce(&mut TcpStream) -> anyhow::Result<f64>,
) -> anyhow::Result<f64> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async {
        let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).await?;
        let done = tokio::time::timeout(RESPONSE_TIMEOUT, work(&mut stream)).await;
        done.context("a transfer is stuck")?
    })
}

/// Not only zeros.
fn piece() -> Vec<u8> {
    let bytes = (0..PIECE).map(|at| u8::try_from(at * 7 % 253).unwrap_or_default());
    bytes.collect()
}

impl Large {
    /// Round by round, whatever of the two takes longer.
    pub(crate) fn slower(&self) -> Vec<f64> {
        let both = self.dd.iter().zip(&self.md5);
        both.map(|(dd, md5)| dd.min(*md5)).collect()
    }

    fn notes(&self) -> String {
        let last = |name: &str, rates: &[f64]| {
            let rate = rates.last()?;
            Some(format!("{name} {rate:.0} MB/s"))
        };
        let notes = [
            last("dd", &self.dd),
            last("MD5", &self.md5),
            last("upload", &self.uploads),
            last("nginx", &self.nginx),
            last("download", &self.downloads),
        ];
        notes.into_iter().flatten().collect::<Vec<_>>().join(", ")
    }

    /// Everything that was measured.
    pub(crate) fn table(&self) -> Table {
        let nothing: &[f64] = &[];
        let rows = [
            ("dd conv=fsync", &*self.dd, nothing),
            ("MD5 on one core", &self.md5, nothing),
            ("upload", &self.uploads, &self.upload_cpu),
            ("nginx", &self.nginx, nothing),
            ("download", &self.downloads, &self.download_cpu),
        ];
        let rows = rows.into_iter().filter(|(_, rates, _)| !rates.is_empty());
        let rows = rows.map(|(name, rates, cpu)| {
            let cpu = match cpu {
                [] => "–".to_owned(),
                cpu => format!("{:.2} s", Summary::of(cpu.to_vec()).median),
            };
            let rate = Summary::of(rates.to_vec()).median;
            vec![name.to_owned(), format!("{rate:.0} MB/s"), cpu]
        });
        let header = ["", "MB/s", "processor time of Plinth"];
        Table::new(&header, rows.collect())
    }
}
