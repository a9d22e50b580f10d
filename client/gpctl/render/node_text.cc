#include "client/gpctl/render/node_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text/counted_noun.h"
#include "client/gpctl/render/run_words.h"
#include "client/gpctl/render/use_text.h"
#include "client/gpctl/terminal/number_text.h"
#include "client/gpctl/terminal/table.h"

namespace gp::gpctl {
namespace {

bool HasRuns(const v1::Node& node) {
  return std::any_of(node.slots().begin(), node.slots().end(),
                     [](const v1::Slot& slot) { return !slot.run_id().empty(); });
}

// "connected", "silent, …" or "lost, …". If the network drops all packets, the connection stays
// open for a while, so a connected node may be silent: after half of the lease, in which an agent
// sends several reports.
std::string Connection(const v1::Node& node, double lease, double now) {
  const double heard = now - Seconds(node.last_heard_at());
  const bool known = node.last_heard_at().seconds() > 0;  // heard since the coordinator started
  if (!node.connected() || node.lost()) {
    const std::string lost = node.has_cordon() && !node.connected() ? "not connected" : "lost";
    return known ? lost + ", heard " + AgoText(heard) : lost;
  }
  if (!known || lease <= 0 || heard <= lease / 2) return "connected";
  return fmt::format("silent, heard {}; lost after {}", AgoText(heard), DurationText(lease));
}

std::string NodeState(const v1::Node& node, double lease, double now) {
  const std::string connection = Connection(node, lease, now);
  if (!node.has_cordon()) return connection;
  return NodeStateName(node) + (connection == "connected" ? "" : ", " + connection);
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
  v1::ResourceUse use;
  bool is_used = false;
  for (const v1::Slot& slot : node.slots()) {
    if (IsGpu(slot)) continue;
    ++slots;
    busy += slot.run_id().empty() ? 0 : 1;
    is_used = is_used || slot.has_use();
    use.set_cores(use.cores() + slot.use().cores());
    use.set_memory_bytes(use.memory_bytes() + slot.use().memory_bytes());
  }
  if (slots == 0) return;
  table.AddRow({"", "cpu", CountedNoun(slots, "slot"), is_used ? CoresText(use) : "",
                is_used ? Bytes(use.memory_bytes()) : "", "", fmt::format("{} busy", busy)});
}

// The problems of a node, one per line: printed below the table, which would cut them.
std::string Problems(const v1::Node& node, double now) {
  std::string text;
  const auto add = [&](const std::string& what, const std::string& problem) {
    if (!problem.empty()) text += fmt::format("{}: {}\n", what, problem);
  };
  add(node.name() + " is not used", node.storage_problem());
  if (node.has_cordon()) text += CordonLine(node, now);
  add("GPUs of " + node.name(), node.gpu_problem());
  for (const v1::Slot& slot : node.slots())
    add(slot.slot_id() + " of " + node.name(), slot.problem());
  for (const v1::DataProblem& problem : node.data_problems()) {
    add(fmt::format("{} is avoided by {} ({})", node.name(), problem.run_name(), problem.run_id()),
        problem.reason());
  }
  return text;
}

}  // namespace

std::string NodeStateName(const v1::Node& node) {
  if (node.has_cordon() && !node.cordon().drain()) return "cordoned";
  if (node.has_cordon()) return node.busy_slots() > 0 ? "draining" : "drained";
  if (!node.connected() || node.lost()) return "lost";
  return HasRuns(node) ? "busy" : "ready";
}

std::string BusyText(const v1::Node& node) {
  return fmt::format("{} {} busy", CountedNoun(node.busy_slots(), "slot"),
                     node.busy_slots() == 1 ? "is" : "are");
}

std::string CordonLine(const v1::Node& node, double now) {
  if (!node.has_cordon())
    return fmt::format("{} is open: runs may be placed there.\n", node.name());
  const v1::Cordon& cordon = node.cordon();
  const std::string why = cordon.reason().empty() ? "" : ": " + cordon.reason();
  const std::string busy = node.busy_slots() > 0 ? "; " + BusyText(node) : "";
  return fmt::format("{} is {}{} ({}, {}){}\n", node.name(), NodeStateName(node), why,
                     cordon.actor(), AgoText(now - Seconds(cordon.since())), busy);
}

bool IsGpu(const v1::Slot& slot) { return slot.device() != "cpu"; }

int FreeSlots(const v1::Node& node, bool gpu, const std::string& run_id) {
  if (node.has_cordon()) return 0;
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

std::string NodeTable(const v1::NodesResponse& nodes, double now, const TextStyle& style) {
  const double lease = static_cast<double>(nodes.lease().seconds()) + nodes.lease().nanos() * 1e-9;
  Table table({{.title = "NODE"},
               {.title = "SLOT"},
               {.title = "DEVICE", .rank = 1},
               {.title = "CORES", .rank = 2},
               {.title = "MEMORY", .rank = 3},
               {.title = "DISK FREE", .rank = 4},
               {.title = "STATE"}});
  for (const v1::Node& node : nodes.nodes()) {
    table.AddRow({node.name(), "", NodeDevice(node), CoresText(node), MemoryText(node),
                  FreeDiskText(node), NodeState(node, lease, now)});
    AddCores(node, table);
    for (const v1::Slot& slot : node.slots()) {
      if (!IsGpu(slot)) continue;
      table.AddRow({"", slot.slot_id(), GpuText(slot), slot.has_use() ? CoresText(slot.use()) : "",
                    slot.has_use() ? Bytes(slot.use().memory_bytes()) : "", "", SlotState(slot)});
    }
  }
  std::string problems;
  for (const v1::Node& node : nodes.nodes()) problems += Problems(node, now);
  return table.Render(style.width, style.utf8) + (problems.empty() ? "" : "\n" + problems);
}

}  // namespace gp::gpctl
