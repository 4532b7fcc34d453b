//! Starts a worker: hands a process its function and waits until it serves.

use std::{
    collections::BTreeMap,
    io,
    path::Path,
    process::ExitStatus,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
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
    task::JoinHandle,
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use uuid::Uuid;

use super::{
    Connection, Worker, WorkerParts,
    console::{self, Report, StderrTail},
    monitor::Monitor,
    process::Process,
};
use crate::{
    catalog::Function,
    config::Limits,
    deno::{DELETED_VARIABLES, TLS_VARIABLES},
    function_log::{FunctionLog, MAX_MESSAGE_CHARS},
};

/// How often the socket of a starting worker is tried.
const READY_POLL_INTERVAL: Duration = Duration::from_millis(2);
/// How long the last output of a process that failed to boot is waited for.
const STDERR_DRAIN_TIMEOUT: Duration = Duration::from_secs(1);

/// Everything that a worker needs to begin.
pub(crate) struct Launch {
    pub(crate) process: Process,
    /// When the boot began, for its duration.
    pub(crate) began: Instant,
    pub(crate) function: Arc<Function>,
    pub(crate) variables: BTreeMap<String, String>,
    pub(crate) limits: Limits,
    pub(crate) log: Arc<FunctionLog>,
    pub(crate) project: Project,
    /// Cancelled when the service shuts down.
    pub(crate) shutdown: CancellationToken,
    /// Whether it exits after its first request.
    pub(crate) is_oneshot: bool,
    /// Notified when a request has left the worker.
    pub(crate) released: Arc<Notify>,
    /// Its share of the limit on all worker processes together.
    pub(crate) process_permit: OwnedSemaphorePermit,
    pub(crate) tasks: TaskTracker,
}

/// Why a worker never served, for the function's developer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct BootFailure {
    pub(crate) message: String,
    /// Whether a process that was started for this function alone may succeed: this one was
    /// prewarmed.
    pub(crate) needs_own_process: bool,
    /// Whether it ran out of time, and may succeed on a less busy machine.
    pub(crate) is_timeout: bool,
}

/// How a boot can fail.
#[derive(Debug)]
enum BootError {
    NoStandardStreams,
    InitNotSent(io::Error),
    /// It exited before it served. Without a status it could not be waited for.
    Exited(Option<ExitStatus>),
    TimedOut(Duration),
}

/// Hands a process its function, and waits until it serves.
pub(crate) async fn start(mut launch: Launch) -> Result<Arc<Worker>, BootFailure> {
    let report_prefix = format!("\u{1}{}:", Uuid::new_v4().simple());
    let init = launch.init_message(&report_prefix);
    let Some(mut console) = Console::attach(&mut launch, report_prefix) else {
        return Err(launch.boot_failure(&BootError::NoStandardStreams, ""));
    };
    match boot(&mut launch, &mut console.stdin, &init).await {
        Ok(connection) => Ok(launch.into_worker(console, connection)),
        Err(error) => Err(launch.abort(&error, console).await),
    }
}

/// Sends the init message, and connects once the worker accepts connections.
async fn boot(
    launch: &mut Launch,
    stdin: &mut ChildStdin,
    init: &str,
) -> Result<Connection, BootError> {
    let written = send_init(stdin, init).await;
    written.map_err(BootError::InitNotSent)?;
    let socket = launch.process.folder.socket();
    wait_until_ready(&mut launch.process.child, &socket, launch.limits.boot).await
}

async fn send_init(stdin: &mut ChildStdin, init: &str) -> io::Result<()> {
    stdin.write_all(init.as_bytes()).await?;
    stdin.flush().await
}

async fn wait_until_ready(
    child: &mut Child,
    socket: &Path,
    timeout: Duration,
) -> Result<Connection, BootError> {
    tokio::select! {
        biased;
        connection = connect_when_listening(socket) => Ok(connection),
        exited = child.wait() => Err(BootError::Exited(exited.ok())),
        () = tokio::time::sleep(timeout) => Err(BootError::TimedOut(timeout)),
    }
}

async fn connect_when_listening(socket: &Path) -> Connection {
    loop {
        // Looking for the file is cheaper than trying to connect to what is not there.
        if socket.exists()
            && let Ok(connection) = Connection::open(socket).await
        {
            return connection;
        }
        tokio::time::sleep(READY_POLL_INTERVAL).await;
    }
}

/// The standard streams of a worker's process.
struct Console {
    stdin: ChildStdin,
    reports: mpsc::UnboundedReceiver<Report>,
    stderr: Arc<StderrTail>,
    stderr_reader: JoinHandle<()>,
    /// From then on, what it prints on standard error is logged.
    is_serving: Arc<AtomicBool>,
}

impl Console {
    /// Starts to read the output of the process. `None` if it has no streams.
    fn attach(launch: &mut Launch, report_prefix: String) -> Option<Self> {
        let Process { id, child, .. } = &mut launch.process;
        let (stdin, stdout, stderr) = (
            child.stdin.take()?,
            child.stdout.take()?,
            child.stderr.take()?,
        );
        let is_serving = Arc::new(AtomicBool::new(false));
        let tail = Arc::new(StderrTail::default());
        let (sender, reports) = mpsc::unbounded_channel();
        let log = &launch.log;
        let stdout = console::read_stdout(stdout, report_prefix, log.clone(), id.clone(), sender);
        launch.tasks.spawn(stdout);
        let stderr = console::read_stderr(
            stderr,
            log.clone(),
            id.clone(),
            tail.clone(),
            is_serving.clone(),
        );
        let stderr_reader = launch.tasks.spawn(stderr);
        Some(Self {
            stdin,
            reports,
            stderr: tail,
            stderr_reader,
            is_serving,
        })
    }
}

