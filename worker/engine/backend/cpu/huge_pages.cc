#include "worker/engine/backend/cpu/huge_pages.h"

#include <sys/mman.h>

#include <new>
#include <utility>

namespace gp::engine {
namespace {

constexpr int64_t kHugePageBytes = int64_t{2} << 20;

int64_t RoundUp(int64_t bytes) {
  const int64_t unit = bytes >= kHugePageBytes ? kHugePageBytes : 4096;
  return (bytes + unit - 1) / unit * unit;
}

}  // namespace

HugePages::HugePages(int64_t bytes) : bytes_(RoundUp(bytes)) {
  void* mapped = mmap(nullptr, static_cast<size_t>(bytes_), PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) throw std::bad_alloc();
  data_ = mapped;
  // This is only advice: if transparent huge pages are off, the memory has ordinary pages.
  madvise(data_, static_cast<size_t>(bytes_), MADV_HUGEPAGE);
}

HugePages::HugePages(HugePages&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), bytes_(other.bytes_) {}

HugePages::~HugePages() {
  if (data_ != nullptr) munmap(data_, static_cast<size_t>(bytes_));
}

}  // namespace gp::engine
