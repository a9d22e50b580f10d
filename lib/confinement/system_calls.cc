#include "confinement/system_calls.h"

#include <sched.h>
#include <seccomp.h>
#include <sys/prctl.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <memory>
#include <string>

namespace gp::confinement {
namespace {

constexpr std::array kDenied = {
    // Other processes, and starting a program.
    "ptrace", "process_vm_readv", "process_vm_writev", "process_madvise", "pidfd_getfd", "kcmp",
    "execve", "execveat",
    // The tree of files and its names.
    "mount", "umount", "umount2", "pivot_root", "chroot", "move_mount", "open_tree", "fsopen",
    "fsconfig", "fsmount", "fspick", "mount_setattr", "open_by_handle_at", "name_to_handle_at",
    "swapon", "swapoff", "quotactl", "quotactl_fd", "acct", "mknod", "mknodat", "fanotify_init",
    // Namespaces.
    "setns", "unshare",
    // The kernel: its code, keys, counters and queues.
    "bpf", "keyctl", "add_key", "request_key", "kexec_load", "kexec_file_load", "init_module",
    "finit_module", "delete_module", "perf_event_open", "userfaultfd", "io_uring_setup",
    "io_uring_enter", "io_uring_register", "lookup_dcookie", "syslog", "nfsservctl", "_sysctl",
    "uselib", "modify_ldt", "vm86", "vm86old", "iopl", "ioperm",
    // The machine: its name, its clock, its power.
    "reboot", "sethostname", "setdomainname", "settimeofday", "clock_settime", "clock_adjtime",
    "adjtimex", "stime", "vhangup"};

// clone with one of these flags makes a namespace.
constexpr uint64_t kNamespaces = CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC |
                                 CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET;

using Filter = std::unique_ptr<void, decltype(&seccomp_release)>;

Status Check(int result, const std::string& operation) {
  return result == 0 ? OkStatus() : ErrnoStatus(-result, operation, "the system call filter");
}

Status Deny(const Filter& filter, const char* name) {
  const int number = seccomp_syscall_resolve_name(name);
  if (number == __NR_SCMP_ERROR) return OkStatus();  // this libseccomp does not know the call yet
  return Check(seccomp_rule_add(filter.get(), SCMP_ACT_ERRNO(EPERM), number, 0),
               std::string("deny ") + name + " in");
}

// One comparison per flag, because a rule can compare an argument only once. The flags of clone3
// are in memory, which a filter cannot read; when clone3 reports ENOSYS, the C library uses clone.
Status DenyNamespaces(const Filter& filter) {
  for (uint64_t flag = 1; flag <= kNamespaces; flag <<= 1) {
    if ((kNamespaces & flag) == 0) continue;
    RETURN_IF_ERROR(Check(seccomp_rule_add(filter.get(), SCMP_ACT_ERRNO(EPERM), SCMP_SYS(clone), 1,
                                           SCMP_A0(SCMP_CMP_MASKED_EQ, flag, flag)),
                          "deny namespaces in"));
  }
  return Check(seccomp_rule_add(filter.get(), SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0),
               "deny clone3 in");
}

// Applies the filter to all threads. Switches off the mitigations against speculation that older
// kernels enable with a filter: they cost computing time, and this process runs no foreign code.
Status SetAttributes(const Filter& filter) {
  RETURN_IF_ERROR(Check(seccomp_attr_set(filter.get(), SCMP_FLTATR_CTL_TSYNC, 1), "prepare"));
  RETURN_IF_ERROR(Check(seccomp_attr_set(filter.get(), SCMP_FLTATR_CTL_SSB, 1), "prepare"));
  RETURN_IF_ERROR(Check(
      seccomp_attr_set(filter.get(), SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_ERRNO(EPERM)), "prepare"));
  // A binary tree instead of a list needs fewer comparisons for each call.
  return Check(seccomp_attr_set(filter.get(), SCMP_FLTATR_CTL_OPTIMIZE, 2), "prepare");
}

}  // namespace

bool HasSystemCallFilters() {
  return prctl(PR_GET_SECCOMP, 0, 0, 0, 0) >= 0 && seccomp_api_get() >= 2;
}

Status DenySystemCalls() {
  if (!HasSystemCallFilters()) return Unimplemented("this kernel has no seccomp filters");
  const Filter filter(seccomp_init(SCMP_ACT_ALLOW), &seccomp_release);
  if (filter == nullptr) return Internal("libseccomp could not create a system call filter");
  RETURN_IF_ERROR(SetAttributes(filter));
  for (const char* name : kDenied) RETURN_IF_ERROR(Deny(filter, name));
  RETURN_IF_ERROR(DenyNamespaces(filter));
  return Check(seccomp_load(filter.get()), "load");
}

}  // namespace gp::confinement
