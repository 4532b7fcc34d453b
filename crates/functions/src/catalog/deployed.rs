//! Functions that were deployed: what is active now, and their sources on this machine's disk.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
};

use plinth_db::DbError;
use plinth_project::{DeployedFunction, FunctionShelf, FunctionSource, ProjectRef, UnpackError};
use uuid::Uuid;

use super::{
    Code, Function, Origin,
    folder::{Functions, deno_dir},
    is_name,
};
use crate::{deno::Account, numbers::Numbers};

/// The active versions, as they were when somebody last said that they changed.
#[derive(Debug, Clone, Default)]
pub(crate) struct Deployed(pub(crate) Functions);

impl Deployed {
    /// Asks the shelf. What did not change stays the same value.
    pub(crate) async fn load(
        shelf: &dyn FunctionShelf,
        project: &ProjectRef,
        home: &Path,
        before: &Self,
    ) -> Result<Self, DbError> {
        let mut functions = BTreeMap::new();
        for deployed in shelf.functions(project).await? {
            // It names a folder of ours.
            if !is_name(&deployed.slug) {
                continue;
            }
            let is_same = |before: &&Arc<Function>| match &before.origin {
                Origin::Deployed(known) => **known == deployed,
                Origin::Folder => false,
            };
            let same = before.0.get(&deployed.slug).filter(is_same);
            let function = match same {
                Some(same) => same.clone(),
                None => Arc::new(function(deployed, project, home)),
            };
            functions.insert(function.slug.clone(), function);
        }
        Ok(Self(Arc::new(functions)))
    }
}

/// Numbers of versions begin anew when a function is deleted and deployed again; its id does not.
fn place_of(home: &Path, slug: &str, id: Uuid, version: i32) -> PathBuf {
    let name = format!("{}-{version}", id.simple());
    home.join("deployed").join(slug).join(name)
}

fn function(deployed: DeployedFunction, project: &ProjectRef, home: &Path) -> Function {
    let place = place_of(home, &deployed.slug, deployed.id, deployed.version);
    let account = Account::of(project);
    let mut code = code(&deployed.source, place, home, account);
    // A version never changes.
    code.revision = format!("{} {}", deployed.id, deployed.version);
    Function {
        slug: deployed.slug.clone(),
        verify_jwt: deployed.verify_jwt,
        code,
        variables: Vec::new(),
        is_prepared: tokio::sync::Mutex::new(false),
        numbers: Numbers::of(project, &deployed.slug),
        printed: Arc::default(),
        needs_own_process: false.into(),
        is_missing: false,
        origin: Origin::Deployed(Arc::new(deployed)),
    }
}

/// Sources below `place`, as they were deployed.
pub(crate) fn code(
    source: &FunctionSource,
    place: PathBuf,
    home: &Path,
    account: Option<Account>,
) -> Code {
    let root = place.join("source");
    let entrypoint = inside(&root, &source.entrypoint);
    let named = source.import_map.as_deref().filter(|path| !path.is_empty());
    let named = named.map(|path| inside(&root, path));
    Code {
        named_imports: named,
        deno_dir: deno_dir(home, account),
        root,
        // They are among its sources.
        static_files: Vec::new(),
        entrypoint,
        place,
        account,
        revision: String::new(),
        is_confined: true,
        shown_root: "",
    }
}

/// A path that was sent to us, below a folder whatever it says.
pub(crate) fn inside(root: &Path, path: &str) -> PathBuf {
    use std::path::Component;
    let path = path.strip_prefix("file://").unwrap_or(path);
    let parts = Path::new(path).components();
    let parts = parts.filter(|part| matches!(part, Component::Normal(_)));
    parts.fold(root.to_owned(), |path, part| path.join(part))
}

