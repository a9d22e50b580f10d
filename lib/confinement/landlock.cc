#include <fcntl.h>
#include <linux/landlock.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>

#include "base/file.h"
#include "confinement/file_rules.h"

namespace gp::confinement {
namespace {

// Constants missing in Debian 12's header, which has version 2.
constexpr uint64_t kTruncate = 1ULL << 14;     // since version 3
constexpr uint64_t kAskDevice = 1ULL << 15;    // ioctl, since version 5
constexpr uint64_t kScopeSignals = 1ULL << 1;  // since version 6

// The kernel accepts a shorter struct from an older program, and a longer one whose end is 0.
struct RulesetAttributes {
  uint64_t handled_files = 0;
  uint64_t handled_network = 0;  // since version 4
  uint64_t scoped = 0;           // since version 6
};

constexpr uint64_t kReadFile = LANDLOCK_ACCESS_FS_READ_FILE;
constexpr uint64_t kRead = kReadFile | LANDLOCK_ACCESS_FS_READ_DIR;
constexpr uint64_t kWriteFile = LANDLOCK_ACCESS_FS_WRITE_FILE | kTruncate;
constexpr uint64_t kChangeDirectory = LANDLOCK_ACCESS_FS_REMOVE_DIR |
                                      LANDLOCK_ACCESS_FS_REMOVE_FILE | LANDLOCK_ACCESS_FS_MAKE_DIR |
                                      LANDLOCK_ACCESS_FS_MAKE_REG | LANDLOCK_ACCESS_FS_REFER;
// The rights that apply to a file. The kernel refuses a rule that gives a file any other right.
constexpr uint64_t kOfFiles = kReadFile | kWriteFile | LANDLOCK_ACCESS_FS_EXECUTE | kAskDevice;

// Every right that version `version` can take away.
uint64_t HandledRights(int version) {
  uint64_t rights = (LANDLOCK_ACCESS_FS_MAKE_SYM << 1) - 1;
  if (version >= 2) rights |= LANDLOCK_ACCESS_FS_REFER;
  if (version >= 3) rights |= kTruncate;
  if (version >= 5) rights |= kAskDevice;
  return rights;
}

// The size of the attributes in `version`.
size_t AttributesSize(int version) {
  if (version < 4) return sizeof(uint64_t);
  return (version < 6 ? 2 : 3) * sizeof(uint64_t);
}

StatusOr<FileDescriptor> MakeRuleset(int version) {
  RulesetAttributes attributes;
  attributes.handled_files = HandledRights(version);
  if (version >= 6) attributes.scoped = kScopeSignals;
  FileDescriptor ruleset(static_cast<int>(
      syscall(SYS_landlock_create_ruleset, &attributes, AttributesSize(version), 0)));
  if (!ruleset.valid()) return ErrnoStatus(errno, "make", "a Landlock ruleset");
  return ruleset;
}

Status Allow(const FileDescriptor& ruleset, const std::string& path, uint64_t rights) {
  FileDescriptor opened(open(path.c_str(), O_PATH | O_CLOEXEC));
  if (!opened.valid()) {
    if (errno == ENOENT || errno == ENOTDIR || errno == EACCES) return OkStatus();
    return ErrnoStatus(errno, "open", path);
  }
  struct stat info {};
  if (fstat(opened.get(), &info) != 0) return ErrnoStatus(errno, "look at", path);
  landlock_path_beneath_attr rule{};
  rule.allowed_access = S_ISDIR(info.st_mode) ? rights : rights & kOfFiles;
  rule.parent_fd = opened.get();
  if (syscall(SYS_landlock_add_rule, ruleset.get(), LANDLOCK_RULE_PATH_BENEATH, &rule, 0) == 0) {
    // Keeps the descriptor open: a rule belongs to an inode, and procfs makes a new inode for a
    // path once no process has it open.
    if (path.starts_with("/proc/self")) static_cast<void>(opened.Release());
    return OkStatus();
  }
  return ErrnoStatus(errno, "allow", path);
}

Status AllowAll(const FileDescriptor& ruleset, const std::vector<std::string>& paths,
                uint64_t rights) {
  for (const std::string& path : paths) RETURN_IF_ERROR(Allow(ruleset, path, rights));
  return OkStatus();
}

}  // namespace

int LandlockVersion() {
  const long version =
      syscall(SYS_landlock_create_ruleset, nullptr, 0, LANDLOCK_CREATE_RULESET_VERSION);
  return version > 0 ? static_cast<int>(version) : 0;
}

Status RestrictFiles(const FileRules& rules) {
  const int version = LandlockVersion();
  if (version == 0) return Unimplemented("this kernel has no Landlock");
  const uint64_t handled = HandledRights(version);
  ASSIGN_OR_RETURN(const FileDescriptor ruleset, MakeRuleset(version));
  RETURN_IF_ERROR(AllowAll(ruleset, rules.readable, kRead & handled));
  RETURN_IF_ERROR(
      AllowAll(ruleset, rules.writable, (kRead | kWriteFile | kChangeDirectory) & handled));
  RETURN_IF_ERROR(AllowAll(ruleset, rules.overwritable, (kRead | kWriteFile) & handled));
  RETURN_IF_ERROR(AllowAll(ruleset, rules.devices, (kRead | kWriteFile | kAskDevice) & handled));
  if (syscall(SYS_landlock_restrict_self, ruleset.get(), 0) == 0) return OkStatus();
  return ErrnoStatus(errno, "restrict", "this process to its files");
}

}  // namespace gp::confinement
