#include "client/gpctl/render/node_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "client/gpctl/terminal/number_text.h"
#include "client/gpctl/terminal/table.h"

namespace gp::gpctl {
namespace {

std::string Plural(int64_t count, const char* noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

// A network that swallows everything leaves a connection open for a while: a node that is connected
// and was silent for this long says so.
constexpr double kSilenceSeconds = 4;

std::string NodeState(const v1::Node& node, double now) {
  const double heard = now - static_cast<double>(node.last_heard_at().seconds());
  const bool silent = node.has_last_heard_at() && heard >= kSilenceSeconds;
  if (node.connected() && !silent) return "connected";
  return (node.connected() ? "silent, heard " : "lost, heard ") + AgoText(heard);
}

std::string NodeDevice(const v1::Node& node) {
  return node.gpu_driver().empty() ? "gp " + node.version()
                                   : "gp " + node.version() + ", driver " + node.gpu_driver();
}

std::string SlotState(const v1::Slot& slot) {
  if (!slot.run_id().empty()) return "run " + slot.run_id();
  return slot.problem().empty() ? "free" : "not used";
}

void AddCores(const v1::Node& node, Table& table) {
  int64_t slots = 0;
  int64_t busy = 0;
  for (const v1::Slot& slot : node.slots()) {
    if (IsGpu(slot)) continue;
    ++slots;
    busy += slot.run_id().empty() ? 0 : 1;
  }
  if (slots == 0) return;
  table.AddRow({"", "cpu", Plural(slots, "slot"), fmt::format("{} busy", busy)});
}

// The problems of a node in full, for below the table, which would cut them.
std::string Problems(const v1::Node& node) {
  std::string text;
  const auto add = [&](const std::string& what, const std::string& problem) {
    if (!problem.empty()) text += fmt::format("{}: {}\n", what, problem);
  };
  add(node.name() + " is not used", node.storage_problem());
  add("GPUs of " + node.name(), node.gpu_problem());
  for (const v1::Slot& slot : node.slots())
    add(slot.slot_id() + " of " + node.name(), slot.problem());
  return text;
}

}  // namespace

bool IsGpu(const v1::Slot& slot) { return slot.device() != "cpu"; }

int FreeSlots(const v1::Node& node, bool gpu, const std::string& run_id) {
  const auto is_free = [&](const v1::Slot& slot) {
    return IsGpu(slot) == gpu && slot.problem().empty() &&
           (slot.run_id().empty() || slot.run_id() == run_id);
  };
  return static_cast<int>(std::count_if(node.slots().begin(), node.slots().end(), is_free));
}

std::string GpuText(const v1::Slot& slot) {
  std::string text = slot.device_name().empty() ? slot.device() : slot.device_name();
  if (slot.memory_bytes() > 0) text += ", " + Bytes(slot.memory_bytes());
  if (slot.compute_capability().empty()) return text;
  std::string architecture = slot.compute_capability();
  std::erase(architecture, '.');
  return text + ", sm_" + architecture;
}

std::string NodeTable(const std::vector<v1::Node>& nodes, double now, const TextStyle& style) {
  Table table({{"NODE"}, {"SLOT"}, {"DEVICE"}, {"STATE"}});
  for (const v1::Node& node : nodes) {
    table.AddRow({node.name(), "", NodeDevice(node), NodeState(node, now)});
    AddCores(node, table);
    for (const v1::Slot& slot : node.slots()) {
      if (IsGpu(slot)) table.AddRow({"", slot.slot_id(), GpuText(slot), SlotState(slot)});
    }
  }
  std::string problems;
  for (const v1::Node& node : nodes) problems += Problems(node);
  return table.Render(style.width, style.utf8) + (problems.empty() ? "" : "\n" + problems);
}

}  // namespace gp::gpctl
