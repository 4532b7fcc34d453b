//! Two installations do not share a store: each would collect what the other needs.

use std::{fs, process::Command, time::Duration};

use super::storage_check::{HASTY, expect_settled, files, get, put, storage};
use crate::support::{FileStore, Folder, Instance, Mount, does_not_apply, eventually};

/// A store outside of the folder of a server, where several could find it.
fn outside(folder: &Folder, store: &FileStore) -> Vec<String> {
    match store {
        FileStore::Disk(_) => {
            let path = folder.path().join("outside");
            vec![
                "--set".into(),
                format!("plinth.storage.path={}", path.display()),
            ]
        }
        FileStore::S3 { .. } => Vec::new(),
    }
}

/// All that a person would copy who wants the same thing twice.
fn copy_of(folder: &Folder) -> Folder {
    let copy = Folder::new();
    let copied = Command::new("cp")
        .arg("-a")
        .arg(format!("{}/.", folder.path().display()))
        .arg(copy.path())
        .status();
    assert!(copied.expect("cp runs").success());
    copy
}

#[test]
fn a_copy_of_an_installation_does_not_touch_the_files_of_the_first() {
    let place = Folder::new();
    let folder = Folder::new();
    let store = FileStore::of(&folder);
    let outside = outside(&place, &store);
    let args: Vec<&str> = outside
        .iter()
        .map(String::as_str)
        .chain(HASTY.iter().copied())
        .collect();
    let server = Instance::start(&folder, &args);
    put(&storage(&server), "a", "one");
    assert_eq!(server.stop().code(), Some(0));
    let copy = copy_of(&folder);

    let failed = copy.start_failing(&args);
    failed.says(&[
        "belongs to another installation",
        &folder.path().display().to_string(),
        "plinth.storage.adopt=true",
    ]);

    let server = Instance::start(&folder, &args);
    let http = storage(&server);
    assert_eq!(get(&http, "a").body, "one");
    put(&http, "b", "two");
    // The first one goes, and the copy takes its place.
    assert_eq!(server.stop().code(), Some(0));
    let adopting = [&args[..], &["--set", "plinth.storage.adopt=true"]].concat();
    let server = Instance::start(&copy, &adopting);
    assert_eq!(get(&server.http(), "a").body, "one");
    assert_eq!(server.stop().code(), Some(0));
    let server = Instance::start(&copy, &args);
    assert_eq!(get(&server.http(), "a").body, "one");
    folder
        .start_failing(&args)
        .says(&[&copy.path().display().to_string()]);
}

#[test]
fn an_installation_that_lost_its_store_collects_nothing_any_more() {
    let place = Folder::new();
    let folder = Folder::new();
    let store = FileStore::of(&folder);
    let outside = outside(&place, &store);
    let args: Vec<&str> = outside
        .iter()
        .map(String::as_str)
        .chain(HASTY.iter().copied())
        .collect();
    let server = Instance::start(&folder, &args);
    let http = storage(&server);
    put(&http, "a", "one");
    let root = match &store {
        FileStore::Disk(_) => place.path().join("outside"),
        FileStore::S3 { .. } => store.folder(&server).parent().expect("a root").to_owned(),
    };
    let note = root.join("installation.json");
    let own = fs::read_to_string(&note).expect("its name");
    assert!(own.contains(&folder.path().display().to_string()), "{own}");
    fs::write(&note, r#"{"id":"another","home":"elsewhere"}"#).expect("another name");
    let bytes = || files(&root.join(server.value("PLINTH_REF"))).len();

    http.send("DELETE", "/storage/v1/object/b/a", "")
        .expect("a response")
        .expect_status(200);
    // Each failed collection logs; several last longer than the grace period of a removed blob.
    let failures = || server.stderr().matches("garbage collection failed").count();
    let before = failures();
    eventually(Duration::from_secs(60), "the garbage is looked at", || {
        (failures() >= before + 4).then_some(())
    });

    assert_eq!(bytes(), 1, "another installation may need them");
    let ended = folder.cli(&["storage", "check"]).expect_code(1);
    ended.says(&["belongs to another installation", "elsewhere"]);
    assert!(
        server.stderr().contains("belongs to another"),
        "{}",
        server.stderr()
    );
    fs::write(&note, own).expect("its own name again");
    let summary = expect_settled(&folder);
    assert_eq!(summary["files"], 0);
    assert_eq!(bytes(), 0);
}

#[test]
fn files_that_could_not_be_moved_into_place_are_no_store() {
    let folder = Folder::new();
    let server = Instance::start(&folder, &[]);
    put(&storage(&server), "a", "one");
    let tmp = FileStore::Disk(folder.state().join("files"))
        .folder(&server)
        .join("tmp");
    assert_eq!(server.stop().code(), Some(0));
    fs::create_dir_all(&tmp).expect("a folder");
    let Some(_disk) = Mount::tmpfs(&tmp, 1) else {
        return does_not_apply("mounting a small disk is not permitted here");
    };

    let failed = folder.start_failing(&[]);

    failed.says(&["more than one file system", "blobs, tmp and resumable"]);
}
