#include "security/node_name.h"

#include <algorithm>
#include <cctype>
#include <string_view>

namespace gp::security {
namespace {

constexpr std::string_view kNodePrefix = "gp:node:";
constexpr size_t kNodeIdBytesMax = 64;

}  // namespace

std::string NodeUri(const std::string& node_id) { return std::string(kNodePrefix) + node_id; }

bool IsNodeId(const std::string& text) {
  return !text.empty() && text.size() <= kNodeIdBytesMax &&
         std::all_of(text.begin(), text.end(),
                     [](unsigned char c) { return std::isalnum(c) != 0 || c == '-' || c == '_'; });
}

std::string NodeOf(const Certificate& certificate) {
  const auto uris = certificate.Uris();
  if (uris.size() != 1 || !uris.front().starts_with(kNodePrefix)) return "";
  const std::string node = uris.front().substr(kNodePrefix.size());
  return IsNodeId(node) ? node : "";
}

}  // namespace gp::security
