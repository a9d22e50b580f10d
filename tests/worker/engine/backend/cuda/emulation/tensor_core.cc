#include "cuda_emulation/tensor_core.h"

#include <cstring>
#include <deque>
#include <map>
#include <string>
#include <vector>

#include "cuda_runtime.h"

namespace gp::cuda_emulation {
namespace {

constexpr int kLanes = 32;
constexpr int kWarps = 32;
constexpr int kCopyBytes = 16;

int ThreadIndex() {
  return static_cast<int>(threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z));
}
int Lane() { return ThreadIndex() % kLanes; }

// Exchanges data between the lanes of a warp: all lanes write before one barrier and read before
// the next. Used only by the host thread that runs the kernel.
struct WarpBoard {
  float a[16][16];  // (row, k)
  float b[8][16];   // (column, k)
  const void* rows[kLanes];
};
WarpBoard boards[kWarps];

WarpBoard& Board() { return boards[ThreadIndex() / kLanes]; }

uint16_t HalfOf(uint32_t pair, int index) { return static_cast<uint16_t>(pair >> 16 * index); }

// Writes this lane's elements to the positions that tensor_core.cuh draws.
void Show(WidenElement widen, const uint32_t (&a)[4], const uint32_t (&b)[2]) {
  WarpBoard& board = Board();
  const int group = Lane() / 4;
  const int first = Lane() % 4 * 2;
  for (int half = 0; half < 2; ++half) {
    for (int i = 0; i < 4; ++i) {
      board.a[group + i % 2 * 8][first + i / 2 * 8 + half] = widen(HalfOf(a[i], half));
    }
    for (int i = 0; i < 2; ++i) board.b[group][first + i * 8 + half] = widen(HalfOf(b[i], half));
  }
}

struct Copy {
  void* to;
  const void* from;
  bool exists;
};

// The asynchronous copies of one thread.
struct ThreadCopies {
  std::vector<Copy> begun;
  std::deque<std::vector<Copy>> groups;
};

struct BlockCopies {
  uint3 block{};
  std::map<int, ThreadCopies> threads;
};
BlockCopies copies;  // of the running block

bool IsSame(const uint3& a, const uint3& b) { return a.x == b.x && a.y == b.y && a.z == b.z; }

ThreadCopies& CopiesOfThread() {
  if (!IsSame(copies.block, blockIdx)) {
    const bool all_done = copies.threads.empty();
    copies.threads.clear();
    copies.block = blockIdx;
    if (!all_done) throw KernelError("a block ended before it waited for its copies");
  }
  return copies.threads[ThreadIndex()];
}

void Finish(const std::vector<Copy>& group) {
  for (const Copy& copy : group) {
    if (copy.exists) {
      std::memcpy(copy.to, copy.from, kCopyBytes);
    } else {
      std::memset(copy.to, 0, kCopyBytes);
    }
  }
}

void CheckAligned(const void* pointer) {
  if (reinterpret_cast<uintptr_t>(pointer) % kCopyBytes == 0) return;
  throw KernelError("an address of tensor_core.cuh is not a multiple of 16 bytes, in thread " +
                    std::to_string(ThreadIndex()));
}

}  // namespace

void MultiplyTileWith(WidenElement widen, float (&c)[4], const uint32_t (&a)[4], uint32_t b0,
                      uint32_t b1) {
  Show(widen, a, {b0, b1});
  __syncwarp();
  const WarpBoard& board = Board();
  for (int e = 0; e < 4; ++e) {
    const float* row = board.a[Lane() / 4 + e / 2 * 8];
    const float* column = board.b[Lane() % 4 * 2 + e % 2];
    for (int k = 0; k < 16; ++k) c[e] += row[k] * column[k];
  }
  __syncwarp();
}

void LoadTiles(uint32_t (&tiles)[4], const void* row, bool transposed) {
  CheckAligned(row);
  WarpBoard& board = Board();
  board.rows[Lane()] = row;
  __syncwarp();
  const int group = Lane() / 4;
  const int member = Lane() % 4;
  for (int tile = 0; tile < 4; ++tile) {
    uint16_t pair[2];
    for (int i = 0; i < 2; ++i) {
      const int line = transposed ? 2 * member + i : group;
      const int column = transposed ? group : 2 * member + i;
      std::memcpy(&pair[i], static_cast<const uint16_t*>(board.rows[8 * tile + line]) + column,
                  sizeof(pair[i]));
    }
    tiles[tile] = pair[0] | static_cast<uint32_t>(pair[1]) << 16;
  }
  __syncwarp();
}

void CopyAsync(void* to, const void* from, bool exists) {
  CheckAligned(to);
  CheckAligned(from);
  CopiesOfThread().begun.push_back({to, from, exists});
}

void CommitCopies() {
  ThreadCopies& mine = CopiesOfThread();
  mine.groups.push_back(std::move(mine.begun));
  mine.begun.clear();
}

void WaitForCopies(int pending) {
  ThreadCopies& mine = CopiesOfThread();
  while (static_cast<int>(mine.groups.size()) > pending) {
    Finish(mine.groups.front());
    mine.groups.pop_front();
  }
  if (mine.groups.empty() && mine.begun.empty()) copies.threads.erase(ThreadIndex());
}

}  // namespace gp::cuda_emulation
