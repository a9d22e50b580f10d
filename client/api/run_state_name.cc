#include "client/api/run_state_name.h"

#include <algorithm>
#include <cctype>
#include <string_view>

namespace gp::client {
namespace {

constexpr std::string_view kPrefix = "RUN_STATE_";

}  // namespace

std::string StateName(v1::RunState state) {
  std::string name = v1::RunState_Name(state);
  if (!name.starts_with(kPrefix)) return "unknown";
  name.erase(0, kPrefix.size());
  std::transform(name.begin(), name.end(), name.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return name;
}

v1::RunState StateNamed(const std::string& name) {
  std::string full(kPrefix);
  for (unsigned char c : name) full += static_cast<char>(std::toupper(c));
  v1::RunState state = v1::RUN_STATE_UNSPECIFIED;
  return v1::RunState_Parse(full, &state) ? state : v1::RUN_STATE_UNSPECIFIED;
}

}  // namespace gp::client
