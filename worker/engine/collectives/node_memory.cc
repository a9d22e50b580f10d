#include "worker/engine/collectives/node_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

namespace gp::engine {
namespace {

// The size of a huge page, which the kernel maps with one page table entry.
constexpr uint64_t kHugePage = uint64_t{2} << 20;
constexpr uint64_t kPage = 4096;

uint64_t AlignUp(uint64_t size, uint64_t alignment) {
  return (size + alignment - 1) / alignment * alignment;
}

// Whether `size` bytes hold `count` floats from `offset`. A peer chooses these numbers, so the
// check forms no product or sum of them that could overflow.
bool Holds(uint64_t size, uint64_t offset, size_t count) {
  return offset % sizeof(float) == 0 && offset <= size && count <= (size - offset) / sizeof(float);
}

[[noreturn]] void Refuse(const std::string& what) {
  throw CollectiveError("shared memory: " + what + ": " + std::strerror(errno));
}

int MakeFile() {
  const int fd = memfd_create("gp-gradients", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (fd < 0) Refuse("cannot be created");
  return fd;
}

}  // namespace

Mapping::Mapping(int fd, uint64_t offset, size_t size) {
  void* address =
      mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, static_cast<off_t>(offset));
  if (address == MAP_FAILED) Refuse("cannot map " + std::to_string(size) + " bytes");
  // Only advice: if the kernel refuses it, the memory has small pages.
  madvise(address, size, MADV_HUGEPAGE);
  bytes_ = {static_cast<std::byte*>(address), size};
}

Mapping::Mapping(Mapping&& other) noexcept : bytes_(std::exchange(other.bytes_, {})) {}

Mapping& Mapping::operator=(Mapping&& other) noexcept {
  std::swap(bytes_, other.bytes_);
  return *this;
}

Mapping::~Mapping() {
  if (!bytes_.empty()) munmap(bytes_.data(), bytes_.size());
}

NodeMemory::NodeMemory() : file_(MakeFile()) {
  if (fchmod(fd(), S_IRUSR | S_IWUSR) != 0 || fcntl(fd(), F_ADD_SEALS, F_SEAL_SHRINK) != 0) {
    Refuse("cannot be sealed against shrinking");
  }
}

std::span<float> NodeMemory::Allocate(size_t count) {
  const size_t bytes = std::max<size_t>(count * sizeof(float), 1);
  const uint64_t alignment = bytes < kHugePage ? kPage : kHugePage;
  const uint64_t offset = AlignUp(size_, alignment);
  const size_t mapped = AlignUp(bytes, kPage);
  if (ftruncate(fd(), static_cast<off_t>(offset + mapped)) != 0) {
    Refuse("cannot grow by " + std::to_string(mapped) + " bytes");
  }
  size_ = offset + mapped;
  chunks_.push_back({offset, Mapping(fd(), offset, mapped)});
  return {reinterpret_cast<float*>(chunks_.back().mapping.bytes().data()), count};
}

std::optional<uint64_t> NodeMemory::OffsetOf(std::span<const float> values) const {
  const auto begin = reinterpret_cast<uintptr_t>(values.data());
  for (const Chunk& chunk : chunks_) {
    const auto base = reinterpret_cast<uintptr_t>(chunk.mapping.bytes().data());
    const bool inside =
        begin >= base && begin + values.size_bytes() <= base + chunk.mapping.bytes().size();
    if (inside) return chunk.offset + (begin - base);
  }
  return std::nullopt;
}

PeerMemory::PeerMemory(int rank, Socket file) : rank_(rank), file_(std::move(file)) {
  const int seals = fcntl(file_.fd(), F_GET_SEALS);
  if (seals >= 0 && (seals & F_SEAL_SHRINK) != 0) return;
  throw CollectiveError("shared memory: rank " + std::to_string(rank) +
                        " offers a memory file that can shrink");
}

float* PeerMemory::At(uint64_t offset, size_t count) {
  if (!Holds(mapping_.bytes().size(), offset, count)) {
    struct stat status {};
    const bool known = fstat(file_.fd(), &status) == 0;
    const uint64_t size = known ? static_cast<uint64_t>(status.st_size) : 0;
    if (!Holds(size, offset, count)) {
      throw CollectiveError("shared memory: rank " + std::to_string(rank_) +
                            " names memory that it does not have");
    }
    mapping_ = Mapping(file_.fd(), 0, size);
  }
  return reinterpret_cast<float*>(mapping_.bytes().data() + offset);
}

}  // namespace gp::engine
