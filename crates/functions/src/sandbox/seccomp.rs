//! System calls that are denied to the runtime, where its own permissions cannot deny them.
//!
//! - They take no IPv6 ranges, so IPv6 sockets are denied altogether: host names are then reached over
//!   IPv4, which the resolver puts first.
//! - They make no difference between connecting to an address and listening on it, so binding a TCP
//!   port is denied (Landlock, since Linux 6.7). On older kernels `listen` is filtered by its backlog,
//!   the only thing that distinguishes the worker's own unix socket from others: there, a function
//!   that asks for the same backlog gets a port.
//!
//! Why by hand: `docs/decisions/0009-seccomp-and-mounts-by-hand.md`.

use std::process::Command;

/// Denies listening on ports to the command and its children.
pub(super) fn deny_listening(command: &mut Command) {
    filter::install(command, &filter::LISTENING);
    filter::deny_tcp_bind(command);
}

/// Denies IPv6 sockets to the command and its children.
pub(super) fn deny_ipv6(command: &mut Command) {
    filter::install(command, &filter::IPV6);
}

#[cfg(all(
    target_os = "linux",
    target_endian = "little",
    any(target_arch = "x86_64", target_arch = "aarch64")
))]
mod filter {
    use std::{io, os::unix::process::CommandExt as _, process::Command};

    use libc::{
        BPF_ABS, BPF_JEQ, BPF_JGE, BPF_JMP, BPF_K, BPF_LD, BPF_RET, BPF_W, PR_SET_NO_NEW_PRIVS,
        PR_SET_SECCOMP, SECCOMP_MODE_FILTER, SECCOMP_RET_ALLOW, SECCOMP_RET_ERRNO,
        SECCOMP_RET_KILL_PROCESS, sock_filter, sock_fprog,
    };

    /// `AUDIT_ARCH_…` of this machine.
    #[cfg(target_arch = "x86_64")]
    const AUDIT_ARCH: u32 = 0xc000_003e;
    #[cfg(target_arch = "aarch64")]
    const AUDIT_ARCH: u32 = 0xc000_00b7;

    /// Offsets in `seccomp_data`.
    const NUMBER: u32 = 0;
    const ARCHITECTURE: u32 = 4;
    const FIRST_ARGUMENT: u32 = 16;
    const SECOND_ARGUMENT: u32 = 24;

    /// Calls of this architecture have smaller numbers; on x86-64, those of its variant x32 begin
    /// here.
    const FOREIGN_NUMBERS: u32 = 0x4000_0000;

    /// Every filter begins with this: the numbers of calls are those of one architecture, and code
    /// that makes others would bypass the filter.
    const PINNED: [sock_filter; 6] = [
        load(ARCHITECTURE),
        if_equal(AUDIT_ARCH, 1),
        return_with(SECCOMP_RET_KILL_PROCESS),
        load(NUMBER),
        unless_at_least(FOREIGN_NUMBERS, 1),
        deny(libc::ENOSYS),
    ];

    pub(super) static IPV6: [sock_filter; 11] = [
        PINNED[0],
        PINNED[1],
        PINNED[2],
        PINNED[3],
        PINNED[4],
        PINNED[5],
        unless_equal(libc::SYS_socket as u32, 3),
        load(FIRST_ARGUMENT),
        unless_equal(libc::AF_INET6 as u32, 1),
        deny(libc::EAFNOSUPPORT),
        ALLOW,
    ];

    /// The backlog that the runtime gives to the worker's own socket. Servers on ports get 511 unless
    /// they ask for more or less.
    const OWN_BACKLOG: u32 = 1024;

    pub(super) static LISTENING: [sock_filter; 11] = [
        PINNED[0],
        PINNED[1],
        PINNED[2],
        PINNED[3],
        PINNED[4],
        PINNED[5],
        unless_equal(libc::SYS_listen as u32, 2),
        load(SECOND_ARGUMENT),
        unless_equal(OWN_BACKLOG, 1),
        ALLOW,
        deny(libc::EACCES),
    ];

    const ALLOW: sock_filter = return_with(SECCOMP_RET_ALLOW);

    const fn deny(error: i32) -> sock_filter {
        return_with(SECCOMP_RET_ERRNO | error as u32)
    }

    const fn load(offset: u32) -> sock_filter {
        sock_filter {
            code: (BPF_LD | BPF_W | BPF_ABS) as u16,
            jt: 0,
            jf: 0,
            k: offset,
        }
    }

    /// Skips so many instructions if the value is equal.
    const fn if_equal(value: u32, skip: u8) -> sock_filter {
        jump(BPF_JEQ, value, (skip, 0))
    }

    /// Continues if the value is equal, or else skips so many instructions.
    const fn unless_equal(value: u32, skip: u8) -> sock_filter {
        jump(BPF_JEQ, value, (0, skip))
    }

    /// Continues if the value is as large, or else skips so many instructions.
    const fn unless_at_least(value: u32, skip: u8) -> sock_filter {
        jump(BPF_JGE, value, (0, skip))
    }

    /// Skips that many instructions if the comparison holds, and if it does not.
    const fn jump(comparison: u32, value: u32, (jt, jf): (u8, u8)) -> sock_filter {
        sock_filter {
            code: (BPF_JMP | comparison | BPF_K) as u16,
            jt,
            jf,
            k: value,
        }
    }

    const fn return_with(verdict: u32) -> sock_filter {
        sock_filter {
            code: (BPF_RET | BPF_K) as u16,
            jt: 0,
            jf: 0,
            k: verdict,
        }
    }

