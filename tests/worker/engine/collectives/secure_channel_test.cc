// Two ranks connect through a third party that reads, changes or stalls their traffic.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <atomic>
#include <cstring>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "worker/engine/collectives/rank_threads.h"
#include "worker/engine/collectives/tcp_communicator.h"

namespace gp::engine {
namespace {

using std::chrono::milliseconds;
using ::testing::HasSubstr;

constexpr milliseconds kLong{30000};
// Larger than a TLS record, and not a multiple of one.
constexpr size_t kElements = 100'003;
constexpr float kGradient = 1234.5678f;

SteadyTime Later() { return std::chrono::steady_clock::now() + kLong; }

// Forwards bytes between the two connections of a rank and `target`, and records the first few MiB.
class Tap {
 public:
  explicit Tap(std::string target)
      : target_(std::move(target)), thread_([this](const std::stop_token& stop) { Run(stop); }) {}
  const std::string& address() const { return listener_.address(); }
  // Flips a bit of this byte, counted over all connections and directions.
  void ChangeByte(size_t number) { change_at_ = number; }
  // Forwards nothing from this byte on.
  void StallAt(size_t number) { stall_at_ = number; }
  // Stops forwarding; returns the recorded bytes.
  std::string TakeSeen() {
    thread_.request_stop();
    thread_.join();
    return std::move(seen_);
  }

 private:
  static constexpr size_t kSeenMax = size_t{4} << 20;

  struct Passage {
    Socket near;
    Socket far;
  };

  void Run(const std::stop_token& stop) {
    std::vector<Passage> passages;
    while (!stop.stop_requested()) {
      std::vector<pollfd> set = {{listener_.fd(), POLLIN, 0}};
      for (const auto& [near, far] : passages) {
        set.push_back({near.fd(), POLLIN, 0});
        set.push_back({far.fd(), POLLIN, 0});
      }
      poll(set.data(), set.size(), 20);
      for (size_t i = passages.size(); i-- > 0;) {
        const auto& [near, far] = passages[i];
        const bool open = (set[2 * i + 1].revents == 0 || Pass(near, far, stop)) &&
                          (set[2 * i + 2].revents == 0 || Pass(far, near, stop));
        if (!open) passages.erase(passages.begin() + static_cast<std::ptrdiff_t>(i));
      }
      if (set[0].revents == 0) continue;
      if (auto near = listener_.Accept()) {
        passages.push_back({std::move(*near), ConnectTo(target_, Later(), stop)});
      }
    }
  }

  bool Pass(const Socket& from, const Socket& to, const std::stop_token& stop) {
    std::array<char, 64 << 10> buffer;
    const ssize_t count = recv(from.fd(), buffer.data(), buffer.size(), 0);
    if (count <= 0) return count < 0 && errno == EAGAIN;
    const std::span<char> piece(buffer.data(), static_cast<size_t>(count));
    const size_t first = bytes_;
    bytes_ += piece.size();
    if (change_at_ >= first && change_at_ < first + piece.size()) piece[change_at_ - first] ^= 1;
    if (seen_.size() < kSeenMax) seen_.append(piece.begin(), piece.end());
    if (first + piece.size() > stall_at_) return !stop.stop_requested();
    return SendAll(to, std::as_bytes(piece), Later(), stop);
  }

