// Clique: the shared memory in which the ranks of one fake NCCL communicator meet: who is present,
// and a pipe of bytes from every rank to every other. It is a file in /dev/shm, like NCCL's, which
// the last rank to join removes; leftovers of killed creators are removed by the next one. A killed
// rank is detected by its process. One thread per rank calls; each has its own mapping.
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

// The location of a clique's memory, sent inside a ncclUniqueId.
struct CliqueAddress {
  uint64_t magic = 0;
  int64_t process = 0;
  uint64_t nonce = 0;  // differs for each clique
};

enum class Presence { kAbsent, kHere, kLeft, kKilled };

class Clique {
 public:
  // Makes the memory.
  static std::optional<CliqueAddress> Make();

  // Null if the file does not exist or is something else.
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

  Clique(Memory* memory, std::string path) : memory_(memory), path_(std::move(path)) {}

  Memory* memory_;
  std::string path_;
  int rank_ = -1;
};

}  // namespace gp::fake_nccl