/// Puts the sources of a version onto the disk, once. A half-written folder is never taken for one.
pub(crate) async fn unpack(
    shelf: &dyn FunctionShelf,
    project: &ProjectRef,
    deployed: &DeployedFunction,
    code: &Code,
) -> Result<(), UnpackError> {
    if code.root.is_dir() {
        return Ok(());
    }
    let coming = code
        .place
        .join(format!("coming-{}", Uuid::new_v4().simple()));
    fs::create_dir_all(&coming)?;
    let unpacked = shelf.unpack(project, deployed, &coming).await;
    let placed = unpacked.and_then(|()| {
        if let Some(account) = code.account {
            account.own(&code.place)?;
        }
        Ok(fs::rename(&coming, &code.root)?)
    });
    if placed.is_err() {
        _ = fs::remove_dir_all(&coming);
        // Somebody else may have been faster.
        if code.root.is_dir() {
            return Ok(());
        }
    }
    placed
}

/// Functions whose sources must stay on the disk: those that are called, and those that workers run
/// to their end.
#[derive(Default)]
pub(crate) struct InUse(Mutex<Vec<Weak<Function>>>);

/// What folders are called from the moment that nobody needs them.
const SET_ASIDE: &str = "gone-";

impl InUse {
    fn functions(&self) -> MutexGuard<'_, Vec<Weak<Function>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// From now on its sources stay, as long as the function does.
    pub(crate) fn add(&self, function: &Arc<Function>) {
        let mut functions = self.functions();
        functions.retain(|known| known.strong_count() > 0);
        functions.push(Arc::downgrade(function));
    }

    /// Takes sources out of the way that are neither in use nor active, nor next to what is active:
    /// those are what people go back to. Tells whether there is anything to remove.
    pub(crate) fn set_others_aside(&self, home: &Path, active: &Deployed) -> bool {
        // Nobody begins to use any meanwhile.
        let functions = self.functions();
        let used = functions.iter().filter_map(Weak::upgrade);
        let mut wanted: BTreeSet<_> = used.map(|function| function.code.place.clone()).collect();
        wanted.extend(
            active
                .0
                .values()
                .flat_map(|function| nearby(home, function)),
        );
        let mut is_any = false;
        for place in places(home).filter(|place| !wanted.contains(place)) {
            let aside = home.join(format!("{SET_ASIDE}{}", Uuid::new_v4().simple()));
            is_any |= fs::rename(place, aside).is_ok();
        }
        is_any
    }
}

/// Where the version and its neighbours are unpacked to.
fn nearby(home: &Path, function: &Function) -> Vec<PathBuf> {
    let Origin::Deployed(deployed) = &function.origin else {
        return Vec::new();
    };
    let (slug, version) = (&deployed.slug, deployed.version);
    let versions = version.saturating_sub(1)..=version.saturating_add(1);
    versions
        .map(|version| place_of(home, slug, deployed.id, version))
        .collect()
}

/// Everything that was unpacked.
fn places(home: &Path) -> impl Iterator<Item = PathBuf> {
    let entries = |folder: PathBuf| fs::read_dir(folder).into_iter().flatten().flatten();
    let slugs = entries(home.join("deployed"));
    slugs.flat_map(move |slug| entries(slug.path()).map(|entry| entry.path()))
}

/// Removes what was set aside.
pub(crate) fn remove_set_aside(home: &Path) {
    for entry in fs::read_dir(home).into_iter().flatten().flatten() {
        if entry.file_name().to_string_lossy().starts_with(SET_ASIDE) {
            // It is tried again the next time.
            _ = fs::remove_dir_all(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_path_leads_out_of_the_folder() {
        let check = |path, expected: &str| {
            assert_eq!(inside(Path::new("/x"), path), Path::new(expected), "{path}");
        };
        check("functions/a/index.ts", "/x/functions/a/index.ts");
        check("../../etc/passwd", "/x/etc/passwd");
        check("/etc/passwd", "/x/etc/passwd");
        check("file:///src/./index.ts", "/x/src/index.ts");
        check("", "/x");
    }
}
