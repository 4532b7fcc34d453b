//! The functions service, for functions that a test writes before it calls them.

use std::error::Error;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use axum::Router;
use plinth_functions::{Deno, FunctionsParts, FunctionsService, UserTable};
use plinth_project::{BoxFuture, FunctionEnvironment, FunctionHost, ProjectRef};
use plinth_token::Secret;

use super::{Live, PUBLISHABLE_KEY, SECRET_KEY};

impl Live {
    /// Writes a function. The first call of any is the last moment for it.
    pub(crate) fn function(&self, name: &str, code: &str) {
        let folder = self.folder.path().join("supabase/functions").join(name);
        fs::create_dir_all(&folder).expect("a folder");
        fs::write(folder.join("index.ts"), code).expect("a file");
    }
}

pub(super) fn routes(folder: &Path, url: &str) -> Router {
    // Workers of a root Plinth are other users.
    fs::set_permissions(folder, Permissions::from_mode(0o755)).expect("an open folder");
    let reported = std::env::var_os("PLINTH_RUNTIME_DIR").map(PathBuf::from);
    let source = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../runtime"));
    let runtime_dirs: Vec<_> = reported.into_iter().chain([source]).collect();
    let service = FunctionsService::new(FunctionsParts {
        internal_address: None,
        deno: Deno::find(&runtime_dirs).for_workers(),
        home: folder.join("home"),
        users: UserTable {
            path: folder.join("users"),
            state: folder.to_owned(),
        },
        folder: Some(folder.to_owned()),
        is_developing: true,
        max_workers: None,
        host: Arc::new(Host(url.to_owned())),
    });
    plinth_functions::routes(service)
}

/// Gives functions the address of Plinth.
struct Host(String);

impl FunctionHost for Host {
    fn environment<'a>(
        &'a self,
        _project: &'a ProjectRef,
    ) -> BoxFuture<'a, Result<FunctionEnvironment, Box<dyn Error + Send + Sync>>> {
        let keys = |text: &str| [("default".to_owned(), Secret::new(text))].into();
        let reported = FunctionEnvironment {
            api_url: self.0.clone(),
            public_url: "http://api.example".to_owned(),
            database_url: Secret::new("postgresql://127.0.0.1:1/none"),
            anon_key: Secret::new("none"),
            service_role_key: Secret::new("none"),
            publishable_keys: keys(PUBLISHABLE_KEY),
            secret_keys: keys(SECRET_KEY),
        };
        Box::pin(async move { Ok(reported) })
    }
}
