//! Which project has which system user. A Plinth that runs as root gives each project a user of its
//! own, and none to two.
//!
//! The table is a directory with a file per user: its name is the number, its content the project and,
//! on the next line, the state folder of its installation. All installations of a machine share it, so
//! it is changed under a lock. Users of an installation whose state folder is gone are free.

use std::{
    collections::HashMap,
    ffi::OsStr,
    fs::{self, File},
    io,
    os::unix::{
        ffi::OsStrExt as _,
        fs::{DirBuilderExt as _, OpenOptionsExt as _},
    },
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use plinth_project::ProjectRef;

use crate::account::{Account, create_traversable};

/// The range of systemd's dynamic users, which no person has.
const FIRST: u32 = 61_184;
const COUNT: u32 = 4_336;

/// Locked while the table is changed.
const LOCK: &str = ".lock";
/// A file that is not yet part of the table.
const PARTIAL: &str = "partial";

/// Where it is written which project has which system user. Only root has several.
#[derive(Debug, Clone)]
pub struct UserTable {
    /// The directory, one for all installations of the machine.
    pub path: PathBuf,
    /// The state folder of this installation, without symlinks.
    pub state: PathBuf,
}

/// What is expected of the processes of a project that is removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Processes {
    /// They were killed and soon end.
    MustEnd,
    /// They are not the project's, such as those of a service that the system has given the same user
    /// to. The user is given to no other project while it has processes.
    MayRemain,
}

/// The users of all projects.
pub(crate) struct Accounts {
    /// Where projects have their directories.
    home: PathBuf,
    table: UserTable,
    /// Whether we are root, and can change the user.
    is_root: bool,
    has_processes: fn(Account) -> bool,
    known: Mutex<HashMap<ProjectRef, Known>>,
}

struct Known {
    account: Account,
    /// Its other references are held by processes that are being started.
    holds: Arc<()>,
}

