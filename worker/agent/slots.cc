#include "worker/agent/slots.h"

#include <fmt/format.h>

#include <utility>

#include "base/check.h"
#include "base/machine/available_memory.h"

namespace gp::agent {
namespace {

std::vector<int> CoresOf(int slot, int count, const std::vector<int>& cores) {
  const size_t size = cores.size();
  const size_t index = static_cast<size_t>(slot);
  if (static_cast<size_t>(count) > size) return {cores[index % size]};
  const size_t begin = index * size / static_cast<size_t>(count);
  const size_t end = (index + 1) * size / static_cast<size_t>(count);
  return {cores.begin() + static_cast<long>(begin), cores.begin() + static_cast<long>(end)};
}

}  // namespace

const SlotInfo* SlotTable::Find(const std::string& id) const {
  for (const SlotInfo& slot : slots_) {
    if (slot.id == id) return &slot;
  }
  return nullptr;
}

std::string SlotTable::Names() const {
  std::string names;
  for (const SlotInfo& slot : slots_) names += (names.empty() ? "" : ", ") + slot.id;
  return names;
}

SlotCounts SlotTable::Count(const std::set<std::string>& busy) const {
  SlotCounts counts;
  for (const SlotInfo& slot : slots_) {
    if (busy.contains(slot.id)) {
      ++counts.busy;
    } else {
      ++(slot.health.problem.empty() ? counts.free : counts.unusable);
    }
  }
  return counts;
}

bool SlotTable::SetHealth(const SlotHealths& healths) {
  bool changed = false;
  for (SlotInfo& slot : slots_) {
    const auto found = healths.find(slot.id);
    SlotHealth health = found == healths.end() ? SlotHealth{} : found->second;
    changed = changed || health != slot.health;
    slot.health = std::move(health);
  }
  return changed;
}

std::vector<SlotInfo> MakeGpuSlots(const std::vector<Gpu>& gpus, const std::vector<int>& cores) {
  GP_CHECK(!cores.empty(), "GPU slots without a core");
  std::map<int, int> devices;  // by card
  for (const Gpu& gpu : gpus) ++devices[gpu.index];
  std::map<int, int> named;
  std::vector<SlotInfo> slots;
  for (const Gpu& gpu : gpus) {
    const int part = named[gpu.index]++;
    const bool whole = devices[gpu.index] == 1;
    slots.push_back(
        {.id = whole ? fmt::format("gpu-{}", gpu.index) : fmt::format("gpu-{}.{}", gpu.index, part),
         .device = gpu.uuid,
         .cores = CoresOf(static_cast<int>(slots.size()), static_cast<int>(gpus.size()), cores),
         .memory_bytes = gpu.memory_bytes,
         .device_name = gpu.name,
         .compute_capability = gpu.compute_capability});
  }
  return slots;
}

std::vector<SlotInfo> CutCpuSlots(int count, const std::vector<int>& cores, uint64_t memory_bytes) {
  GP_CHECK(count >= 1 && !cores.empty(), "{} slots over {} cores", count, cores.size());
  std::vector<SlotInfo> slots;
  for (int i = 0; i < count; ++i) {
    slots.push_back({.id = fmt::format("cpu-{}", i),
                     .cores = CoresOf(i, count, cores),
                     .memory_bytes = memory_bytes / static_cast<uint64_t>(count)});
  }
  return slots;
}

NodeCores ChooseCores(std::vector<int> allowed, int count) {
  const bool pinned = std::cmp_greater_equal(count, allowed.size());
  if (!pinned) allowed.resize(static_cast<size_t>(count));
  return {std::move(allowed), pinned};
}

uint64_t MemoryBytes() { return static_cast<uint64_t>(ReadMemoryLimit().bytes); }

}  // namespace gp::agent
