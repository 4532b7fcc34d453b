//! The npm package lists its symlinks in `pg-symlinks.json`, because npm archives carry none.
//!
//! Its install script would restore them; we do it ourselves, so that `npm ci --ignore-scripts`
//! is enough. Several Plinths may do this at once, and an install that is already complete may be
//! read-only, so a link is only ever added or swapped in one step, and only when needed.

use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::path::{Component, Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use serde_json::Value;

use crate::error::{Error, Result, plain};

/// Makes every link that the package wants and does not have.
pub(super) fn restore(package: &Path) -> Result<()> {
    let failed = |reason| Error::Symlinks {
        package: package.to_owned(),
        reason,
    };
    let listing = match fs::read(package.join("native/pg-symlinks.json")) {
        Ok(listing) => listing,
        // A package without links needs none.
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(cause) => return Err(failed(plain(&cause))),
    };
    let links = parse(&listing).map_err(failed)?;
    for link in links {
        link.restore(package)
            .map_err(|cause| failed(plain(&cause)))?;
    }
    Ok(())
}

/// Both paths are relative to the package.
#[derive(Debug, PartialEq, Eq)]
struct Link {
    at: PathBuf,
    to: PathBuf,
}

impl Link {
    fn restore(&self, package: &Path) -> io::Result<()> {
        let at = package.join(&self.at);
        let to = self.relative_target();
        match fs::read_link(&at) {
            Ok(existing) if existing == to => Ok(()),
            Ok(_) => replace(&at, &to),
            // Some packagers write a copy instead of a link; it serves as well.
            Err(_) if at.is_file() => Ok(()),
            Err(_) => match symlink(&to, &at) {
                Err(cause) if cause.kind() == io::ErrorKind::AlreadyExists => Ok(()),
                done => done,
            },
        }
    }

    /// The target as seen from the folder of the link, so that the package can be moved.
    fn relative_target(&self) -> PathBuf {
        let from: Vec<_> = self
            .at
            .parent()
            .into_iter()
            .flat_map(Path::components)
            .collect();
        let to: Vec<_> = self.to.components().collect();
        let shared = from
            .iter()
            .zip(&to)
            .take_while(|(left, right)| left == right)
            .count();
        let up = std::iter::repeat_n(Component::ParentDir, from.len() - shared);
        up.chain(to[shared..].iter().copied()).collect()
    }
}

fn replace(at: &Path, to: &Path) -> io::Result<()> {
    static COUNTER: AtomicU32 = AtomicU32::new(0);
    let number = COUNTER.fetch_add(1, Ordering::Relaxed);
    let name = format!(".link-{}-{number}", std::process::id());
    let temporary = at.with_file_name(name);
    symlink(to, &temporary)?;
    fs::rename(&temporary, at).inspect_err(|_| _ = fs::remove_file(&temporary))
}

/// Each entry says that `target` is a link to `source`.
fn parse(listing: &[u8]) -> Result<Vec<Link>, String> {
    let entries: Vec<Value> = serde_json::from_slice(listing)
        .map_err(|cause| format!("pg-symlinks.json is not a list ({cause})"))?;
    entries
        .iter()
        .map(|entry| {
            let path = |key: &str| {
                entry
                    .get(key)
                    .and_then(Value::as_str)
                    .and_then(inside_package)
            };
            match (path("target"), path("source")) {
                (Some(at), Some(to)) => Ok(Link { at, to }),
                _ => Err(format!("pg-symlinks.json holds a wrong entry: {entry}")),
            }
        })
        .collect()
}

/// The list is data from outside: nothing in it may lead out of the package.
fn inside_package(text: &str) -> Option<PathBuf> {
    let path = PathBuf::from(text);
    let is_plain = path
        .components()
        .all(|step| matches!(step, Component::Normal(_)));
    (is_plain && path.starts_with("native")).then_some(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LISTING: &str = r#"[
        {"source": "native/lib/libpq.so.5.18", "target": "native/lib/libpq.so.5"},
        {"source": "native/lib/libpq.so.5.18", "target": "native/bin/libpq.so"}
    ]"#;

    fn package() -> tempfile::TempDir {
        let package = tempfile::tempdir().unwrap();
        for folder in ["native/lib", "native/bin"] {
            fs::create_dir_all(package.path().join(folder)).unwrap();
        }
        fs::write(package.path().join("native/pg-symlinks.json"), LISTING).unwrap();
        fs::write(package.path().join("native/lib/libpq.so.5.18"), "library").unwrap();
        package
    }

    fn assert_complete(package: &Path) {
        for link in ["native/lib/libpq.so.5", "native/bin/libpq.so"] {
            assert_eq!(
                fs::read_to_string(package.join(link)).unwrap(),
                "library",
                "{link}"
            );
        }
        let target = fs::read_link(package.join("native/bin/libpq.so")).unwrap();
        assert_eq!(target, Path::new("../lib/libpq.so.5.18"));
    }

    #[test]
    fn links_are_restored_once_and_stay() {
        let package = package();

        restore(package.path()).unwrap();
        assert_complete(package.path());
        restore(package.path()).unwrap();
        assert_complete(package.path());
    }

    #[test]
    fn a_link_that_leads_elsewhere_is_replaced_and_a_copy_is_kept() {
        let package = package();
        symlink("gone", package.path().join("native/bin/libpq.so")).unwrap();
        fs::write(package.path().join("native/lib/libpq.so.5"), "library").unwrap();

        restore(package.path()).unwrap();

        assert_complete(package.path());
        assert!(!package.path().join("native/lib/libpq.so.5").is_symlink());
    }

    #[test]
    fn many_at_once_do_not_disturb_each_other() {
        let package = package();
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| restore(package.path()).unwrap());
            }
        });
        assert_complete(package.path());
    }

    #[test]
    fn a_package_without_a_list_needs_nothing() {
        restore(tempfile::tempdir().unwrap().path()).unwrap();
    }

    #[test]
    fn paths_that_leave_the_package_are_rejected() {
        for path in ["../lib/x", "/etc/passwd", "native/../../x", "other/x", ""] {
            assert_eq!(inside_package(path), None, "{path}");
        }
        let package = package();
        let list = r#"[{"source": "native/x", "target": "../evil"}]"#;
        fs::write(package.path().join("native/pg-symlinks.json"), list).unwrap();

        let error = restore(package.path()).unwrap_err().to_string();

        assert!(error.contains("wrong entry"), "{error}");
    }
}
