#include "worker/engine/collectives/tcp_communicator.h"

#include <poll.h>
#include <sys/socket.h>

#include <stdexcept>

#include "worker/engine/collectives/communicator_contract.h"
#include "worker/engine/collectives/tcp_handshake.h"

namespace gp::engine {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kLong{30000};

SteadyTime Later() { return std::chrono::steady_clock::now() + kLong; }

// Listeners on loopback for a group, and the options of its ranks.
struct Places {
  explicit Places(int world_size) {
    for (int rank = 0; rank < world_size; ++rank) {
      listeners.emplace_back("127.0.0.1");
      addresses.push_back(listeners.back().address());
    }
  }

  GroupOptions Options(int rank) const {
    return {.run_id = "run",
            .epoch = 3,
            .rank = rank,
            .logical_shards = kLogicalShards,
            .addresses = addresses,
            .secret = "secret",
            .connect_timeout = kLong,
            .timeout = kLong};
  }
  const TcpListener& listener(int rank) const { return listeners[static_cast<size_t>(rank)]; }

  std::vector<TcpListener> listeners;
  std::vector<std::string> addresses;
};

// `machine(rank)` names each rank's machine.
Group MakeGroup(int world_size, int logical_shards, milliseconds timeout,
                const std::function<std::string(int rank)>& machine, bool encrypted = false) {
  const Places places(world_size);
  Group group(static_cast<size_t>(world_size));
  std::stop_source stop;
  const auto connect = [&](size_t member) {
    const int rank = static_cast<int>(member);
    GroupOptions options = places.Options(rank);
    options.logical_shards = logical_shards;
    options.timeout = timeout;
    options.machine = machine(rank);
    options.encrypted = encrypted;
    group[member] = TcpCommunicator::Connect(options, places.listener(rank), stop.get_token());
  };
  OnEachRank(group.size(), connect, [&stop] { stop.request_stop(); });
  for (const auto& member : group) {
    if (!member) throw std::runtime_error("the group was not formed");
  }
  return group;
}

struct TcpFactory {
  static Group Make(int world_size, int logical_shards, milliseconds timeout) {
    return MakeGroup(world_size, logical_shards, timeout, [](int) { return ""; });
  }
};
INSTANTIATE_TYPED_TEST_SUITE_P(Tcp, CommunicatorContract, TcpFactory);

struct EncryptedFactory {
  static Group Make(int world_size, int logical_shards, milliseconds timeout) {
    return MakeGroup(
        world_size, logical_shards, timeout, [](int) { return ""; }, /*encrypted=*/true);
  }
};
INSTANTIATE_TYPED_TEST_SUITE_P(Encrypted, CommunicatorContract, EncryptedFactory);

// Two ranks per machine: these add in shared memory, and machines communicate over TLS.
struct EncryptedPairsFactory {
  static Group Make(int world_size, int logical_shards, milliseconds timeout) {
    return MakeGroup(
        world_size, logical_shards, timeout,
        [](int rank) { return "m" + std::to_string(rank / 2); }, /*encrypted=*/true);
  }
};
INSTANTIATE_TYPED_TEST_SUITE_P(EncryptedPairs, CommunicatorContract, EncryptedPairsFactory);

// All ranks are on one machine.
struct OneNodeFactory {
  static Group Make(int world_size, int logical_shards, milliseconds timeout) {
    return MakeGroup(world_size, logical_shards, timeout, [](int) { return "m"; });
  }
};
INSTANTIATE_TYPED_TEST_SUITE_P(OneNode, CommunicatorContract, OneNodeFactory);

// Two ranks per machine, which are neighbours in the tree; the last machine may have one.
struct PairsFactory {
  static Group Make(int world_size, int logical_shards, milliseconds timeout) {
    return MakeGroup(world_size, logical_shards, timeout,
                     [](int rank) { return "m" + std::to_string(rank / 2); });
  }
};
INSTANTIATE_TYPED_TEST_SUITE_P(Pairs, CommunicatorContract, PairsFactory);

// Two machines with alternating ranks, so that no machine can add up sums of two of its ranks.
struct AlternatingFactory {
  static Group Make(int world_size, int logical_shards, milliseconds timeout) {
    return MakeGroup(world_size, logical_shards, timeout,
                     [](int rank) { return "m" + std::to_string(rank % 2); });
  }
};
INSTANTIATE_TYPED_TEST_SUITE_P(Alternating, CommunicatorContract, AlternatingFactory);

// Rank 0 of two forms its group while `visit` talks to its listener; then the real rank 1 connects.
// Returns the number of strangers that rank 0 counted.
int StrangersAfter(const std::function<void(const std::string& address)>& visit) {
  const Places places(2);
  std::unique_ptr<TcpCommunicator> first;
  std::unique_ptr<TcpCommunicator> second;
  std::jthread accepting([&] {
    first = TcpCommunicator::Connect(places.Options(0), places.listener(0));
    first->Barrier();
  });
  visit(places.addresses[0]);
  second = TcpCommunicator::Connect(places.Options(1), places.listener(1));
  second->Barrier();
  accepting.join();
  return first->strangers();
}

// Sends `bytes`; expects that the connection is closed without an answer.
void ExpectRefused(const std::string& address, std::span<const std::byte> bytes) {
  const Socket socket = ConnectTo(address, Later(), {});
  ASSERT_TRUE(SendAll(socket, bytes, Later(), {}));
  shutdown(socket.fd(), SHUT_WR);
  std::byte answer{};
  EXPECT_FALSE(ReceiveAll(socket, {&answer, 1}, Later(), {}));
}

const Greeting kRight = {3, 1, 0, 2, kLogicalShards, "run", {}, false};

TEST(TcpCommunicator, ClosesAndCountsStrangers) {
  std::vector<Greeting> wrong(6, kRight);
  wrong[0].epoch = 2;
  wrong[1].run_id = "another";
  wrong[2].from_rank = 2;
  wrong[3].to_rank = 1;
  wrong[4].world_size = 3;
  wrong[5].logical_shards = 4;
  const int strangers = StrangersAfter([&](const std::string& address) {
    for (const Greeting& greeting : wrong) ExpectRefused(address, EncodeGreeting(greeting));
    ExpectRefused(address, std::as_bytes(std::span("GET / HTTP/1.1\r\n\r\n")));
  });
  EXPECT_EQ(strangers, 7);
}

// Greets as rank 1 and answers the challenge with `proof`; expects to be refused.
void ExpectProofRefused(const std::string& address,
                        const std::function<Proof(const Nonce& challenge)>& proof) {
  const Socket socket = ConnectTo(address, Later(), {});
  Nonce challenge{};
  ASSERT_TRUE(SendAll(socket, EncodeGreeting(kRight), Later(), {}));
  ASSERT_TRUE(ReceiveAll(socket, challenge, Later(), {}));
  ASSERT_TRUE(SendAll(socket, proof(challenge), Later(), {}));
  std::byte answer{};
  EXPECT_FALSE(ReceiveAll(socket, {&answer, 1}, Later(), {}));
}

TEST(TcpCommunicator, AStrangerProvesNothing) {
  const auto greeting = EncodeGreeting(kRight);
  const int strangers = StrangersAfter([&](const std::string& address) {
    ExpectProofRefused(address, [&](const Nonce& challenge) {
      return ProofOf(Side::kCaller, "Secret", greeting, challenge);
    });
    // The proof for the other direction, which an attacker could get by reflecting the challenge.
    ExpectProofRefused(address, [&](const Nonce& challenge) {
      return ProofOf(Side::kCalled, "secret", greeting, challenge);
    });
  });
  EXPECT_EQ(strangers, 2);
}

// The proof is right for another challenge, like one recorded earlier.
TEST(TcpCommunicator, ARecordedProofIsGoodOnce) {
  const Proof recorded = ProofOf(Side::kCaller, "secret", EncodeGreeting(kRight), Nonce{});
  const int strangers = StrangersAfter([&](const std::string& address) {
    ExpectProofRefused(address, [&](const Nonce&) { return recorded; });
  });
  EXPECT_EQ(strangers, 1);
}

TEST(TcpCommunicator, TheSecretIsNotSent) {
  const TcpListener listener("127.0.0.1");
  std::string seen;
  std::jthread impostor([&] {
    ASSERT_TRUE(WaitReady(listener.fd(), POLLIN, Later(), {}));
    const auto caller = listener.Accept();
    ASSERT_TRUE(caller.has_value());
    std::byte byte{};
    std::vector<std::byte> greeting(EncodeGreeting(kRight).size());
    ASSERT_TRUE(ReceiveAll(*caller, greeting, Later(), {}));
    ASSERT_TRUE(SendAll(*caller, Nonce{}, Later(), {}));
    Proof proof{};
    ASSERT_TRUE(ReceiveAll(*caller, proof, Later(), {}));
    for (const std::byte b : greeting) seen += static_cast<char>(b);
    for (const std::byte b : proof) seen += static_cast<char>(b);
    ASSERT_TRUE(SendAll(*caller, proof, Later(), {}));
    EXPECT_FALSE(ReceiveAll(*caller, {&byte, 1}, Later(), {}));
  });
  const Places places(2);
  GroupOptions options = places.Options(1);
  options.addresses[0] = listener.address();
  try {
    TcpCommunicator::Connect(options, places.listener(1));
    ADD_FAILURE() << "the rank took an impostor for its peer";
  } catch (const CollectiveError& error) {
    EXPECT_NE(std::string(error.what()).find("does not know the secret of epoch 3"),
              std::string::npos)
        << error.what();
  }
  impostor.join();
  EXPECT_EQ(seen.find("secret"), std::string::npos);
}

TEST(TcpCommunicator, AGreetingCutAtAnyByteIsAStranger) {
  const auto bytes = EncodeGreeting(kRight);
  const int strangers = StrangersAfter([&](const std::string& address) {
    for (size_t size = 0; size < bytes.size(); ++size) {
      ExpectRefused(address, std::span(bytes).first(size));
    }
  });
  EXPECT_EQ(strangers, static_cast<int>(bytes.size()));
}

TEST(TcpCommunicator, ASilentVisitorHoldsNobodyUp) {
  std::vector<Socket> silent;
  const int strangers = StrangersAfter([&](const std::string& address) {
    for (int i = 0; i < 3; ++i) silent.push_back(ConnectTo(address, Later(), {}));
  });
  EXPECT_EQ(strangers, 0);
}

// Far more visitors than can be handled at once. Each would keep its place for five seconds, which
// adds up to more than 18 s.
TEST(TcpCommunicator, AFloodOfSilentVisitorsHoldsNobodyUp) {
  std::vector<Socket> silent;
  const auto begin = std::chrono::steady_clock::now();
  const int strangers = StrangersAfter([&](const std::string& address) {
    for (int i = 0; i < 300; ++i) silent.push_back(ConnectTo(address, Later(), {}));
  });
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(15));
  EXPECT_GE(strangers, 300 - 64);
}

