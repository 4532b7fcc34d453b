//! Deployed functions: the active versions, and their sources on this machine's disk.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
};

use plinth_project::{DeployedFunction, FunctionSource, FunctionStore, ProjectRef, UnpackError};
use uuid::Uuid;

use super::{
    Function, Origin,
    folder::{Functions, deno_dir},
    is_valid_slug,
};
use crate::{account::Account, code::Code, metrics::FunctionMetrics};

/// The active versions, as of the last announced change.
#[derive(Debug, Clone, Default)]
pub(crate) struct Deployed(pub(crate) Functions);

impl Deployed {
    /// As the store has them. What did not change stays the same `Arc`.
    pub(crate) fn new(
        stored: Vec<DeployedFunction>,
        project: &ProjectRef,
        home: &Path,
        account: Option<Account>,
        before: &Self,
    ) -> Self {
        let mut functions = BTreeMap::new();
        for deployed in stored {
            // The slug becomes a path.
            if !is_valid_slug(&deployed.slug) {
                continue;
            }
            let is_same = |before: &&Arc<Function>| match &before.origin {
                Origin::Deployed(known) => **known == deployed,
                Origin::Folder => false,
            };
            let same = before.0.get(&deployed.slug).filter(is_same);
            let function = match same {
                Some(same) => same.clone(),
                None => Arc::new(function(deployed, project, home, account)),
            };
            functions.insert(function.slug.clone(), function);
        }
        Self(Arc::new(functions))
    }
}

/// Version numbers start again when a function is deleted and deployed again; its id changes then.
fn work_dir_of(home: &Path, slug: &str, id: Uuid, version: i32) -> PathBuf {
    let name = format!("{}-{version}", id.simple());
    home.join("deployed").join(slug).join(name)
}

fn function(
    deployed: DeployedFunction,
    project: &ProjectRef,
    home: &Path,
    account: Option<Account>,
) -> Function {
    let work_dir = work_dir_of(home, &deployed.slug, deployed.id, deployed.version);
    let mut code = deployed_code(&deployed.source, work_dir, home, account);
    // A version is immutable.
    code.revision = format!("{} {}", deployed.id, deployed.version);
    Function {
        slug: deployed.slug.clone(),
        verify_jwt: deployed.verify_jwt,
        code,
        variables: Vec::new(),
        is_prepared: tokio::sync::Mutex::new(false),
        metrics: FunctionMetrics::new(project, &deployed.slug),
        log_rate: Arc::default(),
        needs_own_process: false.into(),
        is_missing: false,
        origin: Origin::Deployed(Arc::new(deployed)),
    }
}

/// Sources below the work directory, as they were deployed.
pub(crate) fn deployed_code(
    source: &FunctionSource,
    work_dir: PathBuf,
    home: &Path,
    account: Option<Account>,
) -> Code {
    let root = work_dir.join("source");
    let entrypoint = confine(&root, &source.entrypoint);
    let import_map = source.import_map.as_deref().filter(|path| !path.is_empty());
    let import_map = import_map.map(|path| confine(&root, path));
    Code {
        import_map,
        deno_dir: deno_dir(home, account),
        root,
        // They are below the root.
        static_files: Vec::new(),
        entrypoint,
        work_dir,
        account,
        revision: String::new(),
        is_confined: true,
        display_root: "",
    }
}

/// An untrusted path, confined to the root.
pub(crate) fn confine(root: &Path, path: &str) -> PathBuf {
    use std::path::Component;
    let path = path.strip_prefix("file://").unwrap_or(path);
    let parts = Path::new(path).components();
    let parts = parts.filter(|part| matches!(part, Component::Normal(_)));
    parts.fold(root.to_owned(), |path, part| path.join(part))
}

