// Emulates the operations of kernels/tensor_core.cuh with the fragment layouts that the PTX ISA
// documents: products of 16-bit tiles, ldmatrix, and asynchronous copies. All 32 lanes of a warp
// must call together where the instruction requires it. A product sums in fp32 in ascending k; a
// device may use another order within one tile.
//
// Stricter than a device: the data of an asynchronous copy never arrives before WaitForCopies. Not
// covered, because only a device runs it: the PTX in tensor_core.cuh itself (MultiplyTile,
// LoadTiles, LoadTilesTransposed, CopyAsync, CommitCopies, WaitForCopies), ex2.approx in FastExp2
// (flash_view.cuh) and cvt.e4m3/e5m2 in ToFp8 (fp8.cuh). Not detected: bank conflicts, and reading
// another thread's copies before a barrier.
#pragma once

#include <cstdint>

namespace gp::cuda_emulation {

// Converts one 16-bit element.
using WidenElement = float (*)(uint16_t bits);

void MultiplyTileWith(WidenElement widen, float (&c)[4], const uint32_t (&a)[4], uint32_t b0,
                      uint32_t b1);

template <typename T>
float Widen(uint16_t bits) {
  T element;
  static_assert(sizeof(T) == sizeof(bits));
  __builtin_memcpy(&element, &bits, sizeof(bits));
  return static_cast<float>(element);
}

// c += a b for elements of type T.
template <typename T>
void MultiplyTile(float (&c)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1) {
  MultiplyTileWith(&Widen<T>, c, a, b0, b1);
}

void LoadTiles(uint32_t (&tiles)[4], const void* row, bool transposed);

void CopyAsync(void* to, const void* from, bool exists);
void CommitCopies();
void WaitForCopies(int pending);

}  // namespace gp::cuda_emulation
