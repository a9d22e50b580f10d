#include "confinement/data_roots.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <sstream>

#include "base/file.h"

namespace gp::confinement {
namespace {

// At most this many entries of a directory are checked for links in advance. For later ones the
// kernel refuses links when they are opened.
constexpr int kEntriesMax = 1'000'000;

constexpr long kProcess = PROC_SUPER_MAGIC;
constexpr std::array kKernelFiles = {kProcess,
                                     long{SYSFS_MAGIC},
                                     long{DEBUGFS_MAGIC},
                                     long{TRACEFS_MAGIC},
                                     long{CGROUP_SUPER_MAGIC},
                                     long{CGROUP2_SUPER_MAGIC},
                                     long{SECURITYFS_MAGIC},
                                     long{DEVPTS_SUPER_MAGIC}};

// The path without links; nullopt if it does not exist.
StatusOr<std::optional<std::string>> WithoutLinks(const std::string& path) {
  const std::unique_ptr<char, decltype(&free)> found(realpath(path.c_str(), nullptr), &free);
  if (found != nullptr) return std::optional<std::string>(found.get());
  if (errno == ENOENT || errno == ENOTDIR) return std::optional<std::string>();
  return ErrnoStatus(errno, "resolve the symbolic links in", path);
}

bool IsBeneath(const std::string& path, const std::string& directory) {
  if (directory == "/") return path.starts_with('/');
  return path.starts_with(directory) &&
         (path.size() == directory.size() || path[directory.size()] == '/');
}

// The path relative to the directory; "." for the directory itself.
std::string Remainder(const std::string& path, const std::string& directory) {
  const size_t begin = directory == "/" ? 1 : directory.size() + 1;
  return path.size() <= begin ? "." : path.substr(begin);
}

// Opens `path`, which has no links, without ever leaving `directory`: name by name, never through a
// link. openat2 would do it in one call, but systemd's RestrictSUIDSGID= and the default filters of
// older container engines deny it.
FileDescriptor OpenBeneath(const std::string& directory, const std::string& path) {
  FileDescriptor at(open(directory.c_str(), O_PATH | O_CLOEXEC));
  std::istringstream names(Remainder(path, directory));
  for (std::string name; at.valid() && std::getline(names, name, '/');) {
    at = FileDescriptor(openat(at.get(), name.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
  }
  struct stat info {};
  if (!at.valid() || fstat(at.get(), &info) != 0 || S_ISLNK(info.st_mode)) return {};
  return at;
}

// Calls `visit` with each link below the directory, except in hidden directories, until an error.
// Skips unreadable directories: the program that reads them reports the error.
Status ForEachLink(const std::string& directory,
                   const std::function<Status(const std::string&)>& visit) {
  std::error_code error;
  std::filesystem::recursive_directory_iterator at(directory, error), end;
  for (int seen = 0; !error && at != end && seen < kEntriesMax; at.increment(error), ++seen) {
    std::error_code unreadable;
    if (at->is_symlink(unreadable)) {
      RETURN_IF_ERROR(visit(at->path().string()));
    } else if (at->path().filename().string().starts_with('.')) {
      at.disable_recursion_pending();
    }
  }
  return OkStatus();
}

Status LeadsOut(const std::string& path) {
  return InvalidArgument(
      "{} is reached through a symbolic link that points outside this node's data roots; put the "
      "file itself there",
      path);
}

bool Climbs(std::string_view path) {
  return path == ".." || path.starts_with("../") || path.ends_with("/..") ||
         path.find("/../") != std::string_view::npos;
}

}  // namespace

DataRoots::DataRoots(const std::vector<std::string>& directories,
                     const std::vector<std::string>& also) {
  Add(directories, true);
  Add(also, false);
}

void DataRoots::Add(const std::vector<std::string>& directories, bool listed) {
  for (const std::string& directory : directories) {
    const std::string name = AbsolutePath(directory, "/");
    const auto path = WithoutLinks(name);
    roots_.push_back({name, path.ok() ? path->value_or(name) : name, listed});
  }
}

Status DataRoots::Check(const std::string& path) const {
  if (!path.starts_with('/')) {
    return InvalidArgument("{} is a relative path; give its absolute path on this node", path);
  }
  const NamePattern name = ReadNamePattern(path);
  return name.pattern.empty() ? CheckFile(path) : CheckPattern(path, name);
}

// Matching a pattern reads its directories, so they must lie below a root before anything is read,
// and no part may contain "..".
Status DataRoots::CheckPattern(const std::string& path, const NamePattern& name) const {
  if (Climbs(path)) {
    return InvalidArgument("{} is a pattern that contains '..'; write the path without it", path);
  }
  const size_t slash = name.folder.find_last_not_of('/');
  const std::string folder = slash == std::string::npos ? "/" : name.folder.substr(0, slash + 1);
  RETURN_IF_ERROR(WithContext(CheckFile(folder), path));
  const auto matches = MatchingPaths(name);
  if (!matches.ok()) return OkStatus();  // the trainer reports what it cannot read
  for (const std::string& match : *matches) RETURN_IF_ERROR(WithContext(CheckFile(match), path));
  return OkStatus();
}

Status DataRoots::CheckFile(const std::string& path) const {
  const std::string folded = AbsolutePath(path, "/");
  // Checked before any file is touched: a run must not find out what exists elsewhere.
  if (!Names(folded)) return Outside(path);
  ASSIGN_OR_RETURN(const std::optional<std::string> target, WithoutLinks(path));
  if (!target.has_value()) return OkStatus();
  bool beneath = false;
  for (const Root& root : roots_) {
    if (!IsBeneath(*target, root.path)) continue;
    beneath = true;
    const FileDescriptor file = OpenBeneath(root.path, *target);
    if (file.valid()) return CheckKind(file.get(), path);
  }
  if (!beneath) return LeadsOut(path);
  return InvalidArgument("{} was changed while it was checked; submit the run again", path);
}

Status DataRoots::CheckKind(int file, const std::string& path) const {
  struct stat info {};
  struct statfs system {};
  if (fstat(file, &info) != 0 || fstatfs(file, &system) != 0) {
    return ErrnoStatus(errno, "look at", path);
  }
  if (!S_ISREG(info.st_mode) && !S_ISDIR(info.st_mode)) {
    return InvalidArgument("{} is neither a regular file nor a directory; give one of these", path);
  }
  const long type = static_cast<long>(system.f_type);
  if (std::find(kKernelFiles.begin(), kKernelFiles.end(), type) != kKernelFiles.end()) {
    return InvalidArgument(
        "{} is in a file system of the kernel, such as /proc, which runs may not read; give a data "
        "file",
        path);
  }
  return S_ISDIR(info.st_mode) && !HasEverything() ? CheckLinksBelow(path) : OkStatus();
}

Status DataRoots::CheckLinksBelow(const std::string& directory) const {
  return ForEachLink(directory, [this](const std::string& link) {
    const auto target = WithoutLinks(link);
    if (!target.ok() || !target->has_value()) return OkStatus();
    const bool inside = std::any_of(roots_.begin(), roots_.end(), [&](const Root& root) {
      return IsBeneath(**target, root.path);
    });
    return inside ? OkStatus() : LeadsOut(link);
  });
}

bool DataRoots::HasEverything() const {
  return std::any_of(roots_.begin(), roots_.end(),
                     [](const Root& root) { return root.path == "/"; });
}

bool DataRoots::Names(const std::string& path) const {
  return std::any_of(roots_.begin(), roots_.end(), [&](const Root& root) {
    return IsBeneath(path, root.name) || IsBeneath(path, root.path);
  });
}

Status DataRoots::Outside(const std::string& path) const {
  std::string names;
  for (const Root& root : roots_) {
    if (root.listed) names += (names.empty() ? "" : ", ") + root.name;
  }
  if (names.empty()) names = "this run may not read any files";
  return PermissionDenied(
      "{} is not below any data root of this node ({}); move it below one, or add its directory to "
      "data.roots of gp-worker",
      path, names);
}

Status CheckHasNoLinks(const std::string& root, const std::string& path) {
  const auto refuse = [&](const std::string& link) {
    return InvalidArgument(
        "{} is a symbolic link, or below one; a run's directory must not contain links: remove it, "
        "or submit the run again",
        link);
  };
  const std::string name = AbsolutePath(root, "/");
  const std::string folded = AbsolutePath(path, "/");
  if (!IsBeneath(folded, name)) return InvalidArgument("{} is not below {}", path, root);
  ASSIGN_OR_RETURN(const auto target, WithoutLinks(folded));
  if (!target.has_value()) return OkStatus();
  ASSIGN_OR_RETURN(const auto root_path, WithoutLinks(name));
  if (JoinPath(root_path.value_or(name), Remainder(folded, name)) != *target) return refuse(path);
  return ForEachLink(folded, refuse);
}

}  // namespace gp::confinement
