// Clique: the shared memory in which the ranks of one fake NCCL communicator meet: who is present,
// and a byte pipe from every rank to every other. Like NCCL's, it is a file in /dev/shm; the last
// rank to join removes it, and the next creator removes leftovers of killed creators. A killed rank
// is detected by checking its process. Each rank has its own mapping, used by one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>

namespace gp::fake_nccl {

inline constexpr int kRanksMax = 8;

// The location of a clique's memory; part of the ncclUniqueId.
struct CliqueAddress {
  uint64_t magic = 0;
  int64_t process = 0;
  uint64_t nonce = 0;  // different for each clique
};

enum class Presence { kAbsent, kHere, kLeft, kKilled };

class Clique {
 public:
  // Creates the memory.
  static std::optional<CliqueAddress> Make();

  // Null if the file does not exist or is not a clique's.
  static std::unique_ptr<Clique> Open(const CliqueAddress& address);
  ~Clique();
  Clique(const Clique&) = delete;
  Clique& operator=(const Clique&) = delete;

  // Joins as `rank`; false if that rank is taken, or if the others expect another number of ranks.
  bool Join(int rank, int ranks);
  void Leave();

  Presence PresenceOf(int rank) const;

  // Send writes as many bytes as there is room for, Receive reads as many as have arrived; both
  // return the number.
  size_t Send(int to, std::span<const std::byte> bytes);
  size_t Receive(int from, std::span<std::byte> bytes);

 private:
  struct Memory;

  Clique(Memory* memory, std::string path) : memory_(memory), path_(std::move(path)) {}

  Memory* memory_;
  std::string path_;
  int rank_ = -1;
};

}  // namespace gp::fake_nccl
