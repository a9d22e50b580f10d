// SlotTable: the places where this node can run a trainer: sets of CPU cores, and any GPUs. Made
// once at start; only their health changes. A value, owned by the agent's loop.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "worker/agent/gpu/gpu_inventory.h"

namespace gp::agent {

// The health of a slot. It may change: a GPU may leave the bus, a program may be installed.
struct SlotHealth {
  bool lost = false;    // the process that runs there is lost
  std::string problem;  // why nothing new may start there; empty when it may

  bool operator==(const SlotHealth&) const = default;
};
using SlotHealths =
    std::map<std::string, SlotHealth>;  // by slot; a slot without an entry is healthy

struct SlotInfo {
  std::string id;              // "cpu-0", "gpu-0"
  std::string device = "cpu";  // "cpu" or a GPU's UUID
  std::vector<int> cores;
  uint64_t memory_bytes = 0;            // a share of MemoryBytes(), or the GPU's memory
  std::string device_name = {};         // this and the next: for a GPU
  std::string compute_capability = {};  // "9.0"
  SlotHealth health = {};

  bool is_gpu() const { return device != "cpu"; }
};

// The sum is the number of slots.
struct SlotCounts {
  size_t free = 0;
  size_t busy = 0;      // a trainer runs there
  size_t unusable = 0;  // not healthy, and no trainer runs there
};

class SlotTable {
 public:
  explicit SlotTable(std::vector<SlotInfo> slots) : slots_(std::move(slots)) {}

  const std::vector<SlotInfo>& all() const { return slots_; }
  const SlotInfo* Find(const std::string& id) const;
  // Sets every slot's health. True when something changed.
  bool SetHealth(const SlotHealths& healths);
  // `busy`: the slots where a trainer runs.
  SlotCounts Count(const std::set<std::string>& busy) const;
  // "cpu-0, cpu-1", for messages.
  std::string Names() const;

 private:
  std::vector<SlotInfo> slots_;
};

// `count` slots over `cores`. With at least one core per slot, each slot gets a contiguous range of
// nearly equal size; otherwise slot i gets core i modulo the number of cores. Memory is divided
// evenly. REQUIRES: count >= 1 and at least one core.
std::vector<SlotInfo> CutCpuSlots(int count, const std::vector<int>& cores, uint64_t memory_bytes);

// One slot for each GPU, named by its number: "gpu-0"; "gpu-0.1" for the second of several MIG
// devices of card 0. The cores are divided among the GPUs as among CPU slots; both kinds of slots
// use the same cores. REQUIRES: at least one core.
std::vector<SlotInfo> MakeGpuSlots(const std::vector<Gpu>& gpus, const std::vector<int>& cores);

// The cores of this node's slots.
struct NodeCores {
  std::vector<int> cores;
  // False if a control group's limit allows fewer busy cores than the process may run on, as in
  // most pods. Then it is unknown which of them this node may use, so trainers run on any.
  bool pinned = true;
};
// `allowed`: the cores that this process may run on, of which `count` may be busy at once.
NodeCores ChooseCores(std::vector<int> allowed, int count);

// The memory available to this node's trainers: that of the machine, or the limit of a control
// group if that is lower.
uint64_t MemoryBytes();

}  // namespace gp::agent
