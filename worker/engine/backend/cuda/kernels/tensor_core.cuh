// The warp-wide instructions behind products of small tiles on tensor cores: m16n8k16 products of
// bf16 or fp16 with fp32 sums, ldmatrix, and asynchronous copies into shared memory. PTX ISA,
// sections "Warp-level matrix instructions" and "cp.async". sm_80 and later; kernels that use them
// trap on earlier devices. Under the emulation the same functions are written with warp
// exchanges (cuda_emulation/tensor_core.h).
//
// Fragments, for lane = 4 * group + member. Each register holds two consecutive elements.
//   A (16 x 16, row-major): a0 (group, 2 member), a1 (group + 8, 2 member),
//                           a2 (group, 2 member + 8), a3 (group + 8, 2 member + 8)
//   B (16 x 8): b0 (k = 2 member, n = group), b1 (k = 2 member + 8, n = group)
//   C (16 x 8, fp32): c0, c1 (group, 2 member ..), c2, c3 (group + 8, 2 member ..)
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <cstdint>
#include <cstring>
#include <type_traits>

#ifdef GP_CUDA_EMULATION
#include "cuda_emulation/tensor_core.h"
#endif

#if defined(GP_CUDA_EMULATION) || (defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800)
#define GP_TENSOR_CORES 1
#else
#define GP_TENSOR_CORES 0
#endif

namespace gp::engine {

using FragmentA = uint32_t[4];
using FragmentC = float[4];

// Packs two neighbouring elements of a fragment into one register.
__device__ __forceinline__ uint32_t PackPair(float low, float high, __nv_bfloat16) {
  const __nv_bfloat162 pair = __floats2bfloat162_rn(low, high);
  uint32_t bits;
  memcpy(&bits, &pair, sizeof(bits));
  return bits;
}
__device__ __forceinline__ uint32_t PackPair(float low, float high, __half) {
  const __half2 pair = __floats2half2_rn(low, high);
  uint32_t bits;
  memcpy(&bits, &pair, sizeof(bits));
  return bits;
}

#if GP_TENSOR_CORES

#ifdef GP_CUDA_EMULATION

template <typename T>
void MultiplyTile(FragmentC& c, const FragmentA& a, uint32_t b0, uint32_t b1) {
  cuda_emulation::MultiplyTile<T>(c, a, b0, b1);
}
inline void LoadTiles(uint32_t (&tiles)[4], const void* row) {
  cuda_emulation::LoadTiles(tiles, row, false);
}
inline void LoadTilesTransposed(uint32_t (&tiles)[4], const void* row) {
  cuda_emulation::LoadTiles(tiles, row, true);
}
inline void CopyAsync(void* to, const void* from, bool exists) {
  cuda_emulation::CopyAsync(to, from, exists);
}
inline void CommitCopies() { cuda_emulation::CommitCopies(); }
template <int kPending>
void WaitForCopies() {
  cuda_emulation::WaitForCopies(kPending);
}

#else

// c += a b.
template <typename T>
__device__ __forceinline__ void MultiplyTile(FragmentC& c, const FragmentA& a, uint32_t b0,
                                             uint32_t b1) {
  if constexpr (std::is_same_v<T, __half>) {
    asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
        "{%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
  } else {
    asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
        "{%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
  }
}

__device__ __forceinline__ uint32_t SharedAddress(const void* pointer) {
  return static_cast<uint32_t>(__cvta_generic_to_shared(pointer));
}

// Four 8 x 8 tiles of 16-bit elements from shared memory: lanes 8 i .. 8 i + 7 give the addresses
// of the rows of tile i, 16 bytes each; register i receives (group, 2 member ..) of tile i.
__device__ __forceinline__ void LoadTiles(uint32_t (&tiles)[4], const void* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(tiles[0]), "=r"(tiles[1]), "=r"(tiles[2]), "=r"(tiles[3])
               : "r"(SharedAddress(row))
               : "memory");
}

// The same, each tile transposed.
__device__ __forceinline__ void LoadTilesTransposed(uint32_t (&tiles)[4], const void* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(tiles[0]), "=r"(tiles[1]), "=r"(tiles[2]), "=r"(tiles[3])
               : "r"(SharedAddress(row))
               : "memory");
}

// Begins to copy 16 bytes into shared memory; zeros where `exists` is false (`from` must still be
// an address of device memory).
__device__ __forceinline__ void CopyAsync(void* to, const void* from, bool exists) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(SharedAddress(to)), "l"(from),
               "r"(exists ? 16 : 0)
               : "memory");
}

// Closes the group of copies begun since the last call.
__device__ __forceinline__ void CommitCopies() {
  asm volatile("cp.async.commit_group;" ::: "memory");
}

// Returns when at most kPending of this thread's groups are still being copied.
template <int kPending>
__device__ __forceinline__ void WaitForCopies() {
  asm volatile("cp.async.wait_group %0;" ::"n"(kPending) : "memory");
}

#endif
#endif

}  // namespace gp::engine
