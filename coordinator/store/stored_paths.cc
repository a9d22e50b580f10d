#include "coordinator/store/stored_paths.h"

#include "base/file.h"

namespace gp::coordinator {
namespace {

// The path of the storage that the event names; null when it names none.
std::string* PathIn(Event& event) {
  if (auto* submitted = std::get_if<RunSubmitted>(&event.body)) {
    return &submitted->submission.run_directory;
  }
  if (auto* sealed = std::get_if<CheckpointSealed>(&event.body)) {
    return &sealed->checkpoint.directory;
  }
  auto* retired = std::get_if<CheckpointRetired>(&event.body);
  return retired == nullptr ? nullptr : &retired->directory;
}

}  // namespace

Event WithRelativePath(Event event, const std::string& root) {
  std::string* path = PathIn(event);
  if (path != nullptr && !root.empty() && path->starts_with(root + "/")) {
    path->erase(0, root.size() + 1);
  }
  return event;
}

Event WithAbsolutePath(Event event, const std::string& root) {
  std::string* path = PathIn(event);
  if (path != nullptr && !root.empty() && !path->empty() && !path->starts_with('/')) {
    *path = JoinPath(root, *path);
  }
  return event;
}

std::string CutRoot(Event& event) {
  std::string* path = PathIn(event);
  if (path == nullptr) return "";
  const std::string of_run = "/runs/" + event.run.value();
  const size_t at = (*path + "/").find(of_run + "/");
  if (at == std::string::npos) return "";
  std::string root = path->substr(0, at);
  path->erase(0, at + 1);
  return root;
}

}  // namespace gp::coordinator
