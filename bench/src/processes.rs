//! How much memory processes use, from Linux's `/proc`.
//!
//! RSS counts every page that a process can reach, so pages that ten Postgres processes share
//! would count ten times. PSS divides each page by the number of processes that share it; only
//! PSS may be added up.

use std::{fs, path::PathBuf};

use anyhow::{Context as _, ensure};

const KIB_PER_MIB: f64 = 1024.0;

/// Resident memory of one process, in MiB.
pub(crate) fn rss(pid: u32) -> anyhow::Result<f64> {
    status(pid, "VmRSS:")
}

/// The most that it ever was, in MiB.
pub(crate) fn peak_rss(pid: u32) -> anyhow::Result<f64> {
    status(pid, "VmHWM:")
}

fn status(pid: u32, name: &str) -> anyhow::Result<f64> {
    let path = about(pid).join("status");
    let text = fs::read_to_string(&path).with_context(|| format!("no process {pid}"))?;
    let kib = field(&text, name).with_context(|| format!("no {name} in {}", path.display()))?;
    Ok(kib / KIB_PER_MIB)
}

/// Proportional memory of a process and everything below it, in MiB.
pub(crate) fn pss_of_tree(root: u32) -> anyhow::Result<f64> {
    let tree = tree(root);
    ensure!(!tree.is_empty(), "process {root} is gone");
    // One that ends between being listed and being read holds nothing any more.
    let parts = tree.iter().filter_map(|pid| pss(*pid).ok());
    Ok(parts.sum())
}

/// The processes that a process has started itself.
pub(crate) fn children(parent: u32) -> Vec<u32> {
    let all = all_with_parents().into_iter();
    let own = all.filter(|(_, of)| *of == parent);
    own.map(|(pid, _)| pid).collect()
}

/// A process and all its descendants.
pub(crate) fn tree(root: u32) -> Vec<u32> {
    let all: Vec<(u32, u32)> = all_with_parents();
    let mut found: Vec<u32> = all
        .iter()
        .map(|(pid, _)| *pid)
        .filter(|pid| *pid == root)
        .collect();
    let mut next = 0;
    while let Some(&parent) = found.get(next) {
        found.extend(
            all.iter()
                .filter(|(_, of)| *of == parent)
                .map(|(pid, _)| *pid),
        );
        next += 1;
    }
    found
}

/// Whether a process runs. A zombie still has a pid, but does not.
pub(crate) fn is_alive(pid: u32) -> bool {
    let status = fs::read_to_string(about(pid).join("status")).unwrap_or_default();
    let state = status.lines().find_map(|line| line.strip_prefix("State:"));
    state.is_some_and(|state| !state.trim_start().starts_with('Z'))
}

fn pss(pid: u32) -> anyhow::Result<f64> {
    let text = fs::read_to_string(about(pid).join("smaps_rollup"))?;
    Ok(field(&text, "Pss:").context("no Pss")? / KIB_PER_MIB)
}

fn all_with_parents() -> Vec<(u32, u32)> {
    let Ok(entries) = fs::read_dir("/proc") else {
        return Vec::new();
    };
    let pids = entries
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    pids.filter_map(|pid: u32| {
        let status = fs::read_to_string(about(pid).join("status")).ok()?;
        Some((pid, field(&status, "PPid:")? as u32))
    })
    .collect()
}

fn about(pid: u32) -> PathBuf {
    PathBuf::from(format!("/proc/{pid}"))
}

/// The first number behind a label, as in `Pss:   1234 kB`.
fn field(text: &str, label: &str) -> Option<f64> {
    let rest = text.lines().find_map(|line| line.strip_prefix(label))?;
    rest.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    fn a_field_is_found_by_its_whole_label() {
        let text = "Rss:  4000 kB\nPss_Dirty:  1 kB\nPss:   1234 kB\n";
        assert_eq!(field(text, "Pss:"), Some(1234.0));
        assert_eq!(field(text, "Swap:"), None);
    }

    #[test]
    fn the_tree_holds_children_and_uses_memory() {
        let mut child = Command::new("cat").stdin(Stdio::piped()).spawn().unwrap();
        let me = std::process::id();

        assert!(tree(me).contains(&child.id()));
        assert!(pss_of_tree(me).unwrap() > 0.1);
        assert!(rss(me).unwrap() > 0.1);

        child.kill().unwrap();
        child.wait().unwrap();
        assert!(pss_of_tree(child.id()).is_err());
    }
}
