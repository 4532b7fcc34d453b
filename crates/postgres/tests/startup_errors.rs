//! Each startup error is one sentence that says what to do.

#![allow(clippy::unwrap_used, reason = "a test may fail by panicking")]

mod support;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use plinth_postgres::binaries::Search;
use plinth_postgres::{Options, Server};
use support::*;

#[tokio::test]
async fn a_second_server_on_the_same_folder_is_rejected() {
    let project = project_folder();
    let server = start(options(project.path(), installation())).await;

    let sentence = startup_error(options(project.path(), installation())).await;

    let pid = std::process::id();
    assert!(
        sentence.starts_with(&format!("Another plinth (pid {pid}) already uses")),
        "{sentence}"
    );
    server.stop(TEST_TIMEOUT).await;
}

#[tokio::test]
async fn data_of_another_major_version_is_rejected() {
    let project = project_folder();
    let server = start(options(project.path(), installation())).await;
    let major = server.version().major;
    server.stop(TEST_TIMEOUT).await;
    let version_file = server.data_dir().join("PG_VERSION");
    fs::write(&version_file, "12\n").unwrap();

    let sentence = startup_error(options(project.path(), installation())).await;

    let expected = format!("was made by PostgreSQL 12, but the server found is {major};");
    assert!(sentence.contains(&expected), "{sentence}");
}

#[tokio::test]
async fn each_database_is_run_by_the_version_that_made_it() {
    let all = installations();
    let [(_, package), (_, system)] = all.as_slice() else {
        eprintln!("skipped: this needs two installations");
        return;
    };
    let project = project_folder();
    let first = start(options(project.path(), system.clone())).await;
    let made_by = first.version().clone();
    first.stop(TEST_TIMEOUT).await;

    // The package comes first in the search, but cannot read this database.
    let second = start(options(project.path(), package.clone())).await;

    assert_eq!(*second.version(), made_by);
    second.stop(TEST_TIMEOUT).await;
}

#[tokio::test]
async fn a_folder_with_other_files_is_not_overwritten() {
    let project = project_folder();
    let database = project.path().join(".plinth/database");
    fs::create_dir_all(&database).unwrap();
    fs::write(database.join("letter.txt"), "Dear Ada").unwrap();

    let sentence = startup_error(options(project.path(), installation())).await;

    assert!(
        sentence.contains("holds no PostgreSQL database"),
        "{sentence}"
    );
    assert_eq!(
        fs::read_to_string(database.join("letter.txt")).unwrap(),
        "Dear Ada"
    );
}

#[tokio::test]
async fn missing_programs_are_explained() {
    let project = project_folder();
    let search = Search {
        bin_dir: Some("/nowhere/bin".into()),
        runtime_dirs: Vec::new(),
    };

    let sentence = startup_error(options(project.path(), search)).await;

    assert!(
        sentence.starts_with("There is no PostgreSQL in /nowhere/bin"),
        "{sentence}"
    );
}

#[tokio::test]
async fn a_read_only_folder_is_named() {
    let Some(disk) = Disk::mount("size=200m") else {
        return;
    };
    let project = disk.path.join("project");
    fs::create_dir(&project).unwrap();
    // First where nothing is there yet, then where a database waits.
    disk.cover();
    let sentence = startup_error(options(&project, installation())).await;
    assert!(sentence.ends_with("read-only file system."), "{sentence}");

    disk.uncover();
    start(options(&project, installation()))
        .await
        .stop(TEST_TIMEOUT)
        .await;
    disk.cover();
    let sentence = startup_error(options(&project, installation())).await;
    assert_eq!(
        sentence,
        format!(
            "Cannot write to {}: read-only file system.",
            project.join(".plinth").display()
        )
    );
}

