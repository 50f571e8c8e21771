//! The filter on system calls, as a program for the kernel.

/// Makes the filter; nothing on a processor it is not known for.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
#[expect(clippy::unnecessary_wraps, reason = "other processors have none")]
pub(super) fn filter() -> Option<Vec<u8>> {
    Some(program::assemble())
}

/// Makes the filter; nothing on a processor it is not known for.
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
pub(super) fn filter() -> Option<Vec<u8>> {
    None
}

#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
mod program {
    use libc::c_long;

    /// Instructions of the kernel's packet filter.
    const LOAD: u16 = 0x20;
    const AND: u16 = 0x54;
    const JUMP_IF_EQUAL: u16 = 0x15;
    const JUMP_IF_ANY_BIT: u16 = 0x45;
    const JUMP_IF_AT_LEAST: u16 = 0x35;
    const RETURN: u16 = 0x06;

    /// Places in what the filter looks at.
    const NUMBER: u32 = 0;
    const ARCHITECTURE: u32 = 4;
    const fn argument(index: u32) -> u32 {
        // The low half; both processors store it first.
        16 + 8 * index
    }

    const ALLOW: u32 = 0x7fff_0000;
    const KILL: u32 = 0x8000_0000;
    const fn refuse(errno: i32) -> u32 {
        0x0005_0000 | errno.unsigned_abs()
    }

    #[cfg(target_arch = "x86_64")]
    const OWN_ARCHITECTURE: u32 = 0xc000_003e;
    #[cfg(target_arch = "aarch64")]
    const OWN_ARCHITECTURE: u32 = 0xc000_00b7;

    /// Calls of the x32 interface start here.
    #[cfg(target_arch = "x86_64")]
    const X32: u32 = 0x4000_0000;

    /// Flags of `clone` that make namespaces.
    const NAMESPACES: u32 = 0x0002_0000 // mount
        | 0x0200_0000 // cgroup
        | 0x0400_0000 // UTS
        | 0x0800_0000 // IPC
        | 0x1000_0000 // user
        | 0x2000_0000 // PID
        | 0x4000_0000 // network
        | 0x0000_0080; // time

    const SYS_OPEN_TREE_ATTR: c_long = 467;

    /// Calls no command has a use for that should be confined.
    const REFUSED: &[c_long] = &[
        libc::SYS_mount,
        libc::SYS_umount2,
        libc::SYS_pivot_root,
        libc::SYS_chroot,
        libc::SYS_fsopen,
        libc::SYS_fsconfig,
        libc::SYS_fsmount,
        libc::SYS_fspick,
        libc::SYS_move_mount,
        libc::SYS_open_tree,
        libc::SYS_mount_setattr,
        SYS_OPEN_TREE_ATTR,
        libc::SYS_unshare,
        libc::SYS_setns,
        libc::SYS_ptrace,
        libc::SYS_process_vm_readv,
        libc::SYS_process_vm_writev,
        libc::SYS_pidfd_getfd,
        libc::SYS_kcmp,
        libc::SYS_bpf,
        libc::SYS_perf_event_open,
        libc::SYS_add_key,
        libc::SYS_request_key,
        libc::SYS_keyctl,
        libc::SYS_kexec_load,
        libc::SYS_kexec_file_load,
        libc::SYS_init_module,
        libc::SYS_finit_module,
        libc::SYS_delete_module,
        libc::SYS_io_uring_setup,
        libc::SYS_io_uring_enter,
        libc::SYS_io_uring_register,
        libc::SYS_userfaultfd,
        libc::SYS_fanotify_init,
        libc::SYS_open_by_handle_at,
        libc::SYS_name_to_handle_at,
        libc::SYS_quotactl,
        libc::SYS_quotactl_fd,
        libc::SYS_swapon,
        libc::SYS_swapoff,
        libc::SYS_reboot,
        libc::SYS_acct,
        libc::SYS_settimeofday,
        libc::SYS_clock_settime,
        libc::SYS_clock_adjtime,
        libc::SYS_adjtimex,
        libc::SYS_sethostname,
        libc::SYS_setdomainname,
        libc::SYS_syslog,
        libc::SYS_vhangup,
        #[cfg(target_arch = "x86_64")]
        libc::SYS_iopl,
        #[cfg(target_arch = "x86_64")]
        libc::SYS_ioperm,
        #[cfg(target_arch = "x86_64")]
        libc::SYS_modify_ldt,
    ];

    /// Ways to type into the terminal of somebody else.
    const TERMINAL_INPUT: [u32; 2] = [0x5412, 0x541c];

    /// Kinds of sockets that no network namespace confines, or that see the wire.
    const REFUSED_FAMILIES: [i32; 2] = [libc::AF_PACKET, libc::AF_VSOCK];

    #[derive(Default)]
    struct Program(Vec<u8>);

    impl Program {
        fn add(&mut self, code: u16, yes: u8, no: u8, value: u32) {
            self.0.extend_from_slice(&code.to_ne_bytes());
            self.0.extend_from_slice(&[yes, no]);
            self.0.extend_from_slice(&value.to_ne_bytes());
        }

