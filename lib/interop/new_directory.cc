#include "interop/new_directory.h"

#include <sys/stat.h>

#include <cerrno>
#include <utility>

#include "base/durable_rename.h"
#include "base/file.h"
#include "base/log.h"
#include "base/random_id.h"

namespace gp::interop {
namespace {

Status CheckFree(const std::string& path) {
  struct stat info {};
  if (lstat(path.c_str(), &info) != 0) {
    return errno == ENOENT ? OkStatus() : ErrnoStatus(errno, "stat", path);
  }
  if (S_ISDIR(info.st_mode)) {
    ASSIGN_OR_RETURN(const auto names, ListDirectory(path));
    if (names.empty()) return OkStatus();
  }
  return AlreadyExists("{} exists already; name another directory, or remove it first", path);
}

std::string WithoutSlashes(std::string path) {
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  return path;
}

}  // namespace

StatusOr<NewDirectory> NewDirectory::Begin(const std::string& path) {
  const std::string target = WithoutSlashes(path);
  RETURN_IF_ERROR(CheckFree(target));
  RETURN_IF_ERROR(MakeDirectories(DirectoryOf(target)));
  const std::string draft = target + ".tmp-" + RandomId(8);
  if (mkdir(draft.c_str(), 0755) != 0) return ErrnoStatus(errno, "create directory", draft);
  return NewDirectory(target, draft);
}

NewDirectory::NewDirectory(NewDirectory&& other) noexcept
    : path_(std::move(other.path_)), draft_(std::exchange(other.draft_, "")) {}

NewDirectory::~NewDirectory() {
  if (draft_.empty()) return;
  const Status removed = RemoveTree(draft_);
  if (!removed.ok())
    LogWarning("could not remove a partial directory", {{"reason", Message(removed)}});
}

std::string NewDirectory::File(const std::string& name) const { return JoinPath(draft_, name); }

Status NewDirectory::Write(const std::string& name, std::string_view text) const {
  return WriteFileAtomically(File(name), text);
}

Status NewDirectory::Commit() {
  RETURN_IF_ERROR(SyncDirectory(draft_));
  RETURN_IF_ERROR(RenameDurably(draft_, path_));
  draft_.clear();
  return OkStatus();
}

}  // namespace gp::interop
