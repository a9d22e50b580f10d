// TileEmulator: executes the tile instructions of kernels_amx.cc on a processor without AMX, where
// each raises SIGILL: the handler decodes the instruction (Intel SDM vol. 2, chapters 2.3 and 3)
// and computes it with the model of tile_model.h. Each thread has its own tiles and configuration,
// as on a processor. Exists once at a time.
#pragma once

#include <signal.h>
#include <ucontext.h>
#include <unistd.h>

#include <cstring>

#include "worker/engine/backend/cpu/tile_model.h"

namespace gp::engine {

// The tile registers of one thread.
struct EmulatedTiles {
  bool configured = false;
  uint16_t row_bytes[8] = {};
  uint8_t rows[8] = {};
  uint8_t data[8][16][64] = {};

  void Configure(const uint8_t* from) {
    std::memset(data, 0, sizeof(data));
    configured = from[0] == 1;
    std::memcpy(row_bytes, from + 16, sizeof(row_bytes));
    std::memcpy(rows, from + 48, sizeof(rows));
  }
  void Zero(int tile) { std::memset(data[tile], 0, sizeof(data[tile])); }
  void Load(int tile, const uint8_t* from, int64_t stride) {
    Zero(tile);
    for (int r = 0; r < rows[tile]; ++r) {
      std::memcpy(data[tile][r], from + r * stride, row_bytes[tile]);
    }
  }
  void Store(int tile, uint8_t* to, int64_t stride) const {
    for (int r = 0; r < rows[tile]; ++r) {
      std::memcpy(to + r * stride, data[tile][r], row_bytes[tile]);
    }
  }

  // C += A B. A NaN gets a payload that no vector instruction would give it.
  void MultiplyBf16(int c, int a, int b) {
    for (int m = 0; m < rows[c]; ++m) {
      for (int n = 0; n < row_bytes[c] / 4; ++n) {
        std::array<float, 2> chains{};
        for (int k = 0; k < row_bytes[a] / 4; ++k) {
          for (size_t half = 0; half < 2; ++half) {
            const auto offset = static_cast<int>(2 * half);
            chains[half] =
                FlushingFma(WidenedBf16(At<uint16_t>(a, m, 4 * k + offset)),
                            WidenedBf16(At<uint16_t>(b, k, 4 * n + offset)), chains[half]);
          }
        }
        float sum = FlushingFma(1, At<float>(c, m, 4 * n), FlushingFma(1, chains[0], chains[1]));
        if (std::isnan(sum)) sum = std::bit_cast<float>(0xffc12345u);
        std::memcpy(&data[c][m][4 * n], &sum, sizeof(sum));
      }
    }
  }

 private:
  template <typename T>
  T At(int tile, int row, int byte) const {
    T value;
    std::memcpy(&value, &data[tile][row][byte], sizeof(value));
    return value;
  }
};

// An instruction with a three-byte VEX prefix in map 0F38.
struct DecodedInstruction {
  int prefix = 0;  // 0: none, 1: 66, 2: F3, 3: F2
  int opcode = 0;
  bool memory = false;
  int reg = 0;
  int rm = 0;
  int vvvv = 0;
  int64_t address = 0;
  int64_t index = 0;  // the scaled index register: a tile's stride
  int64_t length = 0;
};

class TileEmulator {
 public:
  TileEmulator() {
    struct sigaction action {};
    action.sa_sigaction = &OnIllegalInstruction;
    action.sa_flags = SA_SIGINFO;
    sigaction(SIGILL, &action, &before_);
  }
  ~TileEmulator() { sigaction(SIGILL, &before_, nullptr); }
  TileEmulator(const TileEmulator&) = delete;
  TileEmulator& operator=(const TileEmulator&) = delete;

  // Whether this thread has given its tiles back.
  static bool Released() { return !Tiles().configured; }

 private:
  static EmulatedTiles& Tiles() {
    thread_local EmulatedTiles tiles;
    return tiles;
  }

