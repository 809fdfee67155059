/* SPDX-License-Identifier: Apache-2.0 */
/* The system calls that a job may make. Left out on purpose: mounts and namespaces (mount, unshare, setns, pivot_root ...), modules, kexec,
 * reboot, clock setting, swap, keyrings, bpf, perf_event_open, userfaultfd, io_uring (its operations pass by this filter),
 * open_by_handle_at, and whatever is newer than this list. What is not allowed fails with EPERM. */
#include "runner/bundle.h"

#include <errno.h>

static const char *const allowed[] = {
        "accept", "accept4", "access", "adjtimex", "alarm", "arch_prctl", "arm_fadvise64_64", "arm_sync_file_range",
        "bind", "breakpoint", "brk", "cacheflush", "capget", "capset", "chdir", "chmod", "chown", "chown32", "chroot",
        "clock_adjtime", "clock_adjtime64", "clock_getres", "clock_getres_time64", "clock_gettime", "clock_gettime64",
        "clock_nanosleep", "clock_nanosleep_time64", "close", "close_range", "connect", "copy_file_range", "creat", "dup",
        "dup2", "dup3", "epoll_create", "epoll_create1", "epoll_ctl", "epoll_ctl_old", "epoll_pwait", "epoll_pwait2",
        "epoll_wait", "epoll_wait_old", "eventfd", "eventfd2", "execve", "execveat", "exit", "exit_group", "faccessat",
        "faccessat2", "fadvise64", "fadvise64_64", "fallocate", "fanotify_mark", "fchdir", "fchmod", "fchmodat",
        "fchmodat2", "fchown", "fchown32", "fchownat", "fcntl", "fcntl64", "fdatasync", "fgetxattr", "flistxattr",
        "flock", "fork", "fremovexattr", "fsetxattr", "fstat", "fstat64", "fstatat64", "fstatfs", "fstatfs64", "fsync",
        "ftruncate", "ftruncate64", "futex", "futex_requeue", "futex_time64", "futex_wait", "futex_waitv", "futex_wake",
        "futimesat", "get_robust_list", "get_thread_area", "getcpu", "getcwd", "getdents", "getdents64", "getegid",
        "getegid32", "geteuid", "geteuid32", "getgid", "getgid32", "getgroups", "getgroups32", "getitimer",
        "getpeername", "getpgid", "getpgrp", "getpid", "getppid", "getpriority", "getrandom", "getresgid", "getresgid32",
        "getresuid", "getresuid32", "getrlimit", "getrusage", "getsid", "getsockname", "getsockopt", "gettid",
        "gettimeofday", "getuid", "getuid32", "getxattr", "inotify_add_watch", "inotify_init", "inotify_init1",
        "inotify_rm_watch", "io_cancel", "io_destroy", "io_getevents", "io_pgetevents", "io_pgetevents_time64",
        "io_setup", "io_submit", "ioctl", "ioprio_get", "ioprio_set", "ipc", "kill", "landlock_add_rule",
        "landlock_create_ruleset", "landlock_restrict_self", "lchown", "lchown32", "lgetxattr", "link", "linkat",
        "listen", "listxattr", "llistxattr", "_llseek", "lremovexattr", "lseek", "lsetxattr", "lstat", "lstat64",
        "madvise", "map_shadow_stack", "membarrier", "memfd_create", "memfd_secret", "mincore", "mkdir", "mkdirat",
        "mknod", "mknodat", "mlock", "mlock2", "mlockall", "mmap", "mmap2", "modify_ldt", "mprotect", "mq_getsetattr",
        "mq_notify", "mq_open", "mq_timedreceive", "mq_timedreceive_time64", "mq_timedsend", "mq_timedsend_time64",
        "mq_unlink", "mremap", "msgctl", "msgget", "msgrcv", "msgsnd", "msync", "munlock", "munlockall", "munmap",
        "name_to_handle_at", "nanosleep", "newfstatat", "_newselect", "open", "openat", "openat2", "pause",
        "pidfd_getfd", "pidfd_open", "pidfd_send_signal", "pipe", "pipe2", "pkey_alloc", "pkey_free", "pkey_mprotect",
        "poll", "ppoll", "ppoll_time64", "prctl", "pread64", "preadv", "preadv2", "prlimit64", "process_madvise",
        "process_mrelease", "process_vm_readv", "process_vm_writev", "pselect6", "pselect6_time64", "ptrace", "pwrite64",
        "pwritev", "pwritev2", "read", "readahead", "readlink", "readlinkat", "readv", "recv", "recvfrom", "recvmmsg",
        "recvmmsg_time64", "recvmsg", "remap_file_pages", "removexattr", "rename", "renameat", "renameat2",
        "restart_syscall", "rmdir", "rseq", "rt_sigaction", "rt_sigpending", "rt_sigprocmask", "rt_sigqueueinfo",
        "rt_sigreturn", "rt_sigsuspend", "rt_sigtimedwait", "rt_sigtimedwait_time64", "rt_tgsigqueueinfo",
        "sched_getaffinity", "sched_getattr", "sched_getparam", "sched_get_priority_max", "sched_get_priority_min",
        "sched_getscheduler", "sched_rr_get_interval", "sched_rr_get_interval_time64", "sched_setaffinity",
        "sched_setattr", "sched_setparam", "sched_setscheduler", "sched_yield", "seccomp", "select", "semctl", "semget",
        "semop", "semtimedop", "semtimedop_time64", "send", "sendfile", "sendfile64", "sendmmsg", "sendmsg", "sendto",
        "setfsgid", "setfsgid32", "setfsuid", "setfsuid32", "setgid", "setgid32", "setgroups", "setgroups32",
        "setitimer", "setpgid", "setpriority", "setregid", "setregid32", "setresgid", "setresgid32", "setresuid",
        "setresuid32", "setreuid", "setreuid32", "setrlimit", "set_robust_list", "setsid", "setsockopt",
        "set_thread_area", "set_tid_address", "set_tls", "setuid", "setuid32", "setxattr", "shmat", "shmctl", "shmdt",
        "shmget", "shutdown", "sigaltstack", "signalfd", "signalfd4", "sigprocmask", "sigreturn", "socketcall",
        "socketpair", "splice", "stat", "stat64", "statfs", "statfs64", "statx", "symlink", "symlinkat", "sync",
        "sync_file_range", "sync_file_range2", "syncfs", "sysinfo", "tee", "tgkill", "time", "timer_create",
        "timer_delete", "timer_getoverrun", "timer_gettime", "timer_gettime64", "timer_settime", "timer_settime64",
        "timerfd_create", "timerfd_gettime", "timerfd_gettime64", "timerfd_settime", "timerfd_settime64", "times",
        "tkill", "truncate", "truncate64", "ugetrlimit", "umask", "uname", "unlink", "unlinkat", "utime", "utimensat",
        "utimensat_time64", "utimes", "vfork", "vmsplice", "wait4", "waitid", "waitpid", "write", "writev",
};