TEST(TcpCommunicator, ARankWithAnotherSecretIsTurnedAway) {
  const Places places(2);
  GroupOptions patient = places.Options(0);
  patient.connect_timeout = milliseconds(200);
  std::jthread accepting([&] {
    EXPECT_THROW(TcpCommunicator::Connect(patient, places.listener(0)), CollectiveError);
  });
  GroupOptions wrong = places.Options(1);
  wrong.secret = "stale";
  try {
    TcpCommunicator::Connect(wrong, places.listener(1));
    ADD_FAILURE() << "the group was formed";
  } catch (const CollectiveError& error) {
    EXPECT_NE(std::string(error.what()).find("rank 0"), std::string::npos) << error.what();
  }
}

TEST(TcpCommunicator, ARankThatIsStillInAnEarlierGroupIsCalledAgain) {
  const Places places(2);
  std::stop_source leaves_earlier;
  std::unique_ptr<Communicator> lower, upper;
  std::jthread late([&] {
    GroupOptions earlier = places.Options(0);
    earlier.epoch = 2;
    EXPECT_THROW(TcpCommunicator::Connect(earlier, places.listener(0), leaves_earlier.get_token()),
                 CollectiveError);
    lower = TcpCommunicator::Connect(places.Options(0), places.listener(0));
  });
  std::jthread early([&] {
    GroupOptions options = places.Options(1);
    options.regroups = true;
    upper = TcpCommunicator::Connect(options, places.listener(1));
  });
  std::this_thread::sleep_for(milliseconds(50));
  leaves_earlier.request_stop();
  late.join();
  early.join();
  EXPECT_TRUE(lower != nullptr && upper != nullptr);
}

