//! From nothing to a worker that serves.

use std::{
    collections::BTreeMap,
    path::PathBuf,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use plinth_log::Level;
use serde_json::json;
use tokio::{
    io::AsyncWriteExt as _,
    process::{Child, ChildStdin},
    sync::{Notify, OwnedSemaphorePermit, mpsc, watch},
};
use tokio_util::task::TaskTracker;
use uuid::Uuid;

use super::{Line, Worker, console, folder::WorkerFolder, monitor::Monitor, spawner};
use crate::{
    catalog::Function,
    clock,
    config::Limits,
    deno::{self, HIDDEN_VARIABLES, Run},
    network::Network,
    record::{Journal, LONGEST_MESSAGE},
};

/// How often is looked whether a worker serves already.
const POLL: Duration = Duration::from_millis(2);

/// The share of the memory that V8 may use for its heap; the rest is for everything else.
const HEAP_SHARE: (u64, u64) = (4, 5);

/// Everything that a worker needs to begin.
pub(crate) struct Launch {
    pub(crate) id: String,
    pub(crate) program: PathBuf,
    pub(crate) bootstrap: PathBuf,
    pub(crate) run_dir: PathBuf,
    pub(crate) function: Arc<Function>,
    pub(crate) variables: BTreeMap<String, String>,
    pub(crate) denied: Vec<Network>,
    pub(crate) limits: Limits,
    pub(crate) journal: Arc<Journal>,
    /// Whether it goes after its first request.
    pub(crate) is_single: bool,
    /// Told when a place is free again.
    pub(crate) freed: Arc<Notify>,
    /// Its share of what all workers together may be.
    pub(crate) permit: OwnedSemaphorePermit,
    pub(crate) tasks: TaskTracker,
}

/// Why a worker never served, for whoever develops the function.
#[derive(Debug, Clone)]
pub(crate) struct BootFailure {
    pub(crate) told: String,
}

impl BootFailure {
    fn new(told: impl Into<String>) -> Self {
        Self { told: told.into() }
    }
}

/// Starts a process and waits until it serves.
pub(crate) async fn start(launch: Launch) -> Result<Arc<Worker>, BootFailure> {
    let began = Instant::now();
    let Launch {
        id,
        function,
        journal,
        limits,
        tasks,
        ..
    } = &launch;
    let folder = WorkerFolder::create(&launch.run_dir, id, function.code.account)
        .map_err(|error| BootFailure::new(format!("no folder for the worker: {error}")))?;
    let command = deno::run(&Run {
        program: &launch.program,
        code: &function.code,
        bootstrap: &launch.bootstrap,
        folder: folder.path(),
        denied: &launch.denied,
        heap_bytes: limits.memory_bytes / HEAP_SHARE.1 * HEAP_SHARE.0,
    });
    let spawned = spawner::spawn(command).await;
    let mut child =
        spawned.map_err(|error| BootFailure::new(format!("Deno could not be started: {error}")))?;

    let mark = format!("\u{1}{}:", Uuid::new_v4().simple());
    let is_serving = Arc::new(AtomicBool::new(false));
    let words = Arc::new(console::Words::default());
    let (reports, heard) = mpsc::unbounded_channel();
    let (Some(stdin), Some(stdout), Some(stderr)) =
        (child.stdin.take(), child.stdout.take(), child.stderr.take())
    else {
        return Err(BootFailure::new("the worker has no standard streams"));
    };
    tasks.spawn(console::listen(
        stdout,
        mark.clone(),
        journal.clone(),
        id.clone(),
        reports,
    ));
    let complaints = tasks.spawn(console::overhear(
        stderr,
        journal.clone(),
        id.clone(),
        words.clone(),
        is_serving.clone(),
    ));

    let outcome = tell(stdin, &launch, &folder, &mark).await;
    let ready = match outcome {
        Ok(stdin) => ready(&mut child, &folder, limits.boot)
            .await
            .map(|line| (stdin, line)),
        Err(error) => Err(Some(format!("the worker does not listen: {error}"))),
    };
    let (stdin, line) = match ready {
        Ok(ready) => ready,
        Err(late) => {
            _ = child.kill().await;
            // All that it said is read when its end of the pipe is closed, which it is now.
            _ = tokio::time::timeout(Duration::from_secs(1), complaints).await;
            let told = late.unwrap_or_else(|| function.code.explain(&words.text()));
            let details = [("msg", told.clone().into())];
            journal.event(
                "BootFailure",
                Level::Error,
                &format!("The function did not start: {told}"),
                id,
                &details,
            );
            return Err(BootFailure::new(told));
        }
    };
    is_serving.store(true, Ordering::Relaxed);
    let boot_time = began.elapsed();
    let millis = u64::try_from(boot_time.as_millis()).unwrap_or(u64::MAX);
    let details = [("boot_time", millis.into())];
    journal.event(
        "Boot",
        Level::Info,
        &format!("Booted (time: {millis}ms)"),
        id,
        &details,
    );
    function.numbers.worker_came(boot_time);

    let (orders, obeyed) = mpsc::unbounded_channel();
    let (ended, ending) = watch::channel(None);
    let worker = Arc::new(Worker {
        id: id.clone(),
        function: function.clone(),
        socket: folder.socket(),
        in_flight: AtomicUsize::new(0),
        admitted: AtomicU64::new(0),
        is_open: AtomicBool::new(true),
        last_used: AtomicU64::new(clock::millis()),
        lines: Mutex::new(vec![line]),
        orders,
        woken: Notify::new(),
        is_single: launch.is_single,
        freed: launch.freed.clone(),
        tasks: launch.tasks.clone(),
        ending,
    });
    let monitor = Monitor {
        worker: worker.clone(),
        child,
        stdin,
        folder,
        words,
        limits: limits.clone(),
        journal: journal.clone(),
        orders: obeyed,
        reports: heard,
        ended,
        _permit: launch.permit,
    };
    launch.tasks.spawn(monitor.watch());
    Ok(worker)
}

/// Everything that the worker is told, as its first line.
async fn tell(
    mut stdin: ChildStdin,
    launch: &Launch,
    folder: &WorkerFolder,
    mark: &str,
) -> std::io::Result<ChildStdin> {
    let mut line = json!({
        "mark": mark,
        "socket": folder.socket(),
        "env": launch.variables,
        "hidden": HIDDEN_VARIABLES,
        "longestMessage": LONGEST_MESSAGE,
    })
    .to_string();
    line.push('\n');
    stdin.write_all(line.as_bytes()).await?;
    stdin.flush().await?;
    Ok(stdin)
}

/// A connection to the worker, once it takes one. The error is our words; without any, its own count.
async fn ready(
    child: &mut Child,
    folder: &WorkerFolder,
    patience: Duration,
) -> Result<Line, Option<String>> {
    let socket = folder.socket();
    let connected = async {
        loop {
            // Looking for the file is cheaper than trying to connect to what is not there.
            if socket.exists()
                && let Ok(line) = Line::open(&socket).await
            {
                return line;
            }
            tokio::time::sleep(POLL).await;
        }
    };
    tokio::select! {
        biased;
        line = connected => Ok(line),
        ended = child.wait() => Err(match ended {
            Ok(status) if status.success() => {
                Some("the module ended without serving: it needs Deno.serve or a default export with fetch".to_owned())
            }
            _ => None,
        }),
        () = tokio::time::sleep(patience) => {
            Err(Some(format!("it did not serve within {} s", patience.as_secs_f32())))
        }
    }
}
