//! The superuser's password: generated once, stored in the state folder with mode 0600.

use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use aws_lc_rs::rand::{self, SystemRandom};
use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;

use crate::error::{Error, Result};

const FILE: &str = "database-password";

/// The stored password, or `None` if it was never stored or was lost.
pub(crate) fn find(state_dir: &Path) -> Result<Option<String>> {
    let path = state_dir.join(FILE);
    match fs::read_to_string(&path) {
        Ok(text) => Ok(Some(text.trim().to_owned()).filter(|password| !password.is_empty())),
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(cause) => Err(Error::file("read", &path, &cause)),
    }
}

/// 256 random bits in base64url, which needs no quoting.
pub(crate) fn generate() -> Result<String> {
    let mut bytes = [0; 32];
    rand::SecureRandom::fill(&SystemRandom::new(), &mut bytes).map_err(|_| Error::StartFailed {
        reason: "the system's random number generator failed".to_owned(),
    })?;
    Ok(BASE64_URL_SAFE_NO_PAD.encode(bytes))
}

/// Stores the password atomically.
pub(crate) fn store(state_dir: &Path, password: &str) -> Result<()> {
    let (path, temporary) = (state_dir.join(FILE), state_dir.join(format!("{FILE}.new")));
    write_private(&temporary, password)
        .and_then(|()| fs::rename(&temporary, &path))
        .map_err(|cause| Error::file("write", &path, &cause))
}

/// Writes one secret line into a new file that only its owner can read.
pub(crate) fn write_private(path: &Path, line: &str) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(cause) if cause.kind() != io::ErrorKind::NotFound => return Err(cause),
        _ => {}
    }
    let mut file = File::options()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)?;
    writeln!(file, "{line}")?;
    file.sync_all()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::MetadataExt;

    use super::*;

    #[test]
    fn a_password_is_kept_private() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(find(folder.path()).unwrap(), None);

        let password = generate().unwrap();
        store(folder.path(), &password).unwrap();

        assert_eq!(find(folder.path()).unwrap(), Some(password));
        let meta = folder.path().join(FILE).metadata().unwrap();
        assert_eq!(meta.mode() & 0o777, 0o600);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn passwords_are_long_and_never_the_same() {
        let (first, second) = (generate().unwrap(), generate().unwrap());

        assert_eq!(first.len(), 43);
        assert_ne!(first, second);
    }
}