/// Unpacks the sources of a version, once. The rename makes it atomic.
pub(crate) async fn unpack(
    store: &dyn FunctionStore,
    project: &ProjectRef,
    deployed: &DeployedFunction,
    code: &Code,
) -> Result<(), UnpackError> {
    if code.root.is_dir() {
        return Ok(());
    }
    let partial = code
        .work_dir
        .join(format!("partial-{}", Uuid::new_v4().simple()));
    fs::create_dir_all(&partial)?;
    let unpacked = store.unpack(project, deployed, &partial).await;
    let moved = unpacked.and_then(|()| {
        if let Some(account) = code.account {
            account.take_ownership(&code.work_dir)?;
        }
        Ok(fs::rename(&partial, &code.root)?)
    });
    if moved.is_err() {
        _ = fs::remove_dir_all(&partial);
        // Another task may have been faster.
        if code.root.is_dir() {
            return Ok(());
        }
    }
    moved
}

/// Functions whose sources must stay on the disk: those that are called, and those of workers that still
/// run.
#[derive(Default)]
pub(crate) struct SourcesInUse(Mutex<Vec<Weak<Function>>>);

/// The prefix of directories that are to be removed.
const SET_ASIDE: &str = "gone-";

impl SourcesInUse {
    fn functions(&self) -> MutexGuard<'_, Vec<Weak<Function>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps the sources as long as the function is referred to.
    pub(crate) fn add(&self, function: &Arc<Function>) {
        let mut functions = self.functions();
        functions.retain(|known| known.strong_count() > 0);
        functions.push(Arc::downgrade(function));
    }

    /// Renames sources that are neither in use nor active, nor next to an active version, which is what a
    /// rollback goes to. Returns whether there is anything to remove.
    pub(crate) fn set_unused_aside(&self, home: &Path, active: &Deployed) -> bool {
        // Locked, so that none comes into use meanwhile.
        let functions = self.functions();
        let used = functions.iter().filter_map(Weak::upgrade);
        let mut kept: BTreeSet<_> = used
            .map(|function| function.code.work_dir.clone())
            .collect();
        kept.extend(
            active
                .0
                .values()
                .flat_map(|function| adjacent_versions(home, function)),
        );
        let mut is_any = false;
        for dir in unpacked_dirs(home).filter(|dir| !kept.contains(dir)) {
            let aside = home.join(format!("{SET_ASIDE}{}", Uuid::new_v4().simple()));
            is_any |= fs::rename(dir, aside).is_ok();
        }
        is_any
    }
}

/// The work directories of the version before, this one, and the next.
fn adjacent_versions(home: &Path, function: &Function) -> Vec<PathBuf> {
    let Origin::Deployed(deployed) = &function.origin else {
        return Vec::new();
    };
    let (slug, version) = (&deployed.slug, deployed.version);
    let versions = version.saturating_sub(1)..=version.saturating_add(1);
    versions
        .map(|version| work_dir_of(home, slug, deployed.id, version))
        .collect()
}

/// All unpacked versions.
fn unpacked_dirs(home: &Path) -> impl Iterator<Item = PathBuf> {
    let entries = |folder: PathBuf| fs::read_dir(folder).into_iter().flatten().flatten();
    let slugs = entries(home.join("deployed"));
    slugs.flat_map(move |slug| entries(slug.path()).map(|entry| entry.path()))
}

/// Removes what was set aside.
pub(crate) fn remove_set_aside(home: &Path) {
    for entry in fs::read_dir(home).into_iter().flatten().flatten() {
        if entry.file_name().to_string_lossy().starts_with(SET_ASIDE) {
            // It is retried the next time.
            _ = fs::remove_dir_all(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_path_leaves_the_root() {
        let check = |path, expected: &str| {
            assert_eq!(
                confine(Path::new("/x"), path),
                Path::new(expected),
                "{path}"
            );
        };
        check("functions/a/index.ts", "/x/functions/a/index.ts");
        check("../../etc/passwd", "/x/etc/passwd");
        check("/etc/passwd", "/x/etc/passwd");
        check("file:///src/./index.ts", "/x/src/index.ts");
        check("", "/x");
    }
}
