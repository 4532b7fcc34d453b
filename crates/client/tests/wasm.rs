//! The SDK compiles for the browser, where this machine's toolchain has that target.

use std::path::Path;
use std::process::Command;

const TARGET: &str = "wasm32-unknown-unknown";

#[test]
fn the_library_compiles_for_the_browser() {
    let rustc = Command::new("rustc")
        .args(["--print", "target-libdir", "--target", TARGET])
        .output();
    let folder = rustc.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned());
    if !folder.is_ok_and(|folder| Path::new(&folder).is_dir()) {
        eprintln!("skipped: this toolchain has no {TARGET}");
        return;
    }

    let checked = Command::new(env!("CARGO"))
        .args([
            "check",
            "--lib",
            "--package",
            "plinth-client",
            "--target",
            TARGET,
        ])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        // The folder of this build is locked while its tests run under cargo.
        .env(
            "CARGO_TARGET_DIR",
            Path::new(env!("CARGO_TARGET_TMPDIR")).join("wasm"),
        )
        .output()
        .expect("cargo runs");

    assert!(
        checked.status.success(),
        "{}",
        String::from_utf8_lossy(&checked.stderr)
    );
}
