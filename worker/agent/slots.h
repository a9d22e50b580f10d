// SlotTable: the places where this node can run a trainer: sets of CPU cores, and GPUs where there
// are any. Made once at start; a value, safe to read from any thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace gp::agent {

struct SlotInfo {
  std::string id;              // "cpu-0"
  std::string device = "cpu";  // "cpu" or a GPU's UUID
  std::vector<int> cores;
  uint64_t memory_bytes = 0;
};

class SlotTable {
 public:
  explicit SlotTable(std::vector<SlotInfo> slots) : slots_(std::move(slots)) {}

  const std::vector<SlotInfo>& all() const { return slots_; }
  const SlotInfo* Find(const std::string& id) const;
  // "cpu-0, cpu-1", for messages.
  std::string Names() const;

 private:
  std::vector<SlotInfo> slots_;
};

// `count` slots over `cores`: with enough cores they are cut into contiguous, nearly equal ranges;
// otherwise slot i gets core i mod cores. Memory is divided evenly. REQUIRES: count >= 1 and at
// least one core.
std::vector<SlotInfo> CutCpuSlots(int count, const std::vector<int>& cores, uint64_t memory_bytes);

// Physical memory of the machine.
uint64_t MemoryBytes();

}  // namespace gp::agent
