//! What the functions service needs of the rest: where Plinth is reached from a worker, and which
//! keys a function is given.

use std::{
    collections::BTreeMap,
    error::Error,
    ffi::OsStr,
    fs, io,
    net::{IpAddr, Ipv4Addr, SocketAddr},
    os::unix::{ffi::OsStrExt as _, fs::MetadataExt as _},
    path::{Path, PathBuf},
    sync::Arc,
};

use plinth_functions::{Deno, FunctionsParts, FunctionsService};
use plinth_platform::{Endpoints, Platform, PlatformError};
use plinth_postgres::FrontDoor;
use plinth_project::{BoxFuture, FunctionHost, FunctionSurroundings, ProjectName, ProjectRef};
use plinth_token::{ApiKeyKind, Secret};
use tokio::net::TcpListener;

use super::{
    Form,
    entrance::{Entrance, Ports},
    runtime_dirs,
};
use crate::failure::Outcome;

/// An address of this machine where nothing but Plinth is. Workers may reach no other private one,
/// and the runtime tells addresses apart, not ports.
const OWN_ADDRESS: Ipv4Addr = Ipv4Addr::new(127, 80, 76, 73);

/// Where folders are that users of functions can enter.
const SYSTEM_DIR: &str = "/var/lib/plinth";
/// Says where the folder of functions is, if not in the state folder.
const POINTER: &str = "functions-location";
/// Ends the name of a note beside such a folder, which says whose it is.
const OWNER: &str = "owner";

/// Doors that only workers use.
pub(super) struct InnerDoors {
    pub(super) api: Option<TcpListener>,
    pub(super) database: Option<FrontDoor>,
    address: Option<IpAddr>,
}

impl InnerDoors {
    /// Opens the ports of the outside once more, on an address of their own.
    pub(super) async fn open(ports: &Ports) -> Outcome<Self> {
        let nowhere = Self {
            api: None,
            database: None,
            address: None,
        };
        if !cfg!(target_os = "linux") {
            return Ok(nowhere);
        }
        let outside = ports.api.local_addr()?;
        let database = ports
            .database
            .as_ref()
            .map(FrontDoor::local_addr)
            .transpose()?;
        let address = Some(IpAddr::from(OWN_ADDRESS));
        // Whoever listens everywhere is reached there already.
        if outside.ip().is_unspecified() {
            return Ok(Self { address, ..nowhere });
        }
        let inside = |outside: SocketAddr| SocketAddr::new(OWN_ADDRESS.into(), outside.port());
        let Ok(api) = TcpListener::bind(inside(outside)).await else {
            return Ok(nowhere);
        };
        let database = match database {
            Some(database) => match FrontDoor::bind(inside(database)).await {
                Ok(door) => Some(door),
                Err(_) => return Ok(nowhere),
            },
            None => None,
        };
        Ok(Self {
            api: Some(api),
            database,
            address,
        })
    }
}

/// The service, for this folder.
pub(super) fn service(
    entrance: &Entrance,
    platform: &Platform,
    endpoints: &Endpoints,
    ports: &Ports,
    doors: &InnerDoors,
) -> Outcome<FunctionsService> {
    let settings = &entrance.settings;
    let max_workers = settings.opt_integer("plinth.functions.max_workers_total");
    let host = Host {
        platform: platform.clone(),
        api_url: inner_url(entrance, endpoints, ports, doors)?,
        database: doors.address.filter(|_| endpoints.database.is_some()),
    };
    Ok(FunctionsService::new(FunctionsParts {
        deno: Deno::find(&runtime_dirs()),
        home: home(entrance.folder.state())?,
        folder: Some(entrance.folder.root.clone()),
        is_developing: entrance.form == Form::Development,
        max_workers: max_workers.and_then(|most| usize::try_from(most).ok()),
        door: doors.address,
        host: Arc::new(host),
    }))
}

/// Plinth's base URL from a worker's point of view.
fn inner_url(
    entrance: &Entrance,
    endpoints: &Endpoints,
    ports: &Ports,
    doors: &InnerDoors,
) -> Outcome<String> {
    if let Some(url) = entrance.settings.opt_url("plinth.functions.internal_url") {
        return Ok(url.as_str().trim_end_matches('/').to_owned());
    }
    // A certificate is for the name that everybody uses.
    if entrance.gateway.tls.is_some() {
        return Ok(endpoints.api_url.clone());
    }
    let outside = ports.api.local_addr()?;
    let address = match doors.address {
        Some(address) => address,
        None if outside.ip().is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        None => outside.ip(),
    };
    let base = SocketAddr::new(address, outside.port());
    Ok(format!("http://{base}"))
}