#[tokio::test]
async fn a_small_disk_is_rejected_before_a_database_is_made() {
    let Some(disk) = Disk::mount("size=20m") else {
        return;
    };

    let elsewhere = tempfile::tempdir().unwrap();
    fs::set_permissions(elsewhere.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let mut options = options(&disk.path, installation());
    // Where a copy of the programs is put, if the user that runs PostgreSQL cannot reach them.
    options.system_dir = elsewhere.path().to_owned();

    let sentence = startup_error(options).await;

    assert!(sentence.contains("is full: 19 MiB are free"), "{sentence}");
    assert!(!disk.path.join(".plinth/database").exists());
}

#[tokio::test]
async fn a_full_disk_under_an_existing_database_is_named() {
    let Some(disk) = Disk::mount("size=200m") else {
        return;
    };
    let server = start(options(&disk.path, installation())).await;
    server.stop(TEST_TIMEOUT).await;
    let filler = disk.path.join("filler");
    let written = fs::write(&filler, vec![1; 200 * 1024 * 1024]);
    assert!(written.is_err(), "the disk should be full now");

    let sentence = startup_error(options(&disk.path, installation())).await;
    assert!(
        sentence.contains("Free some space") || sentence.contains("no space"),
        "{sentence}"
    );

    fs::remove_file(&filler).unwrap();
    let server = start(options(&disk.path, installation())).await;
    server.stop(TEST_TIMEOUT).await;
}

#[tokio::test]
async fn an_ordinary_user_gets_an_error_for_folders_of_others() {
    let (true, Ok(other)) = (
        rustix::process::geteuid().is_root(),
        Command::new("runuser")
            .args(["-u", "nobody", "--", "true"])
            .status(),
    ) else {
        eprintln!("skipped: only root can become another user");
        return;
    };
    if !other.success() {
        eprintln!("skipped: this machine cannot run programs as `nobody`");
        return;
    }
    let project = project_folder();
    let executable = project.path().join("test");
    fs::copy(std::env::current_exe().unwrap(), &executable).unwrap();

    let output = Command::new("runuser")
        .args(["-u", "nobody", "--"])
        .arg(&executable)
        .args([
            "--exact",
            "prints_its_startup_error",
            "--ignored",
            "--nocapture",
        ])
        .env("PLINTH_TEST_FOLDER", project.path())
        .output()
        .unwrap();

    let printed = String::from_utf8_lossy(&output.stdout);
    assert!(printed.contains("permission denied."), "{printed}");
}

/// Not a test of its own: what the test above runs as another user.
#[tokio::test]
#[ignore = "started by another test"]
async fn prints_its_startup_error() {
    let folder = std::env::var("PLINTH_TEST_FOLDER").unwrap();
    let options = Options::new(Path::new(&folder).join(".plinth"));
    if let Err(error) = Server::start(options, |_| {}).await {
        println!("{error}");
    }
}

/// A small disk in memory.
struct Disk {
    path: std::path::PathBuf,
    _folder: tempfile::TempDir,
}

impl Disk {
    fn mount(options: &str) -> Option<Self> {
        let folder = project_folder();
        let path = folder.path().join("disk");
        fs::create_dir(&path).unwrap();
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", &format!("{options},mode=755"), "none"])
            .arg(&path)
            .output();
        if !mounted.as_ref().is_ok_and(|output| output.status.success()) {
            eprintln!("skipped: mounting a disk is not permitted here");
            return None;
        }
        Some(Self {
            path,
            _folder: folder,
        })
    }

    /// Makes it read-only by a mount on top of it. The disk itself may be busy: children of other tests
    /// have our open files until they run their program.
    fn cover(&self) {
        let path = self.path.to_str().unwrap();
        run("mount", &["--bind", path, path]);
        run("mount", &["-o", "remount,bind,ro", path]);
    }

    /// Makes it writable again.
    fn uncover(&self) {
        run("umount", &["--lazy", self.path.to_str().unwrap()]);
    }
}

fn run(program: &str, args: &[&str]) {
    let output = Command::new(program).args(args).output().unwrap();
    let message = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{program}: {message}");
}

impl Drop for Disk {
    fn drop(&mut self) {
        // Also what is on top. Lazily, because it may be busy.
        let umount = || {
            let mut umount = Command::new("umount");
            umount.arg("--lazy").arg(&self.path).output()
        };
        while umount().is_ok_and(|output| output.status.success()) {}
    }
}
