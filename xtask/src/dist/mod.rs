//! `cargo xtask dist`: what people without Rust and Node.js install.
//!
//! `layout` puts the program, PostgreSQL, Deno, completions, man pages and the systemd unit into one
//! folder, which becomes an archive; `services` compares it with the unit and the Dockerfile; `npm` arranges the
//! same as packages for `npx plinth`; `bare` proves that the archive runs on a Debian that has nothing else and
//! no network.

pub(crate) mod bare;
mod layout;
mod npm;
mod services;

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, ExitCode},
};

use anyhow::{Context, Result, bail};

use crate::{
    commands, progress,
    steps::{Outcome, Plan, Step},
    tools, web,
    workspace::{self, Workspace},
};
pub(crate) use layout::Layout;

/// The platform that is packed: the one that runs this.
const PLATFORM: &str = "linux-x64";
pub(crate) const IS_PACKED_HERE: bool = cfg!(all(target_os = "linux", target_arch = "x86_64"));

/// What one may ask for.
#[derive(Debug, PartialEq)]
struct Options {
    /// The cargo profile of the program that is packed.
    profile: String,
    /// Whether the archive is run on a bare Debian.
    is_checked: bool,
}

impl Options {
    fn parse(arguments: &[String]) -> Result<Self> {
        let mut options = Self {
            profile: "release".to_owned(),
            is_checked: false,
        };
        let mut arguments = arguments.iter();
        while let Some(argument) = arguments.next() {
            match argument.as_str() {
                "--check" => options.is_checked = true,
                "--profile" => {
                    let profile = arguments.next().context("--profile needs a name")?;
                    options.profile.clone_from(profile);
                }
                _ => bail!("`cargo xtask dist` takes --check and --profile <name>"),
            }
        }
        Ok(options)
    }
}

/// Builds the program and packs it.
pub(crate) fn run(arguments: &[String]) -> Result<ExitCode> {
    let Options {
        profile,
        is_checked,
    } = Options::parse(arguments)?;
    if !IS_PACKED_HERE {
        bail!("`cargo xtask dist` packs for Linux x64, and only there");
    }
    tools::require_node()?;
    let target = Workspace::load()?.target_directory;
    let runtime = workspace::root().join("runtime");
    let program = target.join(&profile).join("plinth");
    let dist = target.join("dist");

    let mut plan = Plan::default();
    plan.add(Step::new("runtime packages", || {
        tools::install_packages(&runtime)
    }));
    let web_build = plan.add_all(web::steps());
    plan.add(
        Step::new("build", || {
            let mut build = workspace::cargo();
            build.args(["build", "--profile", &profile, "--package", "plinth"]);
            progress::build(&mut build)?;
            Ok(Outcome::Done)
        })
        .needs(web_build),
    );
    plan.add(
        Step::new("archive and npm packages", || {
            let archive = pack(&program, &dist, Compression::Small)?;
            println!("Packed {}", archive.display());
            Ok(Outcome::Done)
        })
        .needs(["runtime packages", "build"]),
    );
    if is_checked {
        // A check that was asked for must not be skipped.
        let step = Step::new("archive on a bare Debian", || match bare::check(&dist)? {
            Outcome::Skipped(why) => bail!(why),
            outcome => Ok(outcome),
        });
        plan.add(step.needs(["archive and npm packages"]));
        let step = Step::new("npm packages", || npm::check(&dist));
        plan.add(step.needs(["archive and npm packages"]));
    }
    let report = plan.run();
    print!("{report}");
    Ok(report.exit_code())
}

/// The options of gzip.
#[derive(Clone, Copy)]
pub(crate) enum Compression {
    /// For people who download it.
    Small,
    /// For a test.
    Fast,
}

/// Fills `dist` with the unpacked folder, the archive and the npm packages; returns the archive.
pub(crate) fn pack(program: &Path, dist: &Path, compression: Compression) -> Result<PathBuf> {
    if dist.exists() {
        fs::remove_dir_all(dist).with_context(|| format!("{} is in use", dist.display()))?;
    }
    let version = version()?;
    let name = format!("plinth-{version}-{PLATFORM}");
    let layout = Layout::fill(&dist.join(&name), program)?;
    services::check(&dist.join(&name))?;
    npm::fill(&dist.join("npm"), &layout, &version)?;

    let archive = dist.join(format!("{name}.tar.gz"));
    let mut tar = Command::new("tar");
    // Equal contents give equal archives.
    tar.args(["--sort=name", "--owner=0", "--group=0", "--numeric-owner"])
        .arg("--mtime=@0")
        .arg("--directory")
        .arg(dist)
        .arg("--create")
        .arg(match compression {
            Compression::Small => "--use-compress-program=gzip -9",
            Compression::Fast => "--use-compress-program=gzip -1",
        })
        .arg("--file")
        .arg(&archive)
        .arg(&name);
    commands::run(&mut tar)?;
    Ok(archive)
}

fn version() -> Result<String> {
    let workspace = Workspace::load()?;
    let mut packages = workspace.packages.into_iter();
    let plinth = packages.find(|package| package.name == "plinth");
    Ok(plinth.context("there is no package plinth")?.version)
}

/// Writes a file, its folders included.
fn write(file: &Path, text: impl AsRef<[u8]>) -> Result<()> {
    let folder = file.parent().context("a file lies in a folder")?;
    fs::create_dir_all(folder)
        .and_then(|()| fs::write(file, text))
        .with_context(|| format!("{} cannot be written", file.display()))
}

/// Copies a file with its permissions, or a whole folder with its links.
fn copy(from: &Path, to: &Path) -> Result<()> {
    let folder = to.parent().context("a file lies in a folder")?;
    fs::create_dir_all(folder).with_context(|| format!("no folder {}", folder.display()))?;
    commands::run(Command::new("cp").arg("--archive").arg(from).arg(to))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(arguments: &[&str]) -> Result<Options> {
        let arguments: Vec<String> = arguments.iter().map(ToString::to_string).collect();
        Options::parse(&arguments)
    }

    #[test]
    fn a_release_is_packed_unless_another_profile_is_named() {
        let options = parse(&[]).expect("nothing is needed");
        assert_eq!(
            (options.profile.as_str(), options.is_checked),
            ("release", false)
        );
        let options = parse(&["--profile", "up", "--check"]).expect("both are known");
        assert_eq!((options.profile.as_str(), options.is_checked), ("up", true));
        assert!(parse(&["--profile"]).is_err());
        assert!(parse(&["up"]).is_err());
    }
}