TEST(TcpCommunicator, NamesTheRankThatDoesNotCome) {
  const Places places(3);
  GroupOptions options = places.Options(0);
  options.connect_timeout = milliseconds(30);
  try {
    TcpCommunicator::Connect(options, places.listener(0));
    ADD_FAILURE() << "the group was formed";
  } catch (const CollectiveError& error) {
    EXPECT_NE(std::string(error.what()).find("rank 1"), std::string::npos) << error.what();
  }
}

TEST(TcpCommunicator, AStopRequestEndsTheFormingOfAGroup) {
  const Places places(2);
  std::stop_source stop;
  std::jthread stopper([&] { stop.request_stop(); });
  EXPECT_THROW(TcpCommunicator::Connect(places.Options(0), places.listener(0), stop.get_token()),
               CollectiveError);
}

TEST(TcpCommunicator, RanksOfOneMachineAreOneNode) {
  const auto nodes = [](const std::vector<std::string>& machines) {
    const Group group = MakeGroup(static_cast<int>(machines.size()), kLogicalShards, kLong,
                                  [&](int rank) { return machines[static_cast<size_t>(rank)]; });
    return static_cast<const TcpCommunicator&>(*group[0]).nodes();
  };
  EXPECT_EQ(nodes({"m", "m", "m"}), 1u);
  EXPECT_EQ(nodes({"m", "n", "m"}), 2u);
  EXPECT_EQ(nodes({"", "m", "m", ""}), 3u) << "who names no machine is alone";
  EXPECT_EQ(nodes({""}), 1u);
}

