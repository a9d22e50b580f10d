// Clique: the shared memory through which the ranks of one fake NCCL communicator meet: who is
// there, and a pipe of bytes from every rank to every other. It is an unnamed file that its maker's
// process keeps open and the others reach through /proc, so that nothing outlives them. A rank that
// is killed is noticed by its process. One thread per rank calls; each has its own mapping.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

namespace gp::fake_nccl {

inline constexpr int kRanksMax = 8;

// Where a clique's memory is, as it travels in a ncclUniqueId.
struct CliqueAddress {
  uint64_t magic = 0;
  int64_t process = 0;
  int32_t descriptor = -1;
  uint64_t nonce = 0;  // differs for each clique
};

enum class Presence { kAbsent, kHere, kLeft, kKilled };

class Clique {
 public:
  // Makes the memory; it lives as long as this process or a mapping of it.
  static std::optional<CliqueAddress> Make();

  // Null when nothing is there, or something else.
  static std::unique_ptr<Clique> Open(const CliqueAddress& address);
  ~Clique();
  Clique(const Clique&) = delete;
  Clique& operator=(const Clique&) = delete;

  // Takes a place; false when it is taken, or when others count other numbers of ranks.
  bool Join(int rank, int ranks);
  void Leave();

  Presence PresenceOf(int rank) const;

  // Puts in, or takes out, as many bytes as there is room for, or as have come.
  size_t Send(int to, std::span<const std::byte> bytes);
  size_t Receive(int from, std::span<std::byte> bytes);

 private:
  struct Memory;

  explicit Clique(Memory* memory) : memory_(memory) {}

  Memory* memory_;
  int rank_ = -1;
};

}  // namespace gp::fake_nccl