/// Keeps the user of a project for it while a process is started as that user. A process that runs does
/// so itself.
#[derive(Debug)]
#[must_use]
pub(crate) struct AccountHold(#[expect(dead_code, reason = "counted")] Option<Arc<()>>);

impl Accounts {
    pub(crate) fn new(home: PathBuf, table: UserTable) -> Self {
        Self {
            home,
            table,
            is_root: rustix::process::geteuid().is_root(),
            has_processes: Account::has_processes,
            known: Mutex::default(),
        }
    }

    /// The user of a project, always the same. `None` where we are not root.
    pub(crate) fn of(&self, project: &ProjectRef) -> io::Result<Option<Account>> {
        if !self.is_root {
            return Ok(None);
        }
        let mut known = self.known();
        if let Some(known) = known.get(project) {
            return Ok(Some(known.account));
        }
        let _lock = self.lock_table()?;
        let account = match self.find(project)? {
            Some(account) => account,
            None => self.claim(project)?,
        };
        // Also if it was claimed before and this failed.
        remove_if_of_another(&self.home.join(project.as_str()), account)?;
        let holds = Arc::default();
        known.insert(project.clone(), Known { account, holds });
        Ok(Some(account))
    }

    /// To be held while a process is started as the user. Fails if the project has it no more.
    pub(crate) fn hold(
        &self,
        project: &ProjectRef,
        account: Option<Account>,
    ) -> io::Result<AccountHold> {
        let Some(account) = account else {
            return Ok(AccountHold(None));
        };
        let known = self.known();
        let known = known.get(project).filter(|known| known.account == account);
        let known = known.ok_or_else(|| io::Error::other("the project was removed"))?;
        Ok(AccountHold(Some(known.holds.clone())))
    }

    /// Fails while a process is started as the user of the project, or runs.
    pub(crate) fn ensure_unused(
        &self,
        project: &ProjectRef,
        processes: Processes,
    ) -> io::Result<()> {
        if !self.has_table() {
            return Ok(());
        }
        let known = self.known();
        self.find_unused(project, known.get(project), processes)
            .map(drop)
    }

    /// Makes the user available to others. To be called when nothing belongs to it any more.
    pub(crate) fn release(&self, project: &ProjectRef, processes: Processes) -> io::Result<()> {
        if !self.has_table() {
            return Ok(());
        }
        let mut known = self.known();
        let _lock = self.lock_table()?;
        if let Some(account) = self.find_unused(project, known.get(project), processes)? {
            remove_file(&self.entry(account))?;
        }
        known.remove(project);
        Ok(())
    }

    fn has_table(&self) -> bool {
        self.is_root && self.table.path.is_dir()
    }

    /// The user of the project, if it has one; an error while that is in use.
    fn find_unused(
        &self,
        project: &ProjectRef,
        known: Option<&Known>,
        processes: Processes,
    ) -> io::Result<Option<Account>> {
        let Some(account) = self.find(project)? else {
            return Ok(None);
        };
        let busy = |reason: String| io::Error::new(io::ErrorKind::ResourceBusy, reason);
        if known.is_some_and(|known| Arc::strong_count(&known.holds) > 1) {
            let reason = "code of the project is being imported; try again in two minutes";
            return Err(busy(reason.to_owned()));
        }
        if processes == Processes::MustEnd && (self.has_processes)(account) {
            let number = account.0;
            return Err(busy(format!(
                "processes of the system user {number} still run"
            )));
        }
        Ok(Some(account))
    }

    /// Locked until the table is changed: two tasks must not claim two users for one project.
    fn known(&self) -> MutexGuard<'_, HashMap<ProjectRef, Known>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps other servers from changing the table.
    fn lock_table(&self) -> io::Result<TableLock> {
        let table = &self.table.path;
        if !table.is_dir() {
            if table.starts_with(&self.home) {
                // Projects' users pass through it, and not into the table.
                create_traversable(&self.home)?;
            }
            let mut options = fs::DirBuilder::new();
            options.recursive(true).mode(0o700).create(table)?;
        }
        let mut options = File::options();
        options.create(true).truncate(false).write(true).mode(0o600);
        let file = options.open(table.join(LOCK))?;
        file.lock()?;
        Ok(TableLock(file))
    }

    fn entry(&self, Account(number): Account) -> PathBuf {
        self.table.path.join(number.to_string())
    }

    fn find(&self, project: &ProjectRef) -> io::Result<Option<Account>> {
        let content = self.content(project);
        for entry in fs::read_dir(&self.table.path)? {
            let entry = entry?;
            let name = entry.file_name();
            let number = name.to_str().and_then(|name| name.parse().ok());
            let Some(number) = number else { continue };
            match fs::read(entry.path()) {
                Ok(found) if found == content => return Ok(Some(Account(number))),
                Ok(_) => {}
                // Another server has removed it since the folder was read.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
        }
        Ok(None)
    }

    fn content(&self, project: &ProjectRef) -> Vec<u8> {
        let state = self.table.state.as_os_str().as_bytes();
        [project.as_str().as_bytes(), b"\n", state].concat()
    }

    fn claim(&self, project: &ProjectRef) -> io::Result<Account> {
        let partial = self.table.path.join(PARTIAL);
        // Of a server that was killed: an entry may be a link to it.
        remove_file(&partial)?;
        let claimed = fs::write(&partial, self.content(project))
            .and_then(|()| self.claim_free(&partial, preferred(project)));
        _ = fs::remove_file(&partial);
        claimed
    }

    /// The first user that is free, beginning with the preferred one, and has no processes: neither of
    /// a server that was killed, nor of a service of the system. A link is made only where there is no
    /// file of that name.
    fn claim_free(&self, file: &Path, Account(preferred): Account) -> io::Result<Account> {
        for offset in 0..COUNT {
            let account = Account(FIRST + (preferred - FIRST + offset) % COUNT);
            let entry = self.entry(account);
            let is_abandoned = is_abandoned(&entry);
            if (entry.symlink_metadata().is_ok() && !is_abandoned) || (self.has_processes)(account)
            {
                continue;
            }
            if is_abandoned {
                remove_file(&entry)?;
            }
            match fs::hard_link(file, entry) {
                Ok(()) => return Ok(account),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
        let message = format!("all {COUNT} system users belong to other projects");
        Err(io::Error::other(message))
    }
}

/// Unlocks explicitly: a child process between fork and exec shares the descriptor.
struct TableLock(File);

impl Drop for TableLock {
    fn drop(&mut self) {
        _ = self.0.unlock();
    }
}

/// Whether the entry is of an installation whose state folder is gone.
fn is_abandoned(entry: &Path) -> bool {
    let Ok(content) = fs::read(entry) else {
        return false;
    };
    let Some(end) = content.iter().position(|byte| *byte == b'\n') else {
        return false;
    };
    let state = Path::new(OsStr::from_bytes(&content[end + 1..]));
    let is_missing = |error: io::Error| error.kind() == io::ErrorKind::NotFound;
    state.is_absolute() && state.symlink_metadata().is_err_and(is_missing)
}

/// Depends on the name of the project only, so that installations on one machine rarely prefer the
/// same users.
fn preferred(project: &ProjectRef) -> Account {
    let letters = project.as_str().bytes();
    let number = letters.fold(0_u32, |sum, byte| {
        sum.wrapping_mul(31).wrapping_add(u32::from(byte))
    });
    Account(FIRST + number % COUNT)
}

/// Removes the directory of a project that had another user before: the project that has that one now
/// may have written to it.
fn remove_if_of_another(home: &Path, account: Account) -> io::Result<()> {
    let mut entries = fs::read_dir(home).into_iter().flatten().flatten();
    let is_of_another = |entry: fs::DirEntry| {
        let name = entry.file_name();
        let number = name.to_str().and_then(Account::of_deno_dir);
        number.is_some_and(|found| found != account)
    };
    if !entries.any(is_of_another) {
        return Ok(());
    }
    match fs::remove_dir_all(home) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

fn remove_file(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeSet, os::unix::fs::PermissionsExt, thread};

    use super::{
        Processes::{MayRemain, MustEnd},
        *,
    };
    use crate::account::deno_dir_name;

    /// Of an installation with this state folder, beside which is the table.
    fn accounts(state: &Path) -> Accounts {
        with_table(state, &state.join("users"))
    }

    fn with_table(state: &Path, table: &Path) -> Accounts {
        Accounts {
            home: state.to_owned(),
            table: UserTable {
                path: table.to_owned(),
                state: state.to_owned(),
            },
            is_root: true,
            has_processes: |_| false,
            known: Mutex::default(),
        }
    }

    /// Two projects that prefer the same user.
    fn same_preference() -> (ProjectRef, ProjectRef) {
        let letters = |number: u32| {
            let digit = |place: u32| char::from(b'a' + (number / 26_u32.pow(place) % 26) as u8);
            (0..5).map(digit).collect::<String>()
        };
        let first: ProjectRef = "abcdefghijklmnopqrst".parse().unwrap();
        let mut names = (0..).map(|number| format!("zzzzzzzzzzzzzzz{}", letters(number)));
        let is_same = |name: &String| preferred(&name.parse().unwrap()) == preferred(&first);
        let other = names.find(is_same).unwrap();
        (first, other.parse().unwrap())
    }

    #[test]
    fn a_table_inside_leaves_the_way_to_projects_open() {
        let parent = tempfile::tempdir().unwrap();
        let home = parent.path().join("functions");
        let accounts = with_table(&home, &home.join("users"));

        drop(accounts.lock_table().unwrap());

        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(&home), 0o711);
        assert_eq!(mode(&home.join("users")), 0o700);
    }

    #[test]
    fn two_projects_never_have_one_user() {
        let home = tempfile::tempdir().unwrap();
        let (first, second) = same_preference();
        let before = accounts(home.path());

        let first_user = before.of(&first).unwrap();
        let second_user = before.of(&second).unwrap();

        assert_eq!(first_user, Some(preferred(&first)));
        assert_ne!(first_user, second_user);
        let is_in_range = |Account(number): Account| (FIRST..FIRST + COUNT).contains(&number);
        assert!(second_user.is_some_and(is_in_range));
        // Another server, which asks in another order, gives the same ones.
        let after = accounts(home.path());
        assert_eq!(after.of(&second).unwrap(), second_user);
        assert_eq!(after.of(&first).unwrap(), first_user);
    }

    #[test]
    fn what_another_user_may_have_written_is_removed() {
        let home = tempfile::tempdir().unwrap();
        let (first, second) = same_preference();
        for project in [&first, &second] {
            let name = deno_dir_name(Some(preferred(project)));
            fs::create_dir_all(home.path().join(project.as_str()).join(name)).unwrap();
        }
        let accounts = accounts(home.path());

        accounts.of(&first).unwrap();
        accounts.of(&second).unwrap();

        assert!(home.path().join(first.as_str()).is_dir());
        assert!(!home.path().join(second.as_str()).exists());
    }

    #[test]
    fn a_released_user_goes_to_the_next_project() {
        let home = tempfile::tempdir().unwrap();
        let (first, second) = same_preference();
        let accounts = accounts(home.path());
        let user = accounts.of(&first).unwrap();

        accounts.release(&first, MustEnd).unwrap();
        accounts.release(&first, MustEnd).unwrap();

        assert_eq!(accounts.of(&second).unwrap(), user);
        assert_ne!(accounts.of(&first).unwrap(), user);
    }

    /// Another server may remove a file between the list and the look at it; a link without a target
    /// is listed as well, and cannot be read either.
    #[test]
    fn a_file_that_has_just_been_removed_has_no_owner() {
        let home = tempfile::tempdir().unwrap();
        let accounts = accounts(home.path());
        let project: ProjectRef = "abcdefghijklmnopqrst".parse().unwrap();
        let user = accounts.of(&project).unwrap();
        for number in FIRST..FIRST + COUNT {
            let file = accounts.entry(Account(number));
            if !file.exists() {
                std::os::unix::fs::symlink("removed", file).unwrap();
            }
        }

        let after = self::accounts(home.path());

        assert_eq!(after.of(&project).unwrap(), user);
        let other = ProjectRef::generate();
        assert!(after.find(&other).unwrap().is_none());
    }

    #[test]
    fn when_all_are_taken_none_is_shared() {
        let home = tempfile::tempdir().unwrap();
        let accounts = accounts(home.path());
        let state = home.path().display();
        fs::create_dir_all(&accounts.table.path).unwrap();
        for number in FIRST..FIRST + COUNT {
            let content = format!("project {number}\n{state}");
            fs::write(accounts.entry(Account(number)), content).unwrap();
        }

        let project: ProjectRef = "abcdefghijklmnopqrst".parse().unwrap();
        let error = accounts.of(&project).unwrap_err();

        assert!(error.to_string().contains("belong to other projects"));
        let left = fs::read_dir(&accounts.table.path).unwrap().count();
        assert_eq!(left, COUNT as usize + 1, "only the lock is new");
    }

    #[test]
    fn two_installations_with_one_table_never_have_one_user() {
        let (one, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let table = one.path().join("table/users");
        let (one, other) = (
            with_table(one.path(), &table),
            with_table(other.path(), &table),
        );
        let (first, second) = same_preference();

        let users = [
            one.of(&first).unwrap(),
            other.of(&second).unwrap(),
            // A copied installation has the same projects.
            other.of(&first).unwrap(),
            one.of(&second).unwrap(),
        ];

        let different: BTreeSet<u32> = users.iter().map(|user| user.unwrap().0).collect();
        assert_eq!(different.len(), users.len(), "{users:?}");
        one.release(&first, MustEnd).unwrap();
        assert_eq!(other.of(&first).unwrap(), users[2]);
    }

    #[test]
    fn servers_that_claim_and_release_at_once_never_share_a_user() {
        let home = tempfile::tempdir().unwrap();
        let table = home.path().join("users");
        let (first, second) = same_preference();
        let in_use = Mutex::new(BTreeSet::new());

        thread::scope(|scope| {
            for number in 0..4 {
                let state = home.path().join(number.to_string());
                fs::create_dir(&state).unwrap();
                let accounts = with_table(&state, &table);
                let (in_use, projects) = (&in_use, [&first, &second]);
                scope.spawn(move || {
                    for project in projects.into_iter().cycle().take(40) {
                        let user = accounts.of(project).unwrap().unwrap().0;
                        assert!(in_use.lock().unwrap().insert(user), "{user} is shared");
                        in_use.lock().unwrap().remove(&user);
                        accounts.release(project, MustEnd).unwrap();
                    }
                });
            }
        });

        let names = fs::read_dir(&table).unwrap();
        let names: Vec<_> = names.map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(names, [LOCK]);
    }

    #[test]
    fn users_of_an_installation_that_is_gone_are_free() {
        let (gone, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let table = other.path().join("users");
        let (first, second) = same_preference();
        let user = with_table(gone.path(), &table).of(&first).unwrap();
        let other = with_table(other.path(), &table);
        assert_ne!(other.of(&second).unwrap(), user);
        other.release(&second, MustEnd).unwrap();

        gone.close().unwrap();

        assert_eq!(other.of(&second).unwrap(), user);
    }

    #[test]
    fn a_user_with_processes_is_no_projects() {
        let home = tempfile::tempdir().unwrap();
        let project: ProjectRef = "abcdefghijklmnopqrst".parse().unwrap();
        let Account(number) = preferred(&project);
        let accounts = Accounts {
            has_processes: |account| account == preferred(&"abcdefghijklmnopqrst".parse().unwrap()),
            ..accounts(home.path())
        };

        assert_eq!(accounts.of(&project).unwrap(), Some(Account(number + 1)));
    }

    #[test]
    fn a_user_is_not_released_while_a_process_is_started_as_it() {
        let home = tempfile::tempdir().unwrap();
        let project: ProjectRef = "abcdefghijklmnopqrst".parse().unwrap();
        let accounts = accounts(home.path());
        let user = accounts.of(&project).unwrap();
        let hold = accounts.hold(&project, user).unwrap();

        for processes in [MustEnd, MayRemain] {
            let error = accounts.release(&project, processes).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::ResourceBusy);
            accounts.ensure_unused(&project, processes).unwrap_err();
        }

        drop(hold);
        accounts.ensure_unused(&project, MustEnd).unwrap();
        accounts.release(&project, MustEnd).unwrap();
        // Whatever still wanted to start one comes too late.
        accounts.hold(&project, user).unwrap_err();
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_user_is_not_released_while_a_process_runs_as_it() {
        if !rustix::process::geteuid().is_root() {
            eprintln!("skipped: only root changes users");
            return;
        }
        let home = tempfile::tempdir().unwrap();
        let project = ProjectRef::generate();
        let accounts = Accounts {
            has_processes: Account::has_processes,
            ..accounts(home.path())
        };
        let user = accounts.of(&project).unwrap().unwrap();
        let mut command = std::process::Command::new("sleep");
        user.apply_to(command.arg("600"));
        let mut process = command.spawn().unwrap();

        let error = accounts.release(&project, MustEnd).unwrap_err();
        assert!(error.to_string().contains(&user.0.to_string()), "{error}");
        assert_eq!(accounts.of(&project).unwrap(), Some(user));

        // Of somebody else: the project can go, and the user goes to no other one.
        accounts.release(&project, MayRemain).unwrap();
        assert_ne!(accounts.of(&project).unwrap(), Some(user));

        process.kill().unwrap();
        process.wait().unwrap();
    }
}