// The handshake and a peer's next message may be read together. A rank that then waits for the
// socket to become readable would wait in vain for five seconds.
TEST(TcpCommunicator, RanksThatEncryptMeetAtOnce) {
  for (int i = 0; i < 5; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    const Group group = EncryptedPairsFactory::Make(4, kLogicalShards, kLong);
    EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(5)) << "group " << i;
    EXPECT_EQ(static_cast<const TcpCommunicator&>(*group[0]).nodes(), 2u);
  }
}

TEST(TcpCommunicator, OnlyRanksOnSeveralNodesOverlap) {
  const auto overlap = [](const char* second) {
    const Group group =
        MakeGroup(2, kLogicalShards, kLong, [&](int rank) { return rank == 0 ? "m" : second; });
    return group[0]->overlap_elements();
  };
  EXPECT_EQ(overlap("m"), 0u);
  EXPECT_GT(overlap("n"), 0u);
}

TEST(TcpCommunicator, RanksInDifferentCollectivesNoticeIt) {
  Group group = TcpFactory::Make(2, kLogicalShards, kLong);
  OnEveryRank(group, [](Communicator& member) {
    std::vector<double> values(member.rank() == 0 ? 1 : 2);
    EXPECT_THROW(member.AllReduceMax(values), CollectiveError);
    member.Abort("the other one may still wait");
  });
}

TEST(TcpCommunicator, RefusesPartialsThatAreNotItsSubtrees) {
  Group group = TcpFactory::Make(1, kLogicalShards, kLong);
  std::vector<float> values(4);
  EXPECT_THROW(group[0]->AllReduceTree(values, {values, values}), std::logic_error);
}

TEST(TcpCommunicator, RefusesFewerShardsThanRanks) {
  EXPECT_THROW(PlanOfRanks(2, 3, 0), std::logic_error);
  EXPECT_THROW(PlanOfRanks(6, 3, 0), std::logic_error);
}

}  // namespace
}  // namespace gp::engine
