// How two ranks authenticate, over TCP and inside a node. The caller greets, the called rank sends
// a challenge, and each proves to the other, the caller first, that it has the secret of the epoch.
// The secret itself is never sent. Bytes: docs/formats/collectives.md. Any thread may call.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "worker/engine/collectives/communicator.h"

namespace gp::engine {

// Random bytes, used once, so that a recorded proof cannot be replayed.
using Nonce = std::array<std::byte, 32>;
// Throws CollectiveError when the system gives no random bytes.
Nonce RandomNonce();

// The key that encrypts one connection; every connection has its own.
using ChannelKey = std::array<std::byte, 32>;

// A rank has two connections to every other one.
enum class Connection : uint16_t {
  kMain = 0,     // partial sums, and every collective that is not an all-reduce
  kResults = 1,  // finished sums
};

struct Greeting {
  uint64_t epoch = 0;
  uint32_t from_rank = 0;
  uint32_t to_rank = 0;
  uint32_t world_size = 0;
  uint32_t logical_shards = 0;
  std::string run_id;
  Nonce nonce{};
  bool encrypted = false;  // TLS follows the proofs; announced by the magic
  Connection connection = Connection::kMain;
};

// Magic and body size; the body follows.
inline constexpr size_t kGreetingHeaderBytes = 8;
inline constexpr size_t kGreetingBodyBytesMax = 1024;

// REQUIRES: run_id of at most 256 bytes.
std::vector<std::byte> EncodeGreeting(const Greeting& greeting);

// The size of the body that follows; nullopt when the bytes are not a greeting's header.
std::optional<size_t> DecodeGreetingHeader(std::span<const std::byte, kGreetingHeaderBytes> header);

// nullopt unless `bytes`, header and body, are exactly one greeting.
std::optional<Greeting> DecodeGreeting(std::span<const std::byte> bytes);

// The greeting from the rank of `options` to `rank`, with a new nonce.
Greeting GreetingTo(const GroupOptions& options, int rank,
                    Connection connection = Connection::kMain);
// Whether `greeting` claims to be from a higher rank of the group to the rank of `options`. It
// proves nothing yet. Encryption settings are compared after the proof, so that a mismatch can be
// reported.
bool IsGreetingFor(const GroupOptions& options, const Greeting& greeting);

enum class Side { kCaller, kCalled };
using Proof = std::array<std::byte, 32>;

// HMAC-SHA256 (RFC 2104) with the secret, over the side, the greeting's bytes and the challenge.
Proof ProofOf(Side side, const std::string& secret, std::span<const std::byte> greeting,
              const Nonce& challenge);
// HKDF-SHA256 (RFC 5869) of the secret, with the challenge as salt, over the greeting's bytes.
ChannelKey KeyOfChannel(const std::string& secret, std::span<const std::byte> greeting,
                        const Nonce& challenge);
// Whether `bytes` are that proof; the time does not depend on where they differ.
bool IsProof(std::span<const std::byte> bytes, const Proof& proof);

}  // namespace gp::engine
