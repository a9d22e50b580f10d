// ScratchMemory: device memory that operations use one after another. The next operation reuses the
// memory of the one before; that is safe because both are on one stream. One thread calls.
#pragma once

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>

namespace gp::engine {

class ScratchMemory {
 public:
  ScratchMemory(std::byte* data, int64_t bytes) : data_(data), bytes_(bytes) {}

  int64_t bytes() const { return bytes_; }

  // Frees everything; an operation calls this first.
  void Clear() { used_ = 0; }

  // Room for `count` values, aligned to 256 bytes. Throws std::length_error when the owner's sizes
  // did not provide for it.
  template <typename T>
  T* Allocate(int64_t count) {
    return reinterpret_cast<T*>(AllocateBytes(count * static_cast<int64_t>(sizeof(T))));
  }

 private:
  std::byte* AllocateBytes(int64_t bytes) {
    if (used_ + bytes > bytes_) {
      throw std::length_error("an operation needs " + std::to_string(used_ + bytes) +
                              " bytes of scratch, but the backend was made with " +
                              std::to_string(bytes_) + "; make it for larger batches");
    }
    std::byte* begin = data_ + used_;
    used_ += (bytes + 255) / 256 * 256;
    return begin;
  }

  std::byte* const data_;
  const int64_t bytes_;
  int64_t used_ = 0;
};

}  // namespace gp::engine
