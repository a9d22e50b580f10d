#include "worker/engine/collectives/fake_nccl/clique.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <string>

namespace gp::fake_nccl {
namespace {

constexpr uint64_t kMagic = 0x6c63636e656b6166;  // "fakenccl"
constexpr uint64_t kPipeBytes = 64 << 10;

// Whether the process has ended, even if it has not been reaped.
bool HasEnded(pid_t process) {
  const int descriptor = static_cast<int>(syscall(SYS_pidfd_open, process, 0));
  if (descriptor < 0) return errno == ESRCH;
  pollfd ended = {.fd = descriptor, .events = POLLIN};
  const bool has = poll(&ended, 1, 0) == 1;
  close(descriptor);
  return has;
}

constexpr char kFolder[] = "/dev/shm";
constexpr char kPrefix[] = "gp-fake-nccl-";

std::string PathOf(const CliqueAddress& address) {
  return std::string(kFolder) + "/" + kPrefix + std::to_string(address.process) + "-" +
         std::to_string(address.nonce);
}

void RemoveWhatTheKilledLeft() {
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(kFolder, error)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with(kPrefix)) continue;
    const pid_t process = std::atoi(name.c_str() + sizeof(kPrefix) - 1);
    std::error_code kept;
    if (process > 0 && HasEnded(process)) std::filesystem::remove(entry.path(), kept);
  }
}

}  // namespace

struct Clique::Memory {
  enum class Place : uint32_t { kFree, kTaken, kLeft };
  struct Rank {
    std::atomic<Place> place;
    std::atomic<pid_t> process;  // 0: not yet known
  };
  // `written` and `read` count all bytes so far; the bytes between them are in the ring buffer
  // `bytes`.
  struct Pipe {
    std::atomic<uint64_t> written;
    std::atomic<uint64_t> read;
    std::byte bytes[kPipeBytes];
  };

  uint64_t nonce;
  std::atomic<int> ranks;  // 0 until the first rank has joined
  std::atomic<int> joined;
  Rank rank[kRanksMax];
  Pipe pipe[kRanksMax][kRanksMax];  // [from][to]
};

std::optional<CliqueAddress> Clique::Make() {
  RemoveWhatTheKilledLeft();
  CliqueAddress address{.magic = kMagic, .process = getpid()};
  if (getrandom(&address.nonce, sizeof(address.nonce), 0) < 0) return std::nullopt;
  const std::string path = PathOf(address);
  const int descriptor = open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (descriptor < 0) return std::nullopt;
  const bool fits = ftruncate(descriptor, sizeof(Memory)) == 0;
  void* mapped = MAP_FAILED;  // memory that is all zeros is a valid initial state
  if (fits) {
    mapped = mmap(nullptr, sizeof(Memory), PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  }
  close(descriptor);
  if (mapped == MAP_FAILED) return std::nullopt;
  static_cast<Memory*>(mapped)->nonce = address.nonce;
  munmap(mapped, sizeof(Memory));
  return address;
}

std::unique_ptr<Clique> Clique::Open(const CliqueAddress& address) {
  if (address.magic != kMagic) return nullptr;
  const std::string path = PathOf(address);
  const int descriptor = open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (descriptor < 0) return nullptr;
  const bool fits = lseek(descriptor, 0, SEEK_END) == sizeof(Memory);
  void* mapped = MAP_FAILED;
  if (fits) {
    mapped = mmap(nullptr, sizeof(Memory), PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  }
  close(descriptor);
  if (mapped == MAP_FAILED) return nullptr;
  auto clique = std::unique_ptr<Clique>(new Clique(static_cast<Memory*>(mapped), path));
  return clique->memory_->nonce == address.nonce ? std::move(clique) : nullptr;
}

Clique::~Clique() { munmap(memory_, sizeof(Memory)); }

bool Clique::Join(int rank, int ranks) {
  int none = 0;
  if (!memory_->ranks.compare_exchange_strong(none, ranks) && none != ranks) return false;
  Memory::Rank& own = memory_->rank[rank];
  Memory::Place free = Memory::Place::kFree;
  if (!own.place.compare_exchange_strong(free, Memory::Place::kTaken)) return false;
  own.process = getpid();
  rank_ = rank;
  if (memory_->joined.fetch_add(1) + 1 == ranks) unlink(path_.c_str());
  return true;
}

void Clique::Leave() {
  if (rank_ < 0) return;
  memory_->rank[rank_].place = Memory::Place::kLeft;
  rank_ = -1;
}

Presence Clique::PresenceOf(int rank) const {
  const Memory::Rank& peer = memory_->rank[rank];
  const pid_t process = peer.process;
  const bool ended = process != 0 && HasEnded(process);
  // Read after checking the process, because the rank may have left in between.
  switch (peer.place) {
    case Memory::Place::kFree:
      return Presence::kAbsent;
    case Memory::Place::kLeft:
      return Presence::kLeft;
    case Memory::Place::kTaken:
      break;
  }
  return ended ? Presence::kKilled : Presence::kHere;
}

size_t Clique::Send(int to, std::span<const std::byte> bytes) {
  Memory::Pipe& pipe = memory_->pipe[rank_][to];
  const uint64_t written = pipe.written.load(std::memory_order_relaxed);
  const uint64_t room = kPipeBytes - (written - pipe.read.load(std::memory_order_acquire));
  const size_t count = std::min<size_t>(bytes.size(), room);
  const size_t begin = written % kPipeBytes;
  const size_t straight = std::min<size_t>(count, kPipeBytes - begin);
  std::copy_n(bytes.begin(), straight, pipe.bytes + begin);
  std::copy_n(bytes.begin() + straight, count - straight, pipe.bytes);
  pipe.written.store(written + count, std::memory_order_release);
  return count;
}

size_t Clique::Receive(int from, std::span<std::byte> bytes) {
  Memory::Pipe& pipe = memory_->pipe[from][rank_];
  const uint64_t read = pipe.read.load(std::memory_order_relaxed);
  const uint64_t there = pipe.written.load(std::memory_order_acquire) - read;
  const size_t count = std::min<size_t>(bytes.size(), there);
  const size_t begin = read % kPipeBytes;
  const size_t straight = std::min<size_t>(count, kPipeBytes - begin);
  std::copy_n(pipe.bytes + begin, straight, bytes.begin());
  std::copy_n(pipe.bytes, count - straight, bytes.begin() + straight);
  pipe.read.store(read + count, std::memory_order_release);
  return count;
}

}  // namespace gp::fake_nccl
