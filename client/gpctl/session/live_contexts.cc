#include "client/gpctl/session/live_contexts.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/text/shell_word.h"
#include "client/gpctl/service/local_service.h"
#include "client/gpctl/terminal/hint.h"

namespace gp::gpctl {
namespace {

constexpr size_t kNamedMax = 5;

}  // namespace

std::string ServiceWord(const Context& context) {
  if (context.state_dir.empty()) return context.server.starts_with("unix:") ? "socket" : "remote";
  const bool runs = ServiceRuns(ServiceDirectory(context.state_dir)).value_or(false);
  return runs ? "running" : "stopped";
}

std::vector<std::string> LiveContexts(const Console& console, const std::string& state_dir) {
  std::vector<std::string> live;
  const auto file = LoadContextFile(ContextFilePath(console));
  if (!file.ok()) return live;
  for (const auto& [name, context] : file->contexts) {
    const bool is_other = state_dir.empty() || context.state_dir != state_dir;
    if (is_other && ServiceWord(context) != "stopped") live.push_back(name);
  }
  return live;
}

std::string OtherServiceText(const Console& console, const std::string& state_dir) {
  std::vector<std::string> commands;
  for (const std::string& name : LiveContexts(console, state_dir)) {
    if (commands.size() == kNamedMax) break;
    commands.push_back(fmt::format("'{} context use {}'", ProgramWord(console), ShellWord(name)));
  }
  if (commands.empty()) return "";
  return fmt::format("; {}: {}",
                     commands.size() == 1 ? "another service is there" : "other services are there",
                     fmt::join(commands, ", "));
}

}  // namespace gp::gpctl
