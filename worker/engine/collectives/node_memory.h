// Memory that the ranks of one node share: a rank allocates from its NodeMemory and maps what its
// peers allocated through PeerMemory. The memory has no name in the file system. Peers pass each
// other descriptors of it (node_group.h). So the kernel frees it when the last process with a
// descriptor ends, also by a crash, and the size of /dev/shm does not matter. Errors are
// CollectiveError. One thread each.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "worker/engine/collectives/socket.h"

namespace gp::engine {

// A part of a file that is mapped. Owns the mapping.
class Mapping {
 public:
  Mapping() = default;
  // Maps [offset, offset + size) of `fd`, writable and shared.
  Mapping(int fd, uint64_t offset, size_t size);
  Mapping(Mapping&& other) noexcept;
  Mapping& operator=(Mapping&& other) noexcept;
  ~Mapping();

  std::span<std::byte> bytes() const { return bytes_; }

 private:
  std::span<std::byte> bytes_;
};

// The memory that this rank shares. It only grows; other ranks cannot shrink it.
class NodeMemory {
 public:
  NodeMemory();

  int fd() const { return file_.fd(); }

  // Zeroed; lives as long as this object.
  std::span<float> Allocate(size_t count);

  // The offset of `values` in this rank's file; nullopt when they are elsewhere.
  std::optional<uint64_t> OffsetOf(std::span<const float> values) const;

 private:
  struct Chunk {
    uint64_t offset = 0;
    Mapping mapping;
  };

  const Socket file_;  // an owned descriptor
  uint64_t size_ = 0;
  std::vector<Chunk> chunks_;
};

// The memory that another rank shares.
class PeerMemory {
 public:
  // `file` is a descriptor that a peer sent; refused unless its size is sealed against shrinking.
  PeerMemory(int rank, Socket file);

  // `count` floats from `offset` in the peer's file. The address may change with the next call.
  float* At(uint64_t offset, size_t count);

 private:
  int rank_;
  Socket file_;
  Mapping mapping_;  // of the file, from its beginning
};

}  // namespace gp::engine
