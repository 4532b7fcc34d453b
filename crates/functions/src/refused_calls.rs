//! System calls that are refused to the runtime, where it cannot be told itself what to refuse.
//!
//! - It knows no ranges of IPv6 to deny, so there are no sockets of that kind at all: names are then
//!   reached at their addresses of IPv4, which the resolver puts first.
//! - It knows no difference between reaching an address and listening at it, so no port is to be had
//!   (Landlock, since Linux 6.7). Older systems cannot tell the socket that a worker is asked on from
//!   others, except by the length of its queue: there, whoever asks for the same one gets through.

use std::process::Command;

/// Between fork and exec, the command gives up listening on ports, and with it whatever it starts.
pub(crate) fn refuse_listening(command: &mut Command) {
    filter::add(command, &filter::LISTENING);
    filter::refuse_ports(command);
}

/// Between fork and exec, the command gives up sockets of IPv6, and with it whatever it starts.
pub(crate) fn refuse_ipv6(command: &mut Command) {
    filter::add(command, &filter::IPV6);
}

#[cfg(all(
    target_os = "linux",
    target_endian = "little",
    any(target_arch = "x86_64", target_arch = "aarch64")
))]
mod filter {
    use std::{io, os::unix::process::CommandExt as _, process::Command};

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
    const SECOND_ARGUMENT: u32 = 24;

    pub(super) static IPV6: [sock_filter; 8] = [
        load(ARCHITECTURE),
        unless_equal(MACHINE, 5),
        load(NUMBER),
        unless_equal(libc::SYS_socket as u32, 3),
        load(FIRST_ARGUMENT),
        unless_equal(libc::AF_INET6 as u32, 1),
        refuse(libc::EAFNOSUPPORT),
        ALLOW,
    ];

    /// How many may wait at the socket that a worker is asked on. Servers of ports get 511 unless they
    /// ask for more or less.
    const OWN_QUEUE: u32 = 1024;

    pub(super) static LISTENING: [sock_filter; 8] = [
        load(ARCHITECTURE),
        unless_equal(MACHINE, 4),
        load(NUMBER),
        unless_equal(libc::SYS_listen as u32, 2),
        load(SECOND_ARGUMENT),
        unless_equal(OWN_QUEUE, 1),
        ALLOW,
        refuse(libc::EACCES),
    ];

    const ALLOW: sock_filter = end(SECCOMP_RET_ALLOW);

    const fn refuse(error: i32) -> sock_filter {
        end(SECCOMP_RET_ERRNO | error as u32)
    }

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

    pub(super) fn add(command: &mut Command, steps: &'static [sock_filter]) {
        // SAFETY: between fork and exec only system calls are made, nothing is allocated.
        unsafe {
            command.pre_exec(move || install(steps));
        }
    }

    /// What Landlock is to decide about (`landlock_ruleset_attr`).
    #[repr(C)]
    struct Handled {
        files: u64,
        network: u64,
    }

    const BIND_TCP: u64 = 1;

    /// Where the system knows how. A filter must have been added before.
    pub(super) fn refuse_ports(command: &mut Command) {
        // SAFETY: between fork and exec only system calls are made, nothing is allocated.
        unsafe {
            command.pre_exec(|| {
                let handled = Handled {
                    files: 0,
                    network: BIND_TCP,
                };
                let (handled, size) = (&raw const handled, size_of::<Handled>());
                let rules = libc::syscall(libc::SYS_landlock_create_ruleset, handled, size, 0);
                // No rule allows anything.
                if rules >= 0 && libc::syscall(libc::SYS_landlock_restrict_self, rules, 0) != 0 {
                    return Err(io::Error::last_os_error());
                }
                Ok(())
            });
        }
    }

    fn install(steps: &'static [sock_filter]) -> io::Result<()> {
        let program = sock_fprog {
            len: steps.len() as u16,
            filter: steps.as_ptr().cast_mut(),
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

/// Other systems have no such filter.
#[cfg(not(all(
    target_os = "linux",
    target_endian = "little",
    any(target_arch = "x86_64", target_arch = "aarch64")
)))]
mod filter {
    use std::process::Command;

    pub(super) const IPV6: () = ();
    pub(super) const LISTENING: () = ();

    pub(super) fn add(_command: &mut Command, _steps: &()) {}

    pub(super) fn refuse_ports(_command: &mut Command) {}
}

#[cfg(all(
    test,
    target_os = "linux",
    target_endian = "little",
    any(target_arch = "x86_64", target_arch = "aarch64")
))]
mod tests {
    use std::{io, os::unix::process::CommandExt as _};

    use super::*;

    #[test]
    fn a_program_has_sockets_of_every_kind_but_ipv6() {
        // A shell that comes with every Debian can open sockets of both kinds by itself.
        let ask = |address: &str| {
            let mut command = Command::new("bash");
            command.args(["-c", &format!("exec 3<>/dev/udp/{address}/9")]);
            refuse_ipv6(&mut command);
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

    /// Listens on a free port.
    fn listen(queue: i32) -> io::Result<()> {
        let address = libc::sockaddr_in {
            sin_family: libc::AF_INET as u16,
            sin_port: 0,
            sin_addr: libc::in_addr { s_addr: 0 },
            sin_zero: [0; 8],
        };
        // SAFETY: nothing but system calls, and the address is there as long as they last.
        let has_failed = unsafe {
            let socket = libc::socket(libc::AF_INET, libc::SOCK_STREAM, 0);
            let address = &raw const address;
            libc::bind(socket, address.cast(), 16) != 0 || libc::listen(socket, queue) != 0
        };
        match has_failed {
            true => Err(io::Error::last_os_error()),
            false => Ok(()),
        }
    }

    #[test]
    fn a_program_gets_no_port() {
        // What fails between fork and exec is told to whoever starts the program.
        let outcome = |is_refused: bool, queue| {
            let mut command = Command::new("true");
            if is_refused {
                refuse_listening(&mut command);
            }
            // SAFETY: see there.
            unsafe {
                command.pre_exec(move || listen(queue));
            }
            command.status().map_err(|error| error.kind())
        };

        assert!(outcome(false, 511).is_ok());
        assert_eq!(outcome(true, 511), Err(io::ErrorKind::PermissionDenied));
        let is_new = {
            let version = std::fs::read_to_string("/proc/sys/kernel/osrelease").expect("a version");
            let mut numbers = version.split('.').map(|number| number.parse().unwrap_or(0));
            (numbers.next(), numbers.next()) >= (Some(6), Some(7))
        };
        let modules = std::fs::read_to_string("/sys/kernel/security/lsm").unwrap_or_default();
        if is_new && modules.contains("landlock") {
            assert_eq!(outcome(true, 1024), Err(io::ErrorKind::PermissionDenied));
        }
    }
}
