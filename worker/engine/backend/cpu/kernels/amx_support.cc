#include "worker/engine/backend/cpu/kernels/amx_support.h"

#include <asm/prctl.h>
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <vector>

namespace gp::engine {
namespace {

#ifndef ARCH_REQ_XCOMP_PERM  // Linux 5.16
#define ARCH_REQ_XCOMP_PERM 0x1023
#endif
constexpr int kTileData = 18;  // the state component of the tile registers in XCR0
constexpr uint32_t kTileState = 3u << 17;
constexpr unsigned kAmxBf16 = 1u << 22;  // in EDX of CPUID 7
constexpr unsigned kAmxTile = 1u << 24;
constexpr unsigned kOsXsave = 1u << 27;  // in ECX of CPUID 1

uint32_t EnabledStates() {
  uint32_t low = 0;
  uint32_t high = 0;
  asm("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return low;
}

bool ProcessorHasAmx() {
  unsigned eax = 0;
  unsigned ebx = 0;
  unsigned ecx = 0;
  unsigned edx = 0;
  if (!IsaSupported(Isa::kAvx512)) return false;
  if (__get_cpuid(1, &eax, &ebx, &ecx, &edx) == 0 || (ecx & kOsXsave) == 0) return false;
  if ((EnabledStates() & kTileState) != kTileState) return false;
  if (__get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) == 0) return false;
  return (edx & (kAmxBf16 | kAmxTile)) == (kAmxBf16 | kAmxTile);
}

int RequestPermission() {
  return syscall(SYS_arch_prctl, ARCH_REQ_XCOMP_PERM, kTileData) == 0 ? 0 : errno;
}

// ---- the comparison ----

enum class Filling { kOrdinary, kTiny, kAnyBits };
constexpr std::array kFillingNames = {"ordinary values", "tiny values", "any bits"};

struct BlockClass {
  int64_t row_tiles;
  int64_t column_tiles;
  int64_t blocks;
  bool strided;  // operands with longer rows than the block's, as in place
  bool accumulate;
  Filling filling;
};

std::string Describe(const BlockClass& c) {
  return std::to_string(c.row_tiles * kTileSide) + " x " +
         std::to_string(c.column_tiles * kTileSide) + " x " +
         std::to_string(c.blocks * kTileDepth) + (c.accumulate ? " accumulated, " : ", ") +
         kFillingNames[static_cast<size_t>(c.filling)];
}

// bf16 values from a fixed sequence of numbers. Ordinary ones are about 2^-8 to 2^7, products of
// tiny ones about 2^-133 to 2^-118.
class Values {
 public:
  explicit Values(Filling filling) : filling_(filling) {}

  uint16_t Next() {
    state_ = state_ * 6364136223846793005u + 1442695040888963407u;
    const auto bits = static_cast<uint16_t>(state_ >> 48);
    if (filling_ == Filling::kAnyBits) return bits;
    const int exponent = (filling_ == Filling::kTiny ? 61 : 119) + ((bits >> 7) & 7);
    return static_cast<uint16_t>((bits & 0x807f) | (exponent << 7));
  }
  float NextFloat() {
    const uint32_t bits = (uint32_t{Next()} << 16) | Next();
    float value;
    std::memcpy(&value, &bits, sizeof(value));
    return value;
  }

 private:
  const Filling filling_;
  uint64_t state_ = 20260101;
};

std::vector<float> ProductOf(const Tiles& tiles, const BlockClass& c) {
  Values values(c.filling);
  const int64_t k = c.blocks * kTileDepth;
  const int64_t a_stride = k + (c.strided ? 40 : 0);
  const int64_t b_stride = kBlockSide + (c.strided ? kTileSide : 0);
  std::vector<uint16_t> a(static_cast<size_t>(kBlockSide * a_stride));
  std::vector<uint32_t> b(static_cast<size_t>(k / 2 * b_stride));
  std::vector<float> product(static_cast<size_t>(kBlockSide * kBlockSide));
  for (uint16_t& value : a) value = values.Next();
  for (uint32_t& pair : b) pair = values.Next() | (uint32_t{values.Next()} << 16);
  for (float& value : product) value = values.NextFloat();
  tiles.begin();
  tiles.multiply({.row_tiles = c.row_tiles,
                  .column_tiles = c.column_tiles,
                  .blocks = c.blocks,
                  .a = a.data(),
                  .a_stride = a_stride,
                  .b = b.data(),
                  .b_stride = b_stride,
                  .c = product.data(),
                  .ldc = kBlockSide,
                  .accumulate = c.accumulate,
                  .last = true});
  tiles.end();
  return product;
}

bool SameBits(const std::vector<float>& a, const std::vector<float>& b) {
  return std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

std::vector<BlockClass> Classes() {
  std::vector<BlockClass> classes;
  for (const Filling filling : {Filling::kOrdinary, Filling::kTiny, Filling::kAnyBits}) {
    for (int shape = 0; shape < 16; ++shape) {
      for (const int64_t blocks : {1, 2, 7}) {
        classes.push_back({.row_tiles = 1 + shape % 2,
                           .column_tiles = 1 + shape / 2 % 2,
                           .blocks = blocks,
                           .strided = (shape & 4) != 0,
                           .accumulate = (shape & 8) != 0,
                           .filling = filling});
      }
    }
  }
  return classes;
}

}  // namespace

std::string FirstDifference(const Tiles& one, const Tiles& other) {
  for (const BlockClass& c : Classes()) {
    if (!SameBits(ProductOf(one, c), ProductOf(other, c))) return Describe(c);
  }
  return "";
}

AmxSupport FindAmx(const AmxProbe& probe) {
  if (!probe.processor_has_it()) return {.why_not = "this processor has no AMX"};
  if (const int error = probe.request_permission(); error != 0) {
    return {.why_not = "the kernel refuses the tile registers of AMX: " +
                       std::generic_category().message(error)};
  }
  const std::string difference = probe.difference();
  if (difference.empty()) return {.usable = true, .why_not = ""};
  return {.why_not = "AMX and AVX-512 gave different bits for a product (" + difference + ")"};
}

const AmxSupport& Amx() {
  static const AmxSupport support =
      FindAmx({.processor_has_it = &ProcessorHasAmx,
               .request_permission = &RequestPermission,
               .difference = [] { return FirstDifference(AmxTiles(), TwinTiles()); }});
  return support;
}

}  // namespace gp::engine
