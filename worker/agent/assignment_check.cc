#include "worker/agent/assignment_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "base/file.h"
#include "base/text/excerpt.h"

namespace gp::agent {
namespace {

constexpr int kRanksOfARunMax = 65536;
constexpr size_t kAssignedNameBytesMax = 256;  // more does not fit into a greeting between ranks
constexpr size_t kAssignedPathBytesMax = 4096;
constexpr size_t kResolvedBytesMax = 4 << 20;

bool IsName(std::string_view text) {
  const auto plain = [](const char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_';
  };
  return !text.empty() && text.size() <= kAssignedNameBytesMax &&
         std::all_of(text.begin(), text.end(), plain);
}

bool IsAddress(std::string_view text) {
  return !text.empty() && text.size() <= kAssignedNameBytesMax &&
         std::all_of(text.begin(), text.end(), [](const char c) { return c > ' ' && c <= '~'; });
}

// Whether the text of `path` is below `root`. False for any path with ".", ".." or a double slash.
bool IsBeneath(const std::string& path, const std::string& root) {
  std::string base = AbsolutePath(root, "/");
  if (base.back() != '/') base += '/';
  return path.size() <= kAssignedPathBytesMax && path.find('\0') == std::string::npos &&
         AbsolutePath(path, "/") == path && path.size() > base.size() && path.back() != '/' &&
         path.starts_with(base);
}

std::string PathRefusal(const char* what, const std::string& path, const std::string& root) {
  if (root.empty() || IsBeneath(path, root)) return "";
  return fmt::format("{} {} is not below this node's storage root {}", what, Excerpt(path), root);
}

}  // namespace

std::string AssignmentRefusal(const v1::Assignment& assignment, const std::string& storage_root) {
  if (!IsName(assignment.run_id())) {
    return fmt::format("'{}' is not a valid run id", Excerpt(assignment.run_id()));
  }
  const int world_size = assignment.world_size();
  const int rank = assignment.rank();
  if (world_size < 1 || world_size > kRanksOfARunMax || rank < 0 || rank >= world_size) {
    return fmt::format("rank {} of {} does not exist", rank, world_size);
  }
  if (assignment.resolved().size() > kResolvedBytesMax) {
    return fmt::format("its run file has {} bytes; at most {} are allowed",
                       assignment.resolved().size(), kResolvedBytesMax);
  }
  std::string refusal =
      PathRefusal("the run's directory", assignment.run_directory(), storage_root);
  if (refusal.empty() && assignment.has_resume()) {
    refusal = PathRefusal("the checkpoint", assignment.resume().directory(), storage_root);
  }
  return refusal;
}

std::string MembershipRefusal(const v1::Assignment& assignment) {
  const v1::Membership& membership = assignment.membership();
  if (membership.addresses_size() != assignment.world_size()) {
    return fmt::format("its group has {} addresses for {} ranks", membership.addresses_size(),
                       assignment.world_size());
  }
  for (const std::string& address : membership.addresses()) {
    if (!IsAddress(address))
      return fmt::format("'{}' is not a valid address of a rank", Excerpt(address));
  }
  return membership.secret().size() <= kAssignedNameBytesMax
             ? ""
             : "the secret of its group is too long";
}

}  // namespace gp::agent
