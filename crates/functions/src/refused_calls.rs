//! Processes without IPv6. The runtime cannot be told ranges of it, so the system refuses all of it:
//! whoever asks for a socket of that kind is told that there are none. Names are then reached at their
//! addresses of IPv4, which the resolver puts first.

use std::process::Command;

/// Between fork and exec, the command gives up sockets of IPv6, and with them whatever it starts.
#[cfg(all(
    target_os = "linux",
    target_endian = "little",
    any(target_arch = "x86_64", target_arch = "aarch64")
))]
pub(crate) fn refuse(command: &mut Command) {
    use std::os::unix::process::CommandExt as _;

    // SAFETY: between fork and exec only system calls are made, nothing is allocated.
    unsafe {
        command.pre_exec(filter::install);
    }
}

/// Other systems have no such filter.
#[cfg(not(all(
    target_os = "linux",
    target_endian = "little",
    any(target_arch = "x86_64", target_arch = "aarch64")
)))]
pub(crate) fn refuse(_command: &mut Command) {}

#[cfg(all(
    target_os = "linux",
    target_endian = "little",
    any(target_arch = "x86_64", target_arch = "aarch64")
))]
mod filter {
    use std::io;

    use libc::{
        BPF_ABS, BPF_JEQ, BPF_JMP, BPF_K, BPF_LD, BPF_RET, BPF_W, PR_SET_NO_NEW_PRIVS,
        PR_SET_SECCOMP, SECCOMP_MODE_FILTER, SECCOMP_RET_ALLOW, SECCOMP_RET_ERRNO, sock_filter,
        sock_fprog,
    };

    /// How the kernel calls this machine (`AUDIT_ARCH_…`).
    #[cfg(target_arch = "x86_64")]
    const MACHINE: u32 = 0xc000_003e;
    #[cfg(target_arch = "aarch64")]
    const MACHINE: u32 = 0xc000_00b7;

    /// Where they stand in what a filter sees of a call.
    const NUMBER: u32 = 0;
    const ARCHITECTURE: u32 = 4;
    const FIRST_ARGUMENT: u32 = 16;

    const fn load(offset: u32) -> sock_filter {
        sock_filter {
            code: (BPF_LD | BPF_W | BPF_ABS) as u16,
            jt: 0,
            jf: 0,
            k: offset,
        }
    }

    /// Goes on if it is equal, else past so many steps.
    const fn unless_equal(value: u32, skip: u8) -> sock_filter {
        sock_filter {
            code: (BPF_JMP | BPF_JEQ | BPF_K) as u16,
            jt: 0,
            jf: skip,
            k: value,
        }
    }

    const fn end(verdict: u32) -> sock_filter {
        sock_filter {
            code: (BPF_RET | BPF_K) as u16,
            jt: 0,
            jf: 0,
            k: verdict,
        }
    }

    static STEPS: [sock_filter; 8] = [
        load(ARCHITECTURE),
        unless_equal(MACHINE, 5),
        load(NUMBER),
        unless_equal(libc::SYS_socket as u32, 3),
        load(FIRST_ARGUMENT),
        unless_equal(libc::AF_INET6 as u32, 1),
        end(SECCOMP_RET_ERRNO | libc::EAFNOSUPPORT as u32),
        end(SECCOMP_RET_ALLOW),
    ];

    pub(super) fn install() -> io::Result<()> {
        let program = sock_fprog {
            len: STEPS.len() as u16,
            filter: STEPS.as_ptr().cast_mut(),
        };
        // SAFETY: the kernel reads the steps, which are there for ever, and writes nothing.
        let is_refused = unsafe {
            libc::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0
                || libc::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &raw const program) != 0
        };
        match is_refused {
            true => Err(io::Error::last_os_error()),
            false => Ok(()),
        }
    }
}

#[cfg(all(
    test,
    target_os = "linux",
    target_endian = "little",
    any(target_arch = "x86_64", target_arch = "aarch64")
))]
mod tests {
    use super::*;

    #[test]
    fn a_program_has_sockets_of_every_kind_but_ipv6() {
        // A shell that comes with every Debian can open sockets of both kinds by itself.
        let ask = |address: &str| {
            let mut command = Command::new("bash");
            command.args(["-c", &format!("exec 3<>/dev/udp/{address}/9")]);
            refuse(&mut command);
            let output = command.output().expect("bash");
            String::from_utf8_lossy(&output.stderr).into_owned()
        };

        assert_eq!(ask("127.0.0.1"), "");
        let refused = ask("::1");
        assert!(
            refused.contains("Address family not supported"),
            "{refused}"
        );
    }
}