        fn load(&mut self, place: u32) {
            self.add(LOAD, 0, 0, place);
        }

        fn answer(&mut self, answer: u32) {
            self.add(RETURN, 0, 0, answer);
        }

        /// Answers when what was loaded equals `value`.
        fn answer_if(&mut self, value: u32, answer: u32) {
            self.add(JUMP_IF_EQUAL, 0, 1, value);
            self.answer(answer);
        }
    }

    fn number(call: c_long) -> u32 {
        u32::try_from(call).unwrap_or(u32::MAX)
    }

    pub(super) fn assemble() -> Vec<u8> {
        let mut program = Program::default();
        let no = refuse(libc::EPERM);
        program.load(ARCHITECTURE);
        program.add(JUMP_IF_EQUAL, 1, 0, OWN_ARCHITECTURE);
        program.answer(KILL);
        program.load(NUMBER);
        #[cfg(target_arch = "x86_64")]
        {
            program.add(JUMP_IF_AT_LEAST, 0, 1, X32);
            program.answer(refuse(libc::ENOSYS));
        }
        for call in REFUSED {
            program.answer_if(number(*call), no);
        }
        // Its flags lie in memory, where no filter can look; programs fall back to clone.
        program.answer_if(number(libc::SYS_clone3), refuse(libc::ENOSYS));
        // Each of the blocks below ends in an answer, so it need not restore what was loaded.
        program.add(JUMP_IF_EQUAL, 0, 4, number(libc::SYS_clone));
        program.load(argument(0));
        program.add(JUMP_IF_ANY_BIT, 0, 1, NAMESPACES);
        program.answer(no);
        program.answer(ALLOW);
        program.add(JUMP_IF_EQUAL, 0, 6, number(libc::SYS_ioctl));
        program.load(argument(1));
        for request in TERMINAL_INPUT {
            program.answer_if(request, no);
        }
        program.answer(ALLOW);
        program.add(JUMP_IF_EQUAL, 0, 11, number(libc::SYS_socket));
        program.load(argument(0));
        for family in REFUSED_FAMILIES {
            program.answer_if(family.unsigned_abs(), no);
        }
        // Every socket of this family is a raw one, and it asks the own kernel about the own network.
        program.answer_if(libc::AF_NETLINK.unsigned_abs(), ALLOW);
        program.load(argument(1));
        program.add(AND, 0, 0, 0xf);
        program.answer_if(libc::SOCK_RAW.unsigned_abs(), no);
        program.answer(ALLOW);
        program.answer(ALLOW);
        program.0
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        /// Runs the program as the kernel would.
        fn judge(call: c_long, arguments: [u32; 2]) -> u32 {
            let program = assemble();
            let word = |place: u32| match place {
                NUMBER => number(call),
                ARCHITECTURE => OWN_ARCHITECTURE,
                place if place == argument(0) => arguments[0],
                place if place == argument(1) => arguments[1],
                place => panic!("place {place}"),
            };
            let (mut at, mut value) = (0, 0);
            loop {
                let step = &program[at * 8..at * 8 + 8];
                let code = u16::from_ne_bytes([step[0], step[1]]);
                let k = u32::from_ne_bytes([step[4], step[5], step[6], step[7]]);
                let jump = |yes: bool| usize::from(if yes { step[2] } else { step[3] });
                at += 1;
                match code {
                    LOAD => value = word(k),
                    AND => value &= k,
                    JUMP_IF_EQUAL => at += jump(value == k),
                    JUMP_IF_ANY_BIT => at += jump(value & k != 0),
                    JUMP_IF_AT_LEAST => at += jump(value >= k),
                    RETURN => return k,
                    other => panic!("instruction {other}"),
                }
            }
        }

        #[test]
        fn calls_are_judged() {
            let no = refuse(libc::EPERM);
            for call in REFUSED {
                assert_eq!(judge(*call, [0, 0]), no, "{call}");
            }
            for (call, arguments, wanted) in [
                (libc::SYS_read, [0, 0], ALLOW),
                (libc::SYS_execve, [0, 0], ALLOW),
                (libc::SYS_clone3, [0, 0], refuse(libc::ENOSYS)),
                (libc::SYS_clone, [0x0120_0011, 0], ALLOW),
                (libc::SYS_clone, [0x1000_0011, 0], no),
                (libc::SYS_ioctl, [0, 0x5401], ALLOW),
                (libc::SYS_ioctl, [0, 0x5412], no),
                (libc::SYS_socket, [2, 1], ALLOW),
                (libc::SYS_socket, [2, 0x80003], no),
                (libc::SYS_socket, [17, 2], no),
                (libc::SYS_socket, [40, 1], no),
                (libc::SYS_socket, [1, 0x80001], ALLOW),
                (libc::SYS_socket, [16, 0x80003], ALLOW),
            ] {
                assert_eq!(judge(call, arguments), wanted, "{call} {arguments:x?}");
            }
        }
    }
}