    /// Installs the filter between fork and exec.
    pub(super) fn install(command: &mut Command, filter: &'static [sock_filter]) {
        // SAFETY: between fork and exec only system calls are made, nothing is allocated.
        unsafe {
            command.pre_exec(move || apply(filter));
        }
    }

    fn apply(filter: &'static [sock_filter]) -> io::Result<()> {
        let program = sock_fprog {
            len: filter.len() as u16,
            filter: filter.as_ptr().cast_mut(),
        };
        // SAFETY: the kernel reads the filter, which is static, and writes nothing.
        let has_failed = unsafe {
            libc::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0
                || libc::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &raw const program) != 0
        };
        if has_failed {
            Err(io::Error::last_os_error())
        } else {
            Ok(())
        }
    }

    /// The accesses that a Landlock ruleset decides about (`landlock_ruleset_attr`, ABI 4).
    #[repr(C)]
    struct HandledAccess {
        fs: u64,
        net: u64,
    }

    /// `LANDLOCK_ACCESS_NET_BIND_TCP`
    const BIND_TCP: u64 = 1;

    /// Does nothing where the kernel lacks it. A seccomp filter must have been installed before, which
    /// sets `no_new_privs`.
    pub(super) fn deny_tcp_bind(command: &mut Command) {
        // SAFETY: between fork and exec only system calls are made, nothing is allocated.
        unsafe {
            command.pre_exec(|| {
                let handled = HandledAccess {
                    fs: 0,
                    net: BIND_TCP,
                };
                let (handled, size) = (&raw const handled, size_of::<HandledAccess>());
                let ruleset = libc::syscall(libc::SYS_landlock_create_ruleset, handled, size, 0);
                // The ruleset has no rule, so nothing is allowed.
                if ruleset >= 0 && libc::syscall(libc::SYS_landlock_restrict_self, ruleset, 0) != 0
                {
                    return Err(io::Error::last_os_error());
                }
                Ok(())
            });
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

    pub(super) fn install(_command: &mut Command, _filter: &()) {}

    pub(super) fn deny_tcp_bind(_command: &mut Command) {}
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
        // A shell that comes with every Debian can open sockets of both families by itself.
        let connect = |address: &str| {
            let mut command = Command::new("bash");
            command.args(["-c", &format!("exec 3<>/dev/udp/{address}/9")]);
            deny_ipv6(&mut command);
            let output = command.output().expect("bash");
            String::from_utf8_lossy(&output.stderr).into_owned()
        };

        assert_eq!(connect("127.0.0.1"), "");
        let denied = connect("::1");
        assert!(denied.contains("Address family not supported"), "{denied}");
    }

    /// Asks for an IPv6 socket as programs of 32 bits do: `socket` has the number 359 there.
    #[cfg(target_arch = "x86_64")]
    fn socket_of_32_bits() -> i32 {
        let outcome: i32;
        // SAFETY: a system call with numbers as arguments. The compiler keeps `rbx` for itself.
        unsafe {
            std::arch::asm!(
                "xchg {family:r}, rbx",
                "int 0x80",
                "xchg {family:r}, rbx",
                family = inout(reg) libc::AF_INET6 as u64 => _,
                inlateout("eax") 359 => outcome,
                in("ecx") libc::SOCK_STREAM,
                in("edx") 0,
                out("r8") _, out("r9") _, out("r10") _, out("r11") _,
            );
        }
        outcome
    }

    #[cfg(target_arch = "x86_64")]
    #[test]
    fn calls_of_another_architecture_end_the_process() {
        use std::os::unix::process::ExitStatusExt as _;
        let outcome = |is_filtered: bool| {
            let mut command = Command::new("true");
            if is_filtered {
                deny_ipv6(&mut command);
            }
            // SAFETY: nothing but a system call is made.
            unsafe {
                command.pre_exec(|| match socket_of_32_bits() {
                    0.. => Ok(()),
                    error => Err(io::Error::from_raw_os_error(-error)),
                });
            }
            command.status()
        };
        if !outcome(false).is_ok_and(|status| status.success()) {
            return println!("this kernel runs no programs of 32 bits, or has no IPv6");
        }

        let status = outcome(true).expect("nothing is reported: it is killed");

        assert_eq!(status.signal(), Some(libc::SIGSYS));
    }

    /// Listens on a free port.
    fn listen(backlog: i32) -> io::Result<()> {
        let address = libc::sockaddr_in {
            sin_family: libc::AF_INET as u16,
            sin_port: 0,
            sin_addr: libc::in_addr { s_addr: 0 },
            sin_zero: [0; 8],
        };
        // SAFETY: nothing but system calls, which the address outlives.
        let has_failed = unsafe {
            let socket = libc::socket(libc::AF_INET, libc::SOCK_STREAM, 0);
            let address = &raw const address;
            libc::bind(socket, address.cast(), 16) != 0 || libc::listen(socket, backlog) != 0
        };
        if has_failed {
            Err(io::Error::last_os_error())
        } else {
            Ok(())
        }
    }

    #[test]
    fn a_program_gets_no_port() {
        // What fails between fork and exec is reported by `status`.
        let outcome = |is_denied: bool, backlog| {
            let mut command = Command::new("true");
            if is_denied {
                deny_listening(&mut command);
            }
            // SAFETY: `listen` makes nothing but system calls.
            unsafe {
                command.pre_exec(move || listen(backlog));
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
