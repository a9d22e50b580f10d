// Memory that the ranks of one node share: a rank allocates from its NodeMemory and maps what its
// peers allocated through PeerMemory. The memory has no name anywhere: it is reached by descriptors
// that peers pass each other (node_group.h), so it is gone with the last process that holds one,
// however that process ends, and the size of /dev/shm does not matter. Errors are CollectiveError.
// One thread each.
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

// What this rank shares. It only grows; others cannot shrink it either.
class NodeMemory {
 public:
  NodeMemory();

  int fd() const { return file_.fd(); }

  // Zeroed; lives as long as I do.
  std::span<float> Allocate(size_t count);

  // Where `values` begin in my file; nullopt when they are not in memory of mine.
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

// What another rank shares.
class PeerMemory {
 public:
  // `file` is a descriptor that a peer sent; refused unless it is memory that nobody can shrink.
  PeerMemory(int rank, Socket file);

  // `count` floats from `offset`, as the peer names them. The address may change with the next
  // call.
  float* At(uint64_t offset, size_t count);

 private:
  int rank_;
  Socket file_;
  Mapping mapping_;  // from the beginning
};

}  // namespace gp::engine
