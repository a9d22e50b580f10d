#include "worker/engine/collectives/tcp_handshake.h"

#include <algorithm>

namespace gp::engine {
namespace {

constexpr uint32_t kGreetingMagic = 0x32637067;  // "gpc2"
constexpr uint32_t kAnswerMagic = 0x6b6f7067;    // "gpok"
constexpr size_t kTextBytesMax = 256;

template <typename T>
void Put(std::vector<std::byte>& out, T value) {
  for (size_t i = 0; i < sizeof(T); ++i) out.push_back(static_cast<std::byte>(value >> (8 * i)));
}

void PutText(std::vector<std::byte>& out, const std::string& text) {
  Put(out, static_cast<uint16_t>(text.size()));
  for (const char c : text) out.push_back(static_cast<std::byte>(c));
}

// Takes values from the front of a body; after the first that does not fit, ok() is false.
class Body {
 public:
  explicit Body(std::span<const std::byte> bytes) : bytes_(bytes) {}

  template <typename T>
  void Take(T& value) {
    if (!Has(sizeof(T))) return;
    uint64_t wide = 0;
    for (size_t i = sizeof(T); i-- > 0;) wide = (wide << 8) | static_cast<uint64_t>(bytes_[i]);
    value = static_cast<T>(wide);
    bytes_ = bytes_.subspan(sizeof(T));
  }

  void Take(std::string& text) {
    uint16_t size = 0;
    Take(size);
    if (size > kTextBytesMax || !Has(size)) {
      ok_ = false;
      return;
    }
    text.clear();
    for (const std::byte b : bytes_.first(size)) text += static_cast<char>(b);
    bytes_ = bytes_.subspan(size);
  }

  bool ok() const { return ok_; }
  bool empty() const { return bytes_.empty(); }

 private:
  bool Has(size_t count) { return ok_ = ok_ && bytes_.size() >= count; }

  std::span<const std::byte> bytes_;
  bool ok_ = true;
};

}  // namespace

std::vector<std::byte> EncodeGreeting(const Greeting& greeting) {
  std::vector<std::byte> body;
  Put(body, greeting.epoch);
  Put(body, greeting.from_rank);
  Put(body, greeting.to_rank);
  Put(body, greeting.world_size);
  Put(body, greeting.logical_shards);
  PutText(body, greeting.run_id);
  PutText(body, greeting.secret);
  std::vector<std::byte> bytes;
  Put(bytes, kGreetingMagic);
  Put(bytes, static_cast<uint32_t>(body.size()));
  bytes.insert(bytes.end(), body.begin(), body.end());
  return bytes;
}

std::optional<size_t> DecodeGreetingHeader(
    std::span<const std::byte, kGreetingHeaderBytes> header) {
  Body fields(header);
  uint32_t magic = 0;
  uint32_t size = 0;
  fields.Take(magic);
  fields.Take(size);
  if (magic != kGreetingMagic || size > kGreetingBodyBytesMax) return std::nullopt;
  return size;
}

std::optional<Greeting> DecodeGreetingBody(std::span<const std::byte> body) {
  Body fields(body);
  Greeting greeting;
  fields.Take(greeting.epoch);
  fields.Take(greeting.from_rank);
  fields.Take(greeting.to_rank);
  fields.Take(greeting.world_size);
  fields.Take(greeting.logical_shards);
  fields.Take(greeting.run_id);
  fields.Take(greeting.secret);
  if (!fields.ok() || !fields.empty()) return std::nullopt;
  return greeting;
}

Greeting GreetingTo(const GroupOptions& options, int rank) {
  return {options.epoch,
          static_cast<uint32_t>(options.rank),
          static_cast<uint32_t>(rank),
          static_cast<uint32_t>(options.addresses.size()),
          static_cast<uint32_t>(options.logical_shards),
          options.run_id,
          options.secret};
}

bool IsGreetingFor(const GroupOptions& options, const Greeting& greeting) {
  const Greeting own = GreetingTo(options, 0);
  return SecretsEqual(greeting.secret, own.secret) && greeting.run_id == own.run_id &&
         greeting.epoch == own.epoch && greeting.world_size == own.world_size &&
         greeting.logical_shards == own.logical_shards && greeting.to_rank == own.from_rank &&
         greeting.from_rank > greeting.to_rank && greeting.from_rank < greeting.world_size;
}

bool SecretsEqual(const std::string& left, const std::string& right) {
  if (left.size() != right.size()) return false;
  unsigned difference = 0;
  for (size_t i = 0; i < left.size(); ++i) {
    difference |= static_cast<unsigned>(left[i] ^ right[i]);
  }
  return difference == 0;
}

std::array<std::byte, kAnswerBytes> EncodeAnswer(uint64_t epoch, uint32_t rank) {
  std::vector<std::byte> bytes;
  Put(bytes, kAnswerMagic);
  Put(bytes, rank);
  Put(bytes, epoch);
  std::array<std::byte, kAnswerBytes> answer{};
  std::copy(bytes.begin(), bytes.end(), answer.begin());
  return answer;
}

bool AnswerIs(std::span<const std::byte, kAnswerBytes> answer, uint64_t epoch, uint32_t rank) {
  return std::ranges::equal(answer, EncodeAnswer(epoch, rank));
}

}  // namespace gp::engine
