//! Which project has which system user. A Plinth that runs as root gives each project a user of its
//! own, and none to two.
//!
//! The table is a directory with a file per user: its name is the number, its content the project.
//! It is in the home directory, with everything else that belongs to these users.

use std::{
    collections::HashMap,
    fs, io,
    os::unix::fs::DirBuilderExt as _,
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
};

use plinth_project::ProjectRef;
use uuid::Uuid;

use crate::account::{Account, create_traversable};

/// The range of systemd's dynamic users, which no person has.
const FIRST: u32 = 61_184;
const COUNT: u32 = 4_336;

/// The prefix of files that are not yet part of the table.
const PARTIAL: &str = "partial-";

/// The users of all projects.
pub(crate) struct Accounts {
    home: PathBuf,
    /// Whether we are root, and can change the user.
    is_root: bool,
    known: Mutex<HashMap<ProjectRef, Account>>,
}

impl Accounts {
    pub(crate) fn new(home: PathBuf) -> Self {
        Self {
            home,
            is_root: rustix::process::geteuid().is_root(),
            known: Mutex::default(),
        }
    }

    /// The user of a project, always the same. `None` where we are not root.
    pub(crate) fn of(&self, project: &ProjectRef) -> io::Result<Option<Account>> {
        if !self.is_root {
            return Ok(None);
        }
        // Locked until the file is written: two tasks must not claim two users for one project.
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(account) = known.get(project) {
            return Ok(Some(*account));
        }
        let account = match self.find(project)? {
            Some(account) => account,
            None => self.claim(project)?,
        };
        known.insert(project.clone(), account);
        Ok(Some(account))
    }

    /// Makes the user available to others. To be called when nothing belongs to it any more.
    pub(crate) fn release(&self, project: &ProjectRef) -> io::Result<()> {
        if !self.is_root {
            return Ok(());
        }
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(Account(number)) = self.find(project)? {
            match fs::remove_file(self.table().join(number.to_string())) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
        known.remove(project);
        Ok(())
    }

    fn table(&self) -> PathBuf {
        self.home.join("users")
    }

    fn find(&self, project: &ProjectRef) -> io::Result<Option<Account>> {
        let entries = match fs::read_dir(self.table()) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            entries => entries?,
        };
        for entry in entries {
            let entry = entry?;
            let name = entry.file_name();
            let number = name.to_str().and_then(|name| name.parse().ok());
            let Some(number) = number else { continue };
            match fs::read_to_string(entry.path()) {
                Ok(text) if text == project.as_str() => return Ok(Some(Account(number))),
                Ok(_) => {}
                // Another server has removed it since the folder was read.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
        }
        Ok(None)
    }

    fn claim(&self, project: &ProjectRef) -> io::Result<Account> {
        let table = self.table();
        create_traversable(&self.home)?;
        if !table.is_dir() {
            fs::DirBuilder::new().mode(0o700).create(&table)?;
        }
        let partial = table.join(format!("{PARTIAL}{}", Uuid::new_v4().simple()));
        let claimed = fs::write(&partial, project.as_str())
            .and_then(|()| claim_free(&table, &partial, preferred(project)));
        _ = fs::remove_file(&partial);
        let account = claimed?;
        if account != preferred(project) {
            // Before there was a table, all had their preferred users. Another project has this
            // one, and may have written to what was prepared here.
            remove_dir(&self.home.join(project.as_str()))?;
        }
        Ok(account)
    }
}

/// The first user that is free, beginning with the preferred one. A link is made only where there
/// is no file of that name.
fn claim_free(table: &Path, file: &Path, Account(preferred): Account) -> io::Result<Account> {
    for offset in 0..COUNT {
        let number = FIRST + (preferred - FIRST + offset) % COUNT;
        match fs::hard_link(file, table.join(number.to_string())) {
            Ok(()) => return Ok(Account(number)),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
    let message = format!("all {COUNT} system users belong to other projects");
    Err(io::Error::other(message))
}

/// Depends on the name of the project only, so that installations on one machine rarely have the
/// same users.
fn preferred(project: &ProjectRef) -> Account {
    let letters = project.as_str().bytes();
    let number = letters.fold(0_u32, |sum, byte| {
        sum.wrapping_mul(31).wrapping_add(u32::from(byte))
    });
    Account(FIRST + number % COUNT)
}

fn remove_dir(path: &Path) -> io::Result<()> {
    match fs::remove_dir_all(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn accounts(home: &Path) -> Accounts {
        Accounts {
            home: home.to_owned(),
            is_root: true,
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
            fs::create_dir_all(home.path().join(project.as_str()).join("deno-1")).unwrap();
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

        accounts.release(&first).unwrap();
        accounts.release(&first).unwrap();

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
            let file = accounts.table().join(number.to_string());
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
        let table = accounts.table();
        fs::create_dir_all(&table).unwrap();
        for number in FIRST..FIRST + COUNT {
            fs::write(table.join(number.to_string()), format!("project {number}")).unwrap();
        }

        let project: ProjectRef = "abcdefghijklmnopqrst".parse().unwrap();
        let error = accounts.of(&project).unwrap_err();

        assert!(error.to_string().contains("belong to other projects"));
        assert_eq!(fs::read_dir(&table).unwrap().count(), COUNT as usize);
    }
}