/* Calls allowed for some arguments only. */
static const struct {
        const char *name;
        uint32_t index;
        const char *op;
        uint64_t value, value_two;
} with_args[] = {
        { "personality", 0, "SCMP_CMP_EQ", 0x0, 0 },
        { "personality", 0, "SCMP_CMP_EQ", 0x8, 0 },
        { "personality", 0, "SCMP_CMP_EQ", 0x20000, 0 },
        { "personality", 0, "SCMP_CMP_EQ", 0x20008, 0 },
        { "personality", 0, "SCMP_CMP_EQ", 0xffffffff, 0 },
        { "socket", 0, "SCMP_CMP_NE", 40, 0 },                       /* AF_VSOCK reaches the hypervisor   */
        { "clone", 0, "SCMP_CMP_MASKED_EQ", 0x7e020000, 0 },         /* none of the namespace flags       */
};

static const char *const arches[] = {
#if defined __x86_64__
        "SCMP_ARCH_X86_64", "SCMP_ARCH_X86", "SCMP_ARCH_X32",
#elif defined __aarch64__
        "SCMP_ARCH_AARCH64", "SCMP_ARCH_ARM",
#elif defined __riscv && __riscv_xlen == 64
        "SCMP_ARCH_RISCV64",
#elif defined __powerpc64__
        "SCMP_ARCH_PPC64LE",
#elif defined __s390x__
        "SCMP_ARCH_S390X",
#else
#error "add this architecture's name here"
#endif
};

json_t *seccomp_default(void)
{
        js_owned *names = json_array();
        js_owned *arch = json_array();
        js_owned *calls = json_array();

        for (size_t i = 0; i < ARRAY_LEN(allowed); i++)
                (void)json_array_append_new(names, json_string(allowed[i]));
        for (size_t i = 0; i < ARRAY_LEN(arches); i++)
                (void)json_array_append_new(arch, json_string(arches[i]));
        (void)json_array_append_new(calls, json_pack("{s:O, s:s}", "names", names, "action", "SCMP_ACT_ALLOW"));
        for (size_t i = 0; i < ARRAY_LEN(with_args); i++)
                (void)json_array_append_new(calls,
                        json_pack("{s:[s], s:s, s:[{s:I, s:I, s:I, s:s}]}", "names", with_args[i].name, "action",
                                "SCMP_ACT_ALLOW", "args", "index", (json_int_t)with_args[i].index, "value",
                                (json_int_t)with_args[i].value, "valueTwo", (json_int_t)with_args[i].value_two, "op",
                                with_args[i].op));
        /* its flags are behind a pointer that a filter cannot read: with ENOSYS, libc takes clone() instead */
        (void)json_array_append_new(calls,
                json_pack("{s:[s], s:s, s:i}", "names", "clone3", "action", "SCMP_ACT_ERRNO", "errnoRet", ENOSYS));
        return json_pack("{s:s, s:i, s:O, s:O}", "defaultAction", "SCMP_ACT_ERRNO", "defaultErrnoRet", EPERM,
                "architectures", arch, "syscalls", calls);
}
