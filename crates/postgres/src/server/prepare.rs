//! All checks and preparations before the server is started. Blocking.

use std::path::PathBuf;

use super::{Options, stale_server};
use crate::account::Account;
use crate::binaries::{self, Binaries};
use crate::config::{self, Config, Machine};
use crate::error::{Error, Result};
use crate::initialise::Initialise;
use crate::layout::{
    ClusterDir, DataDir, InstanceLock, SocketDir, create_private, ensure_free, ensure_writable,
    owning_account,
};
use crate::password;

/// A new database, its first log segments and the databases made right after it.
const NEEDED_FOR_NEW_MIB: u64 = 128;
/// One segment of the write-ahead log.
const NEEDED_FOR_START_MIB: u64 = 16;

/// A folder that is ready for a server, and how to start it.
pub(super) struct Prepared {
    pub(super) lock: InstanceLock,
    pub(super) account: Option<Account>,
    pub(super) binaries: Binaries,
    pub(super) data_dir: PathBuf,
    pub(super) socket_dir: SocketDir,
    pub(super) password: String,
}

pub(super) fn prepare(options: &Options) -> Result<Prepared> {
    config::check(&options.settings)?;
    let system_dir = &std::path::absolute(&options.system_dir)
        .map_err(|cause| Error::file("find", &options.system_dir, &cause))?;
    let chosen = Account::choose()?;
    if !options.state_dir.is_dir() {
        create_private(&options.state_dir)?;
    }
    let lock = InstanceLock::acquire(&options.state_dir)?;

    let account = owning_account(&options.state_dir.join("database"), chosen)?;
    let cluster_dir = ClusterDir::prepare(&options.state_dir, account.as_ref(), system_dir)?;
    let data = DataDir::inspect(&cluster_dir.path)?;
    let account = owning_account(&data.path, account)?;
    if let Some(account) = account
        .as_ref()
        .filter(|account| !account.can_enter(&cluster_dir.path))
    {
        return Err(Error::Unreadable {
            account: account.name.clone(),
            path: cluster_dir.path,
        });
    }
    let binaries = binaries::find(&options.binaries, data.major)?;
    data.ensure_readable_by(binaries.version.major)?;
    let binaries = binaries::make_readable(binaries, account.as_ref(), system_dir)?;
    ensure_writable(&cluster_dir.path)?;

    stale_server::clean_up(&data.path)?;
    let password = ensure_database(options, &cluster_dir, &data, &binaries, account.as_ref())?;
    cluster_dir.write_pointer()?;

    let config = Config {
        machine: Machine::detect(),
        major: binaries.version.major,
        has_statement_statistics: binaries.has_library("pg_stat_statements"),
        overrides: options.settings.clone(),
    };
    config.write(&data.path)?;
    let socket_dir = SocketDir::prepare(&cluster_dir.path, account.as_ref())?;
    Ok(Prepared {
        lock,
        account,
        binaries,
        data_dir: data.path,
        socket_dir,
        password,
    })
}

/// Makes the database where there is none, and returns the superuser's password.
fn ensure_database(
    options: &Options,
    cluster_dir: &ClusterDir,
    data: &DataDir,
    binaries: &Binaries,
    account: Option<&Account>,
) -> Result<String> {
    let stored = password::find(&options.state_dir)?;
    let password = match &stored {
        Some(password) => password.clone(),
        None => password::generate()?,
    };
    let initialise = Initialise {
        binaries,
        account,
        cluster_dir: &cluster_dir.path,
        data_dir: &data.path,
        superuser: &options.superuser,
        password: &password,
    };
    if data.major.is_none() {
        ensure_free(&cluster_dir.path, NEEDED_FOR_NEW_MIB)?;
        // Stored first: a cluster whose password is lost is of no use.
        password::store(&options.state_dir, &password)?;
        initialise.run()?;
    } else {
        ensure_free(&cluster_dir.path, NEEDED_FOR_START_MIB)?;
        if stored.is_none() {
            tracing::warn!("the superuser's password was lost; the database gets a new one");
            initialise.reset_password()?;
            password::store(&options.state_dir, &password)?;
        }
    }
    Ok(password)
}
