#include "worker/agent/node_identity.h"

#include <algorithm>

#include "base/file.h"
#include "base/random_id.h"
#include "formats/directory_format.h"

namespace gp::agent {
namespace {

constexpr size_t kIdLength = 10;
constexpr size_t kFileBytesMax = 64;

bool LooksLikeId(const std::string& text) {
  return text.size() == kIdLength && std::all_of(text.begin(), text.end(), [](unsigned char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z');
         });
}

}  // namespace

Status MigrateAgentState(const std::string& state_dir) {
  return formats::MigrateDirectory(state_dir,
                                   {.name = "gp-agent", .what = "agent's state directory"});
}

StatusOr<std::string> LoadNodeId(const std::string& state_dir) {
  const std::string path = JoinPath(state_dir, "node_id");
  auto content = ReadFile(path, kFileBytesMax);
  if (content.status().code() == StatusCode::kNotFound) {
    const std::string id = RandomId(kIdLength);
    RETURN_IF_ERROR(WriteFileAtomically(path, id + "\n", 0600));
    return id;
  }
  if (!content.ok()) return content.status();
  std::string id = std::move(content).value();
  while (!id.empty() && id.back() == '\n') id.pop_back();
  if (!LooksLikeId(id)) {
    return DataLoss(
        "{} does not hold a node id ({} letters and digits); remove it to join as a new "
        "node",
        path, kIdLength);
  }
  return id;
}

}  // namespace gp::agent
