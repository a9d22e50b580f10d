// The greeting with which a rank opens its connection to a peer, and the answer; the same over TCP
// and inside a node. Bytes: docs/formats/collectives.md. Pure functions.
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

struct Greeting {
  uint64_t epoch = 0;
  uint32_t from_rank = 0;
  uint32_t to_rank = 0;
  uint32_t world_size = 0;
  uint32_t logical_shards = 0;
  std::string run_id;
  std::string secret;
};

// Magic and body size; the body follows.
inline constexpr size_t kGreetingHeaderBytes = 8;
inline constexpr size_t kGreetingBodyBytesMax = 1024;
inline constexpr size_t kAnswerBytes = 16;

// REQUIRES: run_id and secret of at most 256 bytes each.
std::vector<std::byte> EncodeGreeting(const Greeting& greeting);

// The size of the body that follows; nullopt when the bytes are no greeting's header.
std::optional<size_t> DecodeGreetingHeader(std::span<const std::byte, kGreetingHeaderBytes> header);

// nullopt unless `body` is exactly one greeting.
std::optional<Greeting> DecodeGreetingBody(std::span<const std::byte> body);

// The greeting from the rank of `options` to `rank`.
Greeting GreetingTo(const GroupOptions& options, int rank);
// Whether `greeting` is from a higher rank of the group to the rank of `options`.
bool IsGreetingFor(const GroupOptions& options, const Greeting& greeting);

// Compares the secrets in a time that does not depend on where they differ.
bool SecretsEqual(const std::string& left, const std::string& right);

std::array<std::byte, kAnswerBytes> EncodeAnswer(uint64_t epoch, uint32_t rank);
bool AnswerIs(std::span<const std::byte, kAnswerBytes> answer, uint64_t epoch, uint32_t rank);

}  // namespace gp::engine
