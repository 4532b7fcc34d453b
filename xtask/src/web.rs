//! The web application: its packages and its built form.

use std::{fs, path::PathBuf, time::SystemTime};

use anyhow::{Context, Result};
use serde_json::Value;

use crate::{
    check::files,
    commands,
    steps::{Outcome, Step},
    tools, workspace,
};

/// The folder of the web application, once there is one.
pub(crate) fn folder() -> Option<PathBuf> {
    let folder = workspace::root().join("web");
    folder.join("package.json").is_file().then_some(folder)
}

/// Installs its packages and builds it; no steps while there is no web application.
///
/// It comes before everything that compiles, because the program carries the built pages.
pub(crate) fn steps() -> Vec<Step<'static>> {
    let Some(folder) = folder() else {
        return Vec::new();
    };
    let packages = folder.clone();
    vec![
        Step::new("web packages", move || tools::install_packages(&packages)),
        Step::new("web build", move || {
            if is_built(&folder)? {
                return Ok(Outcome::AlreadyDone);
            }
            commands::run(tools::npm(&folder).args(["run", "build"]))?;
            Ok(Outcome::Done)
        })
        .needs(["web packages"]),
    ]
}

/// Whether the package in `folder` has its own tests.
pub(crate) fn has_tests(folder: &std::path::Path) -> Result<bool> {
    let manifest = folder.join("package.json");
    let text = fs::read_to_string(&manifest)
        .with_context(|| format!("{} cannot be read", manifest.display()))?;
    let manifest: Value = serde_json::from_str(&text)
        .with_context(|| format!("{} is not JSON", manifest.display()))?;
    Ok(manifest.pointer("/scripts/test").is_some())
}

/// Built later than every source file was changed.
fn is_built(folder: &std::path::Path) -> Result<bool> {
    let Some(built) = tools::modified(&folder.join("dist/index.html")) else {
        return Ok(false);
    };
    let newest: Option<SystemTime> = files::list(folder)?
        .iter()
        .filter_map(|file| tools::modified(file))
        .max();
    Ok(newest.is_some_and(|newest| newest <= built))
}

#[cfg(test)]
mod tests {
    use std::{fs::File, path::Path, time::Duration};

    use super::*;

    fn write(file: &Path, seconds_ago: u64) {
        fs::create_dir_all(file.parent().expect("a folder")).expect("a folder");
        let time = SystemTime::now() - Duration::from_secs(seconds_ago);
        File::create(file)
            .and_then(|file| file.set_modified(time))
            .expect("a file");
    }

    #[test]
    fn a_build_is_current_until_a_source_changes() {
        let web = tempfile::tempdir().expect("a folder");
        let source = web.path().join("src/main.tsx");
        write(&source, 100);
        assert!(!is_built(web.path()).expect("readable"));

        write(&web.path().join("dist/index.html"), 50);
        write(&web.path().join("node_modules/react/index.js"), 10);
        assert!(is_built(web.path()).expect("readable"));

        write(&source, 20);
        assert!(!is_built(web.path()).expect("readable"));
    }
}
