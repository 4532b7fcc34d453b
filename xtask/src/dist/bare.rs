//! The archive on a bare Debian: a root that debootstrap made, without Rust and Node.js, in a network
//! namespace that has nothing but loopback.
//!
//! What is run is the README's own example: its migration and the commands that it shows inside, its script outside
//! with the Node.js of this machine, in the same network namespace. A function is called as well.

mod readme;

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result, bail};

use super::write;
use crate::{commands, steps::Outcome, tools, workspace};
use readme::Example;

/// What the Debian is made of.
const RELEASE: &str = "bookworm";
/// Where the archive is unpacked, and where the app is, inside.
pub(super) const PREFIX: &str = "opt/plinth";
const APP: &str = "app";
/// Where the README's commands store keys.
const SECRETS: &str = ".plinth/app.env";

/// Runs the archive that lies in `dist`.
pub(crate) fn check(dist: &Path) -> Result<Outcome> {
    if let Some(why) = tools::install_debootstrap()? {
        return Ok(Outcome::Skipped(why));
    }
    let example = Example::read(&workspace::root().join("README.md"))?;
    let root = dist.join("bare-debian");
    if let Some(why) = make_debian(&dist.with_file_name("bare-debian.tar"), &root)? {
        return Ok(Outcome::Skipped(why));
    }
    unpack(dist, &root.join(PREFIX))?;

    let app = root.join(APP);
    write(&app.join(&example.migration.0), &example.migration.1)?;
    write(&app.join(&example.script.0), &example.script.1)?;
    write(&app.join("readme.sh"), &example.commands)?;
    write(&app.join("example.sh"), INSIDE)?;
    write(&app.join("outside.sh"), OUTSIDE)?;
    link_client(&app)?;

    let mut unshare = Command::new("unshare");
    unshare
        .args(["--net", "--mount", "--pid", "--fork", "--kill-child"])
        .arg("sh")
        .arg(app.join("outside.sh"))
        .arg(&root)
        .arg(&example.script.0);
    let printed = commands::output(&mut unshare)?;
    commands::print(&printed)?;
    // The example runs twice, so its second row is there at the end.
    for wanted in [example.printed.as_str(), "2 [", "Hello Plinth!"] {
        if !printed.contains(wanted) {
            bail!("the example did not print {wanted:?}");
        }
    }
    check_ignored(&app, &example.script.0)?;
    fs::remove_dir_all(&root).context("the bare Debian cannot be removed")?;
    Ok(Outcome::Done)
}

/// The example writes keys to a file: Git must not take it, and takes the script.
fn check_ignored(app: &Path, script: &str) -> Result<()> {
    let git = |args: &[&str]| {
        let mut git = Command::new("git");
        git.args(["-c", "core.excludesFile=/dev/null"]).args(args);
        git.current_dir(app);
        git
    };
    // A repository of its own: the folder around it is ignored as a whole.
    commands::run(&mut git(&["init", "--quiet"]))?;
    for (file, code) in [(SECRETS, 0), (script, 1)] {
        let status = git(&["check-ignore", "--quiet", file])
            .status()
            .context("git cannot be run")?;
        if status.code() != Some(code) {
            bail!("`git check-ignore {file}` ended with {status} instead of {code}");
        }
    }
    if !app.join(SECRETS).is_file() {
        bail!("the example has not written {SECRETS}");
    }
    Ok(())
}

/// In the bare root, with the program on the PATH: a function, a first start, and what the README
/// says people to type, which finds a server that runs.
const INSIDE: &str = "\
set -e
export PATH=/opt/plinth/bin:$PATH
cd /app
case $1 in
  start)
    plinth functions new hello >&2
    plinth start --detach >&2
    sh -e readme.sh >&2
    ;;
  stop) plinth stop >&2 ;;
esac
";

/// Around it: $1 is the root, $2 the script of the README.
const OUTSIDE: &str = r#"
set -e
ip link set lo up
mount -t proc proc "$1/proc"
mount --rbind /dev "$1/dev"
inside() { env -i HOME=/root TERM=dumb PATH=/usr/bin:/bin:/usr/sbin:/sbin chroot "$1" sh /app/example.sh "$2"; }
inside "$1" start
cd "$1/app"
status=0
for script in "$2" "$2" hello.mjs; do
  NODE_OPTIONS=--experimental-websocket node --env-file=.plinth/app.env "$script" || status=$?
done
inside "$1" stop
exit $status
"#;

/// Calls the function that `plinth functions new` wrote.
const HELLO: &str = r#"
import { createClient } from "@supabase/supabase-js";
const supabase = createClient(process.env.API_URL, process.env.PUBLISHABLE_KEY);
const { data, error } = await supabase.functions.invoke("hello", { body: { name: "Plinth" } });
if (error) throw error;
console.log(data.message);
"#;

/// A fresh root, or the reason why there is none; debootstrap's work is kept for the next run.
fn make_debian(kept: &Path, root: &Path) -> Result<Option<String>> {
    if !kept.is_file() {
        let made: PathBuf = kept.with_extension("tmp");
        let mut debootstrap = Command::new("debootstrap");
        debootstrap.arg("--variant=minbase").arg(RELEASE).arg(&made);
        if let Some(mirror) = tools::debian_mirror() {
            debootstrap.arg(mirror);
        }
        if let Err(error) = commands::run(&mut debootstrap) {
            // Usually the network; what is half done would be taken for whole.
            let _ = fs::remove_dir_all(&made);
            return Ok(Some(format!("an empty Debian cannot be had: {error:#}")));
        }
        let mut tar = Command::new("tar");
        tar.arg("--directory")
            .arg(&made)
            .arg("--create")
            .arg("--file")
            .arg(kept)
            .arg(".");
        commands::run(&mut tar)?;
        fs::remove_dir_all(&made).context("what debootstrap made cannot be removed")?;
    }
    if root.exists() {
        fs::remove_dir_all(root).with_context(|| format!("{} is in use", root.display()))?;
    }
    fs::create_dir_all(root)?;
    commands::run(
        Command::new("tar")
            .arg("--directory")
            .arg(root)
            .arg("--extract")
            .arg("--file")
            .arg(kept),
    )?;
    Ok(None)
}

fn unpack(dist: &Path, to: &Path) -> Result<()> {
    let entries = fs::read_dir(dist).with_context(|| format!("no folder {}", dist.display()))?;
    let mut files = entries.filter_map(|entry| Some(entry.ok()?.path()));
    let is_archive = |file: &PathBuf| file.to_string_lossy().ends_with(".tar.gz");
    let archive = files.find(is_archive).context("there is no archive")?;
    fs::create_dir_all(to)?;
    let mut tar = Command::new("tar");
    tar.arg("--directory")
        .arg(to)
        .args(["--extract", "--strip-components=1", "--file"])
        .arg(archive);
    commands::run(&mut tar)
}

/// `npm install @supabase/supabase-js`, from what the suites have installed: there is no network.
fn link_client(app: &Path) -> Result<()> {
    write(&app.join("hello.mjs"), HELLO)?;
    let installed = workspace::root().join("tests/js-clients/node_modules");
    tools::install_packages(&workspace::root().join("tests/js-clients"))?;
    std::os::unix::fs::symlink(&installed, app.join("node_modules"))
        .context("the client cannot be linked")
}
