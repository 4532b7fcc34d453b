//! Functions that were deployed: what is active now, and their sources on this machine's disk.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    sync::Arc,
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

fn function(deployed: DeployedFunction, project: &ProjectRef, home: &Path) -> Function {
    let place = home
        .join("deployed")
        .join(&deployed.slug)
        .join(deployed.version.to_string());
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
        needs_own_process: false.into(),
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

/// Removes what was unpacked of versions that nobody is about to ask for: neither this one nor its
/// neighbours.
pub(crate) fn clear_others(deployed: &DeployedFunction, code: &Code) {
    let versions = code
        .place
        .parent()
        .and_then(|folder| fs::read_dir(folder).ok());
    for entry in versions.into_iter().flatten().flatten() {
        let version: Option<i32> = entry.file_name().to_string_lossy().parse().ok();
        if version.is_some_and(|version| version.abs_diff(deployed.version) > 1) {
            // It is tried again with the next version.
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