/// Where code is kept ready: in the state folder, unless the users of workers cannot get there.
fn home(state: &Path) -> Outcome<PathBuf> {
    let inside = state.join("functions");
    let is_root = rustix::process::geteuid().is_root();
    if !is_root || can_be_passed(state) {
        return Ok(inside);
    }
    let state = state.canonicalize()?;
    let hash = plinth_token::credential_hash(&state.to_string_lossy());
    fs::create_dir_all(SYSTEM_DIR)?;
    if !can_be_passed(Path::new(SYSTEM_DIR)) {
        return Ok(inside);
    }
    let outside = Path::new(SYSTEM_DIR).join(format!("functions-{}", &hash[..16]));
    fs::write(state.join(POINTER), format!("{}\n", outside.display()))?;
    fs::write(outside.with_extension(OWNER), state.as_os_str().as_bytes())?;
    // Nobody waits for old folders to go.
    std::thread::spawn(|| clear_forgotten(Path::new(SYSTEM_DIR)));
    Ok(outside)
}

/// Removes what was kept for state folders that are there no more.
fn clear_forgotten(system_dir: &Path) {
    let entries = fs::read_dir(system_dir).into_iter().flatten().flatten();
    let notes = entries.map(|entry| entry.path());
    for note in notes.filter(|path| path.extension().is_some_and(|end| end == OWNER)) {
        let Ok(state) = fs::read(&note) else {
            continue;
        };
        let is_gone = |error: io::Error| error.kind() == io::ErrorKind::NotFound;
        let state = Path::new(OsStr::from_bytes(&state));
        if state.symlink_metadata().is_err_and(is_gone) {
            _ = fs::remove_dir_all(note.with_extension(""));
            _ = fs::remove_file(note);
        }
    }
}

/// Whether everybody may pass the folder and all above it.
fn can_be_passed(folder: &Path) -> bool {
    let Ok(folder) = folder.canonicalize() else {
        return false;
    };
    let is_open = |step: &Path| step.metadata().is_ok_and(|found| found.mode() & 0o1 != 0);
    folder.ancestors().all(is_open)
}

/// Answers for the platform.
struct Host {
    platform: Platform,
    api_url: String,
    /// Where workers find the database's port, if not where everybody does.
    database: Option<IpAddr>,
}

impl FunctionHost for Host {
    fn surroundings<'a>(
        &'a self,
        project: &'a ProjectRef,
    ) -> BoxFuture<'a, Result<FunctionSurroundings, Box<dyn Error + Send + Sync>>> {
        Box::pin(async move { Ok(self.read(project).await?) })
    }
}

impl Host {
    async fn read(&self, project: &ProjectRef) -> Result<FunctionSurroundings, PlatformError> {
        let name = ProjectName::Ref(project.clone());
        let is_default = *project == self.platform.references().default;
        let status = self.platform.status(&name).await?;
        let value = |name| status.get(name).unwrap_or_default();
        let keys = self.platform.list_api_keys(&name).await?;
        let of_kind = |kind, first: &str| -> BTreeMap<String, Secret> {
            let live = keys
                .iter()
                .filter(|key| key.kind == kind && key.revoked_at.is_none());
            let mut named: BTreeMap<_, _> = live
                .map(|key| (key.name.clone(), key.value.clone()))
                .collect();
            // The one that `plinth status` shows, which the configuration may give.
            if !first.is_empty() {
                named.insert("default".to_owned(), Secret::new(first));
            }
            named
        };
        Ok(FunctionSurroundings {
            api_url: match is_default {
                true => self.api_url.clone(),
                false => format!("{}/p/{project}", self.api_url),
            },
            public_url: value("API_URL").to_owned(),
            database_url: Secret::new(self.inner_database(value("DB_URL"))),
            anon_key: Secret::new(value("ANON_KEY")),
            service_role_key: Secret::new(value("SERVICE_ROLE_KEY")),
            publishable_keys: of_kind(ApiKeyKind::Publishable, value("PUBLISHABLE_KEY")),
            secret_keys: of_kind(ApiKeyKind::Secret, value("SECRET_KEY")),
        })
    }

    /// The same connection string with the host that workers use.
    fn inner_database(&self, url: &str) -> String {
        let Some(address) = self.database else {
            return url.to_owned();
        };
        match url.parse::<url::Url>() {
            Ok(mut url) => {
                _ = url.set_host(Some(&address.to_string()));
                url.into()
            }
            Err(_) => url.to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_kept_goes_after_the_folder_that_it_was_kept_for() {
        let system_dir = tempfile::tempdir().unwrap();
        let state = tempfile::tempdir().unwrap();
        let gone = state.path().join("gone");
        let kept = |name: &str, owner: Option<&Path>| {
            let folder = system_dir.path().join(name);
            fs::create_dir(&folder).unwrap();
            fs::write(folder.join("file"), "").unwrap();
            if let Some(owner) = owner {
                let owner = owner.as_os_str().as_bytes();
                fs::write(folder.with_extension(OWNER), owner).unwrap();
            }
            folder
        };
        let used = kept("functions-1", Some(state.path()));
        let forgotten = kept("functions-2", Some(&gone));
        let unknown = kept("functions-3", None);

        clear_forgotten(system_dir.path());

        assert!(used.is_dir() && used.with_extension(OWNER).is_file());
        assert!(!forgotten.exists() && !forgotten.with_extension(OWNER).exists());
        assert!(unknown.is_dir());
    }
}
