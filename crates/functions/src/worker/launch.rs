//! From nothing to a worker that serves.

use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use plinth_log::Level;
use plinth_project::Project;
use serde_json::json;
use tokio::{
    io::AsyncWriteExt as _,
    process::{Child, ChildStdin},
    sync::{Notify, OwnedSemaphorePermit, mpsc, watch},
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use uuid::Uuid;

use super::{Line, Worker, console, folder::WorkerFolder, monitor::Monitor, process::Process};
use crate::{
    catalog::Function,
    clock,
    config::Limits,
    deno::{HIDDEN_VARIABLES, TRUST},
    record::{Journal, LONGEST_MESSAGE},
};

/// How often is looked whether a worker serves already.
const POLL: Duration = Duration::from_millis(2);

/// Everything that a worker needs to begin.
pub(crate) struct Launch {
    pub(crate) process: Process,
    /// When somebody began to wait for it.
    pub(crate) began: Instant,
    pub(crate) function: Arc<Function>,
    pub(crate) variables: BTreeMap<String, String>,
    pub(crate) limits: Limits,
    pub(crate) journal: Arc<Journal>,
    pub(crate) project: Project,
    /// Cancelled when nobody shall be there any more.
    pub(crate) end: CancellationToken,
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
    /// Whether the process was not started for the function, which may come up in one that is.
    pub(crate) is_unfit: bool,
    /// Whether it did not end, and may serve where there is less to do.
    pub(crate) is_late: bool,
}

/// Tells a process what to serve, and waits until it does.
pub(crate) async fn start(launch: Launch) -> Result<Arc<Worker>, BootFailure> {
    let mark = format!("\u{1}{}:", Uuid::new_v4().simple());
    let told = launch.told(&mark);
    let is_spare = launch.process.is_spare();
    let Launch {
        process,
        began,
        function,
        journal,
        limits,
        tasks,
        ..
    } = launch;
    let Process {
        id,
        mut child,
        folder,
        ..
    } = process;

    let is_serving = Arc::new(AtomicBool::new(false));
    let words = Arc::new(console::Words::default());
    let (reports, heard) = mpsc::unbounded_channel();
    let (Some(stdin), Some(stdout), Some(stderr)) =
        (child.stdin.take(), child.stdout.take(), child.stderr.take())
    else {
        return Err(BootFailure {
            told: "the worker has no standard streams".to_owned(),
            is_unfit: false,
            is_late: false,
        });
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

    let outcome = tell(stdin, &told).await;
    let ready = match outcome {
        Ok(stdin) => ready(&mut child, &folder, limits.boot)
            .await
            .map(|line| (stdin, line)),
        Err(error) => {
            let told = format!("the worker does not listen: {error}");
            Err(NotReady::Ended(Some(told)))
        }
    };
    let (stdin, line) = match ready {
        Ok(ready) => ready,
        Err(not_ready) => {
            _ = child.kill().await;
            // All that it said is read when its end of the pipe is closed, which it is now.
            _ = tokio::time::timeout(Duration::from_secs(1), complaints).await;
            let is_late = matches!(not_ready, NotReady::Late(_));
            let is_unfit = is_spare && !is_late;
            let told = match not_ready {
                NotReady::Ended(Some(told)) | NotReady::Late(told) => told,
                NotReady::Ended(None) => function.code.explain(&words.text()),
            };
            let failure = BootFailure {
                told: told.clone(),
                is_unfit,
                is_late,
            };
            if is_unfit {
                return Err(failure);
            }
            journal.boot_failed(&told, Some(&id));
            return Err(failure);
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
        &id,
        &details,
    );
    function.numbers.worker_came(boot_time);

    let (orders, obeyed) = mpsc::unbounded_channel();
    let (ended, ending) = watch::channel(None);
    let worker = Arc::new(Worker {
        id,
        function,
        socket: folder.socket(),
        in_flight: AtomicUsize::new(0),
        pending: AtomicUsize::new(0),
        seated: Mutex::default(),
        answers: Mutex::default(),
        admitted: AtomicU64::new(0),
        has_answered: AtomicBool::new(false),
        is_open: AtomicBool::new(true),
        is_lagging: AtomicBool::new(false),
        is_resident: AtomicBool::new(false),
        last_used: AtomicU64::new(clock::millis()),
        lines: Mutex::new(vec![line]),
        orders,
        woken: Notify::new(),
        is_single: launch.is_single,
        freed: launch.freed,
        tasks: tasks.clone(),
        ending,
    });
    let monitor = Monitor {
        worker: worker.clone(),
        child,
        stdin,
        folder,
        words,
        limits,
        journal,
        project: launch.project,
        end: launch.end,
        orders: obeyed,
        reports: heard,
        ended,
        _permit: launch.permit,
    };
    tasks.spawn(monitor.watch());
    Ok(worker)
}

impl Launch {
    /// Everything that the worker is told, as its first line.
    fn told(&self, mark: &str) -> String {
        let told = json!({
            "mark": mark,
            "socket": self.process.folder.socket(),
            "env": self.variables,
            "hidden": HIDDEN_VARIABLES,
            "unseen": TRUST,
            "longestMessage": LONGEST_MESSAGE,
            "assignment": self.process.assignment(&self.function.code),
        });
        format!("{told}\n")
    }
}

async fn tell(mut stdin: ChildStdin, line: &str) -> std::io::Result<ChildStdin> {
    stdin.write_all(line.as_bytes()).await?;
    stdin.flush().await?;
    Ok(stdin)
}

enum NotReady {
    /// In our words; without any, the process's own count.
    Ended(Option<String>),
    Late(String),
}

/// A connection to the worker, once it takes one.
async fn ready(
    child: &mut Child,
    folder: &WorkerFolder,
    patience: Duration,
) -> Result<Line, NotReady> {
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
        ended = child.wait() => Err(NotReady::Ended(match ended {
            Ok(status) if status.success() => {
                Some("the module ended without serving: it needs Deno.serve or a default export with fetch".to_owned())
            }
            _ => None,
        })),
        () = tokio::time::sleep(patience) => {
            let told = format!("it did not serve within {} s", patience.as_secs_f32());
            Err(NotReady::Late(told))
        }
    }
}