  const TcpListener listener_{"127.0.0.1"};
  const std::string target_;
  std::atomic<size_t> change_at_ = SIZE_MAX;
  std::atomic<size_t> stall_at_ = SIZE_MAX;
  size_t bytes_ = 0;
  std::string seen_;
  std::jthread thread_;
};

struct Setting {
  std::array<bool, 2> encrypted = {true, true};  // by rank
  size_t change_at = SIZE_MAX;                   // number of the byte that the tap changes
  size_t stall_at = SIZE_MAX;
  milliseconds connect_timeout = kLong;
};

struct Outcome {
  std::array<std::string, 2> error;  // by rank; empty if there was none
  std::array<float, 2> sum{};
  std::string seen;
};

// Two ranks connect through a tap and all-reduce a gradient `rounds` times.
Outcome AddThroughATap(const Setting& setting, int rounds = 1) {
  const std::array<TcpListener, 2> listeners = {TcpListener("127.0.0.1"), TcpListener("127.0.0.1")};
  Tap tap(listeners[0].address());
  tap.ChangeByte(setting.change_at);
  tap.StallAt(setting.stall_at);
  Outcome outcome;
  OnEachRank(2, [&](size_t rank) {
    GroupOptions options = {.run_id = "run",
                            .epoch = 3,
                            .rank = static_cast<int>(rank),
                            .logical_shards = 2,
                            .addresses = {tap.address(), listeners[1].address()},
                            .secret = "secret",
                            .encrypted = setting.encrypted[rank],
                            .connect_timeout = setting.connect_timeout,
                            .timeout = kLong};
    try {
      const auto member = TcpCommunicator::Connect(options, listeners[rank]);
      std::vector<float> gradient(kElements, kGradient);
      for (int i = 0; i < rounds; ++i) {
        std::fill(gradient.begin(), gradient.end(), kGradient);
        member->AllReduceTree(gradient, {gradient});
      }
      outcome.sum[rank] = gradient.back();
    } catch (const CollectiveError& error) {
      outcome.error[rank] = error.what();
    }
  });
  outcome.seen = tap.TakeSeen();
  return outcome;
}

// Whether the bytes contain four consecutive values of the gradient, which is constant.
bool ShowsTheGradient(const std::string& seen) {
  const std::array<float, 4> values = {kGradient, kGradient, kGradient, kGradient};
  std::string plain(sizeof values, '\0');
  std::memcpy(plain.data(), values.data(), sizeof values);
  return seen.find(plain) != std::string::npos;
}

TEST(EncryptedGroup, WhoListensOnTheWireSeesNoGradient) {
  const Outcome encrypted = AddThroughATap({});
  EXPECT_EQ(encrypted.error[0] + encrypted.error[1], "");
  EXPECT_EQ(encrypted.sum[0], 2 * kGradient);
  EXPECT_GT(encrypted.seen.size(), kElements * sizeof(float));
  EXPECT_FALSE(ShowsTheGradient(encrypted.seen));

  const Outcome plain = AddThroughATap({.encrypted = {false, false}});
  EXPECT_EQ(plain.sum[1], 2 * kGradient);
  EXPECT_TRUE(ShowsTheGradient(plain.seen)) << "the test would not notice plain gradients";
}

TEST(EncryptedGroup, AChangedByteEndsTheGroupInWords) {
  for (const size_t place : {size_t{200'000}, size_t{300'001}}) {
    const Outcome outcome = AddThroughATap({.change_at = place});
    const std::string errors = outcome.error[0] + "\n" + outcome.error[1];
    EXPECT_THAT(errors, HasSubstr("it was changed in transit, or the peer has another key"))
        << place;
    EXPECT_FALSE(outcome.error[0].empty() || outcome.error[1].empty()) << errors;
  }
  // Without encryption nobody notices the change.
  const Outcome plain = AddThroughATap({.encrypted = {false, false}, .change_at = 200'000});
  EXPECT_EQ(plain.error[0] + plain.error[1], "");
}

// The four messages before the TLS handshake take about 170 bytes.
TEST(EncryptedGroup, AChangedHandshakeFormsNoGroup) {
  for (size_t place = 190; place < 700; place += 30) {
    const Outcome outcome =
        AddThroughATap({.change_at = place, .connect_timeout = milliseconds(2000)});
    EXPECT_FALSE(outcome.error[0].empty() || outcome.error[1].empty()) << place;
    EXPECT_EQ(outcome.sum[0], 0) << place;
    EXPECT_FALSE(ShowsTheGradient(outcome.seen)) << place;
  }
}

TEST(EncryptedGroup, WhoStallsTlsIsWaitedForAsLongAsForAPeer) {
  const auto begin = std::chrono::steady_clock::now();
  // Long enough for both ranks to reach the TLS handshake on a busy machine.
  const Outcome outcome = AddThroughATap({.stall_at = 300, .connect_timeout = milliseconds(3000)});
  // The rank that times out first closes the connection, so only one error mentions the timeout.
  EXPECT_THAT(outcome.error[0] + outcome.error[1], HasSubstr("did not answer in time"));
  EXPECT_FALSE(outcome.error[0].empty() || outcome.error[1].empty());
  EXPECT_LT(std::chrono::steady_clock::now() - begin, kLong);
}

TEST(EncryptedGroup, ARankThatDoesNotEncryptIsRefusedInWords) {
  const Outcome caller = AddThroughATap({.encrypted = {true, false}});
  EXPECT_THAT(caller.error[0], HasSubstr("rank 1 does not encrypt gradients and this rank does"));
  EXPECT_THAT(caller.error[1], HasSubstr("did not accept this rank into epoch 3"));
  EXPECT_FALSE(ShowsTheGradient(caller.seen));
  const Outcome called = AddThroughATap({.encrypted = {false, true}});
  EXPECT_THAT(called.error[0], HasSubstr("rank 1 encrypts gradients and this rank does not"));
  EXPECT_FALSE(called.error[1].empty());
}

// In each round, a rank sends half of the gradient's bytes on each of its two connections. A
// connection changes its key every 256 MiB.
TEST(EncryptedGroup, GoesOnWhenItsKeysChange) {
  constexpr int kRounds = static_cast<int>(SecureChannel::kBytesPerKey / (kElements * 2)) + 2;
  const Outcome outcome = AddThroughATap({}, kRounds);
  EXPECT_EQ(outcome.error[0] + outcome.error[1], "");
  EXPECT_EQ(outcome.sum[0], 2 * kGradient);
  EXPECT_EQ(outcome.sum[1], 2 * kGradient);
}

}  // namespace
}  // namespace gp::engine
