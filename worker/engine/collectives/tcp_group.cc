#include "worker/engine/collectives/tcp_group.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <optional>
#include <thread>
#include <utility>

#include "base/machine/progress.h"
#include "worker/engine/collectives/tcp_handshake.h"

namespace gp::engine {
namespace {

using std::chrono::milliseconds;

// A silent connection takes one of kGuestsMax places for kMeetingTimeout, or until a newer
// connection needs the place: the oldest is closed first. So a flood of unknown clients cannot
// delay a peer, because peers send their greeting at once.
constexpr size_t kGuestsMax = 64;
constexpr int kGuestsPerRound = 32;
constexpr milliseconds kMeetingTimeout{5000};
constexpr milliseconds kAcceptSlice{20};
constexpr milliseconds kCallAgain{2};

// An accepted connection that has not proved yet that it is a peer.
struct Guest {
  Socket socket;
  SteadyTime deadline;
  std::vector<std::byte> received;  // the greeting, then the proof
  size_t expected = kGreetingHeaderBytes;
  // Set once the greeting is complete.
  size_t greeting_bytes = 0;
  size_t rank = 0;
  Connection connection = Connection::kMain;
  bool encrypted = false;
  Nonce challenge{};

  bool challenged() const { return greeting_bytes > 0; }
};

enum class Arrival { kIncomplete, kComplete, kRefused };

// Reads what has arrived of the greeting or the proof. It never reads beyond the end, because the
// next bytes belong to the collectives.
Arrival ReadFrom(Guest& guest) {
  while (guest.received.size() < guest.expected) {
    std::array<std::byte, kGreetingHeaderBytes + kGreetingBodyBytesMax> buffer;
    const size_t wanted = guest.expected - guest.received.size();
    const ssize_t count = recv(guest.socket.fd(), buffer.data(), wanted, 0);
    if (count < 0 && (errno == EAGAIN || errno == EINTR)) return Arrival::kIncomplete;
    if (count <= 0) return Arrival::kRefused;
    guest.received.insert(guest.received.end(), buffer.begin(), buffer.begin() + count);
    if (guest.received.size() == kGreetingHeaderBytes) {
      const auto body = DecodeGreetingHeader(std::span<const std::byte, kGreetingHeaderBytes>(
          guest.received.data(), kGreetingHeaderBytes));
      if (!body) return Arrival::kRefused;
      guest.expected += *body;
    }
  }
  return Arrival::kComplete;
}

class Mesh {
 public:
  Mesh(const GroupOptions& options, const TcpListener& listener, const std::stop_token& stop)
      : options_(options),
        listener_(listener),
        stop_(stop),
        deadline_(std::chrono::steady_clock::now() + options.connect_timeout) {
    group_.peers.resize(options.addresses.size());
    group_.results.resize(options.addresses.size());
  }

  TcpGroup Connect() {
    for (int rank = 0; rank < options_.rank; ++rank) {
      for (const Connection connection : {Connection::kMain, Connection::kResults}) {
        PlaceOf(static_cast<size_t>(rank), connection) = CallLowerRank(rank, connection);
      }
    }
    missing_ = 2 * (static_cast<int>(group_.peers.size()) - options_.rank - 1);
    while (missing_ > 0) {
      CheckTime();
      AwaitSomeone();
      AdmitGuests();
      std::erase_if(guests_, [this](Guest& guest) { return AdvanceHandshake(guest); });
    }
    return std::move(group_);
  }

 private:
  Socket& PlaceOf(size_t rank, Connection connection) {
    return (connection == Connection::kMain ? group_.peers : group_.results)[rank];
  }

  Socket CallLowerRank(int rank, Connection connection) {
    while (true) {
      if (auto socket = TryLowerRank(rank, connection)) return std::move(*socket);
      const bool again = options_.regroups && !stop_.stop_requested() &&
                         std::chrono::steady_clock::now() < deadline_;
      if (!again) {
        throw CollectiveError(NameOf(rank) + " did not accept this rank into epoch " +
                              std::to_string(options_.epoch) +
                              "; do their agents and trainers have the same version?");
      }
      std::this_thread::sleep_for(kCallAgain);
    }
  }

  std::string NameOf(int rank) const {
    return "rank " + std::to_string(rank) + " at " + options_.addresses[static_cast<size_t>(rank)];
  }

  // Nullopt when the rank refuses the connection.
  std::optional<Socket> TryLowerRank(int rank, Connection connection) {
    const std::string& address = options_.addresses[static_cast<size_t>(rank)];
    Socket socket = ConnectTo(address, deadline_, stop_);
    const auto greeting = EncodeGreeting(GreetingTo(options_, rank, connection));
    Nonce challenge{};
    Proof answer{};
    const bool admitted =
        SendAll(socket, greeting, deadline_, stop_) &&
        ReceiveAll(socket, challenge, deadline_, stop_) &&
        SendAll(socket, Prove(Side::kCaller, greeting, challenge), deadline_, stop_) &&
        ReceiveAll(socket, answer, deadline_, stop_);
    if (!admitted) return std::nullopt;
    if (!IsProof(answer, Prove(Side::kCalled, greeting, challenge))) {
      throw CollectiveError(NameOf(rank) + " does not know the secret of epoch " +
                            std::to_string(options_.epoch));
    }
    if (options_.encrypted) Encrypt(socket, Side::kCaller, rank, greeting, challenge);
    return std::optional<Socket>(std::move(socket));
  }

