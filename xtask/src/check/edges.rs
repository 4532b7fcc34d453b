//! Who may depend on whom: the drawing of `ARCHITECTURE.md` as a table.
//!
//! Dependencies point one way: program, edge, services, project, foundations. A service never
//! imports a sibling. Dev-dependencies are free, because tests look at things from all sides.

use anyhow::Result;

use crate::workspace::{Package, Workspace};

/// What a package may use of this workspace, outside its tests.
enum MayUse {
    /// Everything that is not a tool of the project.
    TheProduct,
    Everything,
    Only(&'static [&'static str]),
}
use MayUse::{Everything, Only, TheProduct};

const FOUNDATIONS: &[&str] = &["plinth-db", "plinth-log", "plinth-settings", "plinth-token"];
const PROJECT_AND_BELOW: &[&str] = &[
    "plinth-db",
    "plinth-log",
    "plinth-project",
    "plinth-settings",
    "plinth-token",
];
/// Besides what services use, processes that users' code runs in.
const FUNCTIONS: &[&str] = &[
    "plinth-child",
    "plinth-db",
    "plinth-log",
    "plinth-project",
    "plinth-settings",
    "plinth-token",
];
/// Besides what services use, databases as wholes, and the layer with which the operators' own
/// pages keep their sessions.
const PLATFORM: &[&str] = &[
    "plinth-advisor",
    "plinth-client",
    "plinth-db",
    "plinth-diff",
    "plinth-dump",
    "plinth-log",
    "plinth-project",
    "plinth-session",
    "plinth-settings",
    "plinth-token",
];
/// Servers and projects to test against, and the services whose schemas every database has.
const TESTKIT: &[&str] = &[
    "plinth-auth",
    "plinth-db",
    "plinth-log",
    "plinth-postgres",
    "plinth-project",
    "plinth-realtime",
    "plinth-rest",
    "plinth-settings",
    "plinth-storage",
    "plinth-token",
];

const DRAWING: &[(&str, MayUse)] = &[
    ("plinth", TheProduct),
    ("plinth-gateway", Only(PROJECT_AND_BELOW)),
    ("plinth-auth", Only(PROJECT_AND_BELOW)),
    ("plinth-rest", Only(PROJECT_AND_BELOW)),
    ("plinth-realtime", Only(PROJECT_AND_BELOW)),
    ("plinth-storage", Only(PROJECT_AND_BELOW)),
    ("plinth-functions", Only(FUNCTIONS)),
    ("plinth-platform", Only(PLATFORM)),
    ("plinth-project", Only(FOUNDATIONS)),
    ("plinth-child", Only(&[])),
    ("plinth-db", Only(&[])),
    ("plinth-dump", Only(&["plinth-db"])),
    ("plinth-diff", Only(&["plinth-db", "plinth-dump"])),
    ("plinth-advisor", Only(&["plinth-db"])),
    ("plinth-log", Only(&[])),
    ("plinth-postgres", Only(&["plinth-child"])),
    ("plinth-settings", Only(&[])),
    ("plinth-token", Only(&[])),
    ("plinth-client", Only(&["plinth-token"])),
    ("plinth-session", Only(&["plinth-client", "plinth-token"])),
    // Examples use what users can use.
    ("axum-session", Only(&["plinth-client", "plinth-session"])),
    ("plinth-testkit", Only(TESTKIT)),
    ("plinth-teststore", Only(&[])),
    ("plinth-bench", Everything),
    ("xtask", Only(&[])),
];

/// Never part of what users run.
const TOOLS: [&str; 4] = [
    "plinth-bench",
    "plinth-testkit",
    "plinth-teststore",
    "xtask",
];

/// One sentence for every edge that the drawing does not have.
pub(super) fn problems() -> Result<Vec<String>> {
    Ok(problems_in(&Workspace::load()?.packages))
}

fn problems_in(packages: &[Package]) -> Vec<String> {
    let is_ours = |name: &str| packages.iter().any(|package| package.name == name);
    let mut problems = Vec::new();
    for package in packages {
        let from = package.name.as_str();
        let Some((_, may_use)) = DRAWING.iter().find(|(name, _)| *name == from) else {
            problems.push(format!(
                "{from} is not in the drawing; add it to xtask/src/check/edges.rs and ARCHITECTURE.md"
            ));
            continue;
        };
        let dependencies = package.dependencies.iter();
        let mut shipped: Vec<&str> = dependencies
            .filter(|dependency| dependency.kind.as_deref() != Some("dev"))
            .map(|dependency| dependency.name.as_str())
            .filter(|to| is_ours(to) && !may_use.allows(to))
            .collect();
        // The same edge may stand in several tables of a manifest.
        shipped.dedup();
        problems.extend(shipped.into_iter().map(|to| forbidden_edge(from, to)));
    }
    problems
}

