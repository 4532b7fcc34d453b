//! Small disks, where the machine lets the tests mount them.

use std::{path::Path, path::PathBuf, process::Command};

/// A tmpfs that is unmounted with the test.
pub(crate) struct Mount(PathBuf);

impl Mount {
    /// Mounts a disk of this many MiB, or reports that it is not permitted here.
    pub(crate) fn tmpfs(path: &Path, mib: u32) -> Option<Self> {
        let options = format!("size={mib}m,mode=0755");
        let mounted = run(Command::new("mount")
            .args(["-t", "tmpfs", "-o", &options, "plinth-test"])
            .arg(path));
        mounted.then(|| Self(path.to_owned()))
    }

    /// From now on nothing can be written.
    pub(crate) fn make_read_only(&self) -> bool {
        run(Command::new("mount")
            .args(["-o", "remount,ro"])
            .arg(&self.0))
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        run(Command::new("umount").arg("-l").arg(&self.0));
    }
}

fn run(command: &mut Command) -> bool {
    command.output().is_ok_and(|output| output.status.success())
}