  void Encrypt(Socket& socket, Side side, int rank, std::span<const std::byte> greeting,
               const Nonce& challenge) const {
    try {
      socket.Encrypt(side, KeyOfChannel(options_.secret, greeting, challenge), deadline_, stop_);
    } catch (const CollectiveError& error) {
      throw CollectiveError("rank " + std::to_string(rank) + " at " +
                            options_.addresses[static_cast<size_t>(rank)] + ": " + error.what());
    }
  }

  Proof Prove(Side side, std::span<const std::byte> greeting, const Nonce& challenge) const {
    return ProofOf(side, options_.secret, greeting, challenge);
  }

  // Waits until there is a new connection, a guest has sent more, or it is time to check the
  // deadlines.
  void AwaitSomeone() const {
    std::vector<pollfd> set = {{listener_.fd(), POLLIN, 0}};
    for (const Guest& guest : guests_) set.push_back({guest.socket.fd(), POLLIN, 0});
    poll(set.data(), set.size(), static_cast<int>(kAcceptSlice.count()));
  }

  void AdmitGuests() {
    for (int i = 0; i < kGuestsPerRound; ++i) {
      auto socket = listener_.Accept();
      if (!socket) return;
      if (guests_.size() >= kGuestsMax) {
        guests_.erase(guests_.begin());
        ++group_.strangers;
      }
      guests_.push_back(
          {std::move(*socket), std::chrono::steady_clock::now() + kMeetingTimeout, {}});
    }
  }

  // True when the guest became a peer or was closed.
  bool AdvanceHandshake(Guest& guest) {
    const Arrival arrival = ReadFrom(guest);
    if (arrival == Arrival::kIncomplete && std::chrono::steady_clock::now() < guest.deadline) {
      return false;
    }
    if (arrival == Arrival::kComplete && !guest.challenged() && Challenge(guest)) return false;
    if (arrival != Arrival::kComplete || !guest.challenged() || !Seat(guest)) ++group_.strangers;
    return true;
  }

  // Challenges the sender of a valid greeting to prove itself; false for any other greeting.
  bool Challenge(Guest& guest) {
    const auto greeting = DecodeGreeting(guest.received);
    if (!greeting || !IsMissingPeer(*greeting)) return false;
    guest.challenge = RandomNonce();
    if (!SendAll(guest.socket, guest.challenge, deadline_, stop_)) return false;
    guest.rank = greeting->from_rank;
    guest.connection = greeting->connection;
    guest.encrypted = greeting->encrypted;
    guest.greeting_bytes = guest.received.size();
    guest.expected += sizeof(Proof);
    return true;
  }

  bool Seat(Guest& guest) {
    const auto greeting = std::span(guest.received).first(guest.greeting_bytes);
    const auto proof = std::span(guest.received).subspan(guest.greeting_bytes);
    if (!IsProof(proof, Prove(Side::kCaller, greeting, guest.challenge))) return false;
    Socket& place = PlaceOf(guest.rank, guest.connection);
    if (place.valid()) return false;
    CheckAgreement(guest);
    const Proof answer = Prove(Side::kCalled, greeting, guest.challenge);
    if (!SendAll(guest.socket, answer, deadline_, stop_)) return false;
    if (options_.encrypted) {
      Encrypt(guest.socket, Side::kCalled, static_cast<int>(guest.rank), greeting, guest.challenge);
    }
    place = std::move(guest.socket);
    --missing_;
    return true;
  }

  // No gradient data is sent unencrypted if either rank requires encryption.
  void CheckAgreement(const Guest& guest) const {
    if (guest.encrypted == options_.encrypted) return;
    throw CollectiveError("rank " + std::to_string(guest.rank) +
                          (guest.encrypted ? " encrypts gradients and this rank does not"
                                           : " does not encrypt gradients and this rank does") +
                          "; do their agents and trainers have the same version?");
  }

  bool IsMissingPeer(const Greeting& greeting) {
    return IsGreetingFor(options_, greeting) &&
           !PlaceOf(greeting.from_rank, greeting.connection).valid();
  }

  void CheckTime() const {
    if (stop_.stop_requested()) throw CollectiveError("forming the group was aborted");
    if (std::chrono::steady_clock::now() < deadline_) return;
    size_t rank = static_cast<size_t>(options_.rank) + 1;
    while (group_.peers[rank].valid() && group_.results[rank].valid()) ++rank;
    throw CollectiveError("rank " + std::to_string(rank) + " at " + options_.addresses[rank] +
                          " did not connect within " +
                          std::to_string(options_.connect_timeout.count()) + " ms");
  }

  const GroupOptions& options_;
  const TcpListener& listener_;
  const std::stop_token& stop_;
  const SteadyTime deadline_;
  TcpGroup group_;
  std::vector<Guest> guests_;
  int missing_ = 0;
};

}  // namespace

TcpGroup ConnectTcpGroup(const GroupOptions& options, const TcpListener& listener,
                         const std::stop_token& stop) {
  const progress::Awaiting waiting(progress::Wait::kPeer);
  return Mesh(options, listener, stop).Connect();
}

}  // namespace gp::engine