impl MayUse {
    fn allows(&self, to: &str) -> bool {
        match self {
            Everything => true,
            TheProduct => !TOOLS.contains(&to),
            Only(names) => names.contains(&to),
        }
    }
}

fn forbidden_edge(from: &str, to: &str) -> String {
    let reason = if TOOLS.contains(&to) {
        "that is a tool of the project, for dev-dependencies at most"
    } else {
        "the drawing in ARCHITECTURE.md has no such arrow"
    };
    format!("{from} must not depend on {to}: {reason}")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Packages with their dependencies, each written as `name` or `kind name`.
    fn packages(edges: &[(&str, &[&str])]) -> Vec<Package> {
        let package = |(name, dependencies): &(&str, &[&str])| {
            let dependencies: Vec<_> = dependencies
                .iter()
                .map(|text| match text.split_once(' ') {
                    Some((kind, name)) => json!({ "name": name, "kind": kind }),
                    None => json!({ "name": text, "kind": null }),
                })
                .collect();
            let value = json!({
                "name": name,
                "version": "0.1.0",
                "manifest_path": format!("/{name}/Cargo.toml"),
                "dependencies": dependencies,
            });
            serde_json::from_value(value).expect("the form of cargo metadata")
        };
        edges.iter().map(package).collect()
    }

    #[track_caller]
    fn check(edges: &[(&str, &[&str])], expected: &[&str]) {
        assert_eq!(problems_in(&packages(edges)), expected);
    }

    #[test]
    fn the_manifests_of_this_workspace_match_the_drawing() {
        let problems = problems().expect("cargo describes the workspace");
        assert!(problems.is_empty(), "\n{}", problems.join("\n"));
    }

    #[test]
    fn a_service_may_not_import_a_sibling() {
        check(
            &[
                ("plinth-storage", &["plinth-auth", "plinth-db", "serde"]),
                ("plinth-auth", &[]),
                ("plinth-db", &[]),
            ],
            &["plinth-storage must not depend on plinth-auth: \
               the drawing in ARCHITECTURE.md has no such arrow"],
        );
    }

    #[test]
    fn a_foundation_may_not_look_up() {
        check(
            &[
                ("plinth-db", &["plinth-project"]),
                ("plinth-project", &["plinth-db"]),
            ],
            &["plinth-db must not depend on plinth-project: \
               the drawing in ARCHITECTURE.md has no such arrow"],
        );
    }

    #[test]
    fn the_edge_may_not_know_a_service() {
        check(
            &[("plinth-gateway", &["plinth-rest"]), ("plinth-rest", &[])],
            &["plinth-gateway must not depend on plinth-rest: \
               the drawing in ARCHITECTURE.md has no such arrow"],
        );
    }

    #[test]
    fn only_the_program_and_the_testkit_know_the_managed_server() {
        check(
            &[
                ("plinth", &["plinth-postgres"]),
                ("plinth-testkit", &["plinth-postgres"]),
                ("plinth-project", &["plinth-postgres"]),
                ("plinth-postgres", &[]),
            ],
            &["plinth-project must not depend on plinth-postgres: \
               the drawing in ARCHITECTURE.md has no such arrow"],
        );
    }

    #[test]
    fn the_testkit_is_only_ever_a_dev_dependency() {
        let rejected = "plinth must not depend on plinth-testkit: \
                       that is a tool of the project, for dev-dependencies at most";
        check(
            &[("plinth", &["plinth-testkit"]), ("plinth-testkit", &[])],
            &[rejected],
        );
        check(
            &[
                ("plinth", &["build plinth-testkit"]),
                ("plinth-testkit", &[]),
            ],
            &[rejected],
        );
        check(
            &[("plinth", &["dev plinth-testkit"]), ("plinth-testkit", &[])],
            &[],
        );
    }

    #[test]
    fn outward_crates_know_no_server_code() {
        check(
            &[
                ("plinth-session", &["plinth-client", "plinth-token"]),
                ("plinth-client", &["plinth-token", "plinth-settings"]),
                ("plinth-token", &[]),
                ("plinth-settings", &[]),
            ],
            &["plinth-client must not depend on plinth-settings: \
               the drawing in ARCHITECTURE.md has no such arrow"],
        );
    }

    #[test]
    fn a_new_package_must_be_drawn_first() {
        check(
            &[("plinth-novelty", &[])],
            &["plinth-novelty is not in the drawing; \
               add it to xtask/src/check/edges.rs and ARCHITECTURE.md"],
        );
    }
}