  static int64_t Register(const greg_t* registers, int number) {
    constexpr int kOrder[] = {REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP,
                              REG_RSI, REG_RDI, REG_R8,  REG_R9,  REG_R10, REG_R11,
                              REG_R12, REG_R13, REG_R14, REG_R15};
    return registers[kOrder[number]];
  }

  template <typename T>
  static int64_t Displacement(const uint8_t* at) {
    T value;
    std::memcpy(&value, at, sizeof(value));
    return value;
  }

  static bool Decode(const uint8_t* at, const greg_t* registers, DecodedInstruction& i) {
    if (at[0] != 0xc4 || (at[1] & 0x1f) != 2 || (at[2] & 0x84) != 0) return false;
    const int high_index = (at[1] & 0x40) == 0 ? 8 : 0;
    const int high_base = (at[1] & 0x20) == 0 ? 8 : 0;
    const int mode = at[4] >> 6;
    i.prefix = at[2] & 3;
    i.vvvv = ~(at[2] >> 3) & 15;
    i.opcode = at[3];
    i.reg = (at[4] >> 3) & 7;
    i.rm = at[4] & 7;
    i.memory = mode != 3;
    i.length = 5;
    if (!i.memory) return true;
    int base = i.rm + high_base;
    if (i.rm == 4) {
      const int sib = at[5];
      const int index = ((sib >> 3) & 7) + high_index;
      i.index = index == 4 ? 0 : Register(registers, index) << (sib >> 6);
      base = (sib & 7) + high_base;
      i.length = 6;
      if (mode == 0 && (sib & 7) == 5) return false;
    }
    const uint8_t* displacement = at + i.length;
    if (mode == 0 && i.rm == 5) {  // relative to the next instruction
      i.length += 4;
      i.address = reinterpret_cast<int64_t>(at) + i.length + Displacement<int32_t>(displacement);
      return true;
    }
    i.address = Register(registers, base);
    if (mode == 1) i.address += Displacement<int8_t>(displacement);
    if (mode == 2) i.address += Displacement<int32_t>(displacement);
    i.length += mode == 1 ? 1 : mode == 2 ? 4 : 0;
    return true;
  }

  static bool Execute(const DecodedInstruction& i, EmulatedTiles& tiles) {
    auto* memory = reinterpret_cast<uint8_t*>(i.address);
    if (i.opcode == 0x49 && i.prefix == 0 && i.memory) {  // ldtilecfg
      tiles.Configure(memory);
      return tiles.configured;
    }
    if (!tiles.configured) return false;
    if (i.opcode == 0x49 && i.prefix == 0) {  // tilerelease
      tiles.configured = false;
    } else if (i.opcode == 0x49 && i.prefix == 3) {  // tilezero
      tiles.Zero(i.reg);
    } else if (i.opcode == 0x4b && i.prefix == 3) {  // tileloadd
      tiles.Load(i.reg, memory, i.index);
    } else if (i.opcode == 0x4b && i.prefix == 2) {  // tilestored
      tiles.Store(i.reg, memory, i.index);
    } else if (i.opcode == 0x5c && i.prefix == 2) {  // tdpbf16ps
      tiles.MultiplyBf16(i.reg, i.rm, i.vvvv);
    } else {
      return false;
    }
    return true;
  }

  static void OnIllegalInstruction(int, siginfo_t*, void* context) {
    greg_t* registers = static_cast<ucontext_t*>(context)->uc_mcontext.gregs;
    const auto* at = reinterpret_cast<const uint8_t*>(registers[REG_RIP]);
    DecodedInstruction instruction;
    if (!Decode(at, registers, instruction) || !Execute(instruction, Tiles())) {
      constexpr char kMessage[] = "an instruction that the tile emulator does not know\n";
      (void)!write(STDERR_FILENO, kMessage, sizeof(kMessage) - 1);
      _exit(132);
    }
    registers[REG_RIP] += instruction.length;
  }

  struct sigaction before_ {};
};

}  // namespace gp::engine