impl Launch {
    /// The first line on the worker's standard input, secrets included.
    fn init_message(&self, report_prefix: &str) -> String {
        let init = json!({
            "reportPrefix": report_prefix,
            "socket": self.process.folder.socket(),
            "env": self.variables,
            "deletedVariables": DELETED_VARIABLES,
            "hiddenVariables": TLS_VARIABLES,
            "maxMessageLength": MAX_MESSAGE_CHARS,
            "assignment": self.process.assignment(&self.function.code),
        });
        format!("{init}\n")
    }

    /// Ends the process, and says why it never served.
    async fn abort(mut self, error: &BootError, console: Console) -> BootFailure {
        // It may have ended already.
        _ = self.process.child.kill().await;
        // The pipe is closed now, so the reader comes to its end.
        _ = tokio::time::timeout(STDERR_DRAIN_TIMEOUT, console.stderr_reader).await;
        let failure = self.boot_failure(error, &console.stderr.text());
        if !failure.needs_own_process {
            let id = Some(self.process.id.as_str());
            self.log.boot_failed(&failure.message, id);
        }
        failure
    }

    fn boot_failure(&self, error: &BootError, stderr: &str) -> BootFailure {
        let explain = || self.function.code.explain_error(stderr);
        BootFailure::new(error, self.process.is_prewarmed(), explain)
    }

    /// A worker that serves, watched by its monitor.
    fn into_worker(self, console: Console, connection: Connection) -> Arc<Worker> {
        console.is_serving.store(true, Ordering::Relaxed);
        self.record_boot();
        let Process {
            id, child, folder, ..
        } = self.process;
        let (retire_orders, order_receiver) = mpsc::unbounded_channel();
        let (exit_sender, exit) = watch::channel(None);
        let worker = Arc::new(Worker::new(WorkerParts {
            id,
            function: self.function,
            socket: folder.socket(),
            connection,
            retire_orders,
            is_oneshot: self.is_oneshot,
            released: self.released,
            tasks: self.tasks.clone(),
            exit,
        }));
        let monitor = Monitor {
            worker: worker.clone(),
            child,
            stdin: console.stdin,
            folder,
            stderr: console.stderr,
            limits: self.limits,
            log: self.log,
            project: self.project,
            shutdown: self.shutdown,
            retire_orders: order_receiver,
            reports: console.reports,
            exit: exit_sender,
            _process_permit: self.process_permit,
        };
        self.tasks.spawn(monitor.run());
        worker
    }

    /// Logs and counts the boot, which has succeeded.
    fn record_boot(&self) {
        let boot_time = self.began.elapsed();
        let millis = u64::try_from(boot_time.as_millis()).unwrap_or(u64::MAX);
        self.log.event(
            "Boot",
            Level::Info,
            &format!("Booted (time: {millis}ms)"),
            &self.process.id,
            &[("boot_time", millis.into())],
        );
        self.function.metrics.worker_booted(boot_time);
    }
}

impl BootFailure {
    /// `explain` turns what the runtime printed into a message.
    fn new(error: &BootError, is_prewarmed: bool, explain: impl FnOnce() -> String) -> Self {
        let is_timeout = matches!(error, BootError::TimedOut(_));
        let may_be_unfit = !matches!(error, BootError::NoStandardStreams) && !is_timeout;
        let message = match error {
            BootError::NoStandardStreams => "the worker has no standard streams".to_owned(),
            BootError::InitNotSent(error) => {
                format!("the worker does not read its standard input: {error}")
            }
            BootError::Exited(Some(status)) if status.success() => {
                "the module ended without serving: it needs Deno.serve or a default export with fetch"
                    .to_owned()
            }
            BootError::Exited(_) => explain(),
            BootError::TimedOut(timeout) => {
                format!("it did not serve within {} s", timeout.as_secs_f32())
            }
        };
        Self {
            message,
            needs_own_process: is_prewarmed && may_be_unfit,
            is_timeout,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt as _;

    use super::*;

    fn failure(error: &BootError, is_prewarmed: bool) -> (String, bool, bool) {
        let failure = BootFailure::new(error, is_prewarmed, || "as it printed".to_owned());
        (
            failure.message,
            failure.needs_own_process,
            failure.is_timeout,
        )
    }

    fn exited(code: i32) -> BootError {
        BootError::Exited(Some(ExitStatus::from_raw(code << 8)))
    }

    #[test]
    fn a_prewarmed_process_that_exits_is_tried_again_in_one_of_its_own() {
        let printed = "as it printed".to_owned();
        assert_eq!(failure(&exited(1), true), (printed.clone(), true, false));
        assert_eq!(failure(&exited(1), false), (printed.clone(), false, false));
        let lost = BootError::Exited(None);
        assert_eq!(failure(&lost, false), (printed, false, false));
        let unread = BootError::InitNotSent(io::ErrorKind::BrokenPipe.into());
        assert!(failure(&unread, true).1);
    }

    #[test]
    fn a_timeout_is_no_reason_for_another_process() {
        let error = BootError::TimedOut(Duration::from_millis(1500));
        let message = "it did not serve within 1.5 s".to_owned();
        assert_eq!(failure(&error, true), (message, false, true));
    }

    #[test]
    fn a_module_that_ends_in_order_has_served_nothing() {
        let (message, ..) = failure(&exited(0), false);
        assert!(message.contains("ended without serving"), "{message}");
    }
}
