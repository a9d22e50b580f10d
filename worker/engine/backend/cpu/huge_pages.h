// Large zeroed allocations on huge pages where the kernel grants them: a training step touches
// gigabytes in a fixed order, and 4 KiB pages cost it page faults and TLB misses. Thread-safe.
#pragma once

#include <cstdint>

namespace gp::engine {

// An owned mapping; unmaps itself.
class HugePages {
 public:
  // Throws std::bad_alloc when the system has no such memory.
  explicit HugePages(int64_t bytes);
  HugePages(HugePages&& other) noexcept;
  HugePages& operator=(HugePages&&) = delete;
  ~HugePages();

  void* data() const { return data_; }

 private:
  void* data_ = nullptr;
  int64_t bytes_ = 0;
};

}  // namespace gp::engine
