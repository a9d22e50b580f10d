#include "worker/engine/collectives/tcp_handshake.h"

#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/kdf.h>
#include <openssl/params.h>
#include <openssl/rand.h>

#include <algorithm>
#include <memory>
#include <string_view>

namespace gp::engine {
namespace {

constexpr uint32_t kGreetingMagic = 0x34637067;           // "gpc4"
constexpr uint32_t kEncryptedGreetingMagic = 0x34737067;  // "gps4"
constexpr std::string_view kCallerLabel = "gp-collectives-caller";
constexpr std::string_view kCalledLabel = "gp-collectives-called";
constexpr std::string_view kChannelLabel = "gp-collectives-tls";
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

  void Take(Nonce& nonce) {
    if (!Has(nonce.size())) return;
    std::copy_n(bytes_.begin(), nonce.size(), nonce.begin());
    bytes_ = bytes_.subspan(nonce.size());
  }

  bool ok() const { return ok_; }
  bool empty() const { return bytes_.empty(); }

 private:
  bool Has(size_t count) { return ok_ = ok_ && bytes_.size() >= count; }

  std::span<const std::byte> bytes_;
  bool ok_ = true;
};

}  // namespace

Nonce RandomNonce() {
  Nonce nonce;
  if (RAND_bytes(reinterpret_cast<unsigned char*>(nonce.data()), nonce.size()) != 1) {
    throw CollectiveError("the system returns no random bytes");
  }
  return nonce;
}

std::vector<std::byte> EncodeGreeting(const Greeting& greeting) {
  std::vector<std::byte> body;
  Put(body, greeting.epoch);
  Put(body, greeting.from_rank);
  Put(body, greeting.to_rank);
  Put(body, greeting.world_size);
  Put(body, greeting.logical_shards);
  Put(body, static_cast<uint16_t>(greeting.connection));
  PutText(body, greeting.run_id);
  body.insert(body.end(), greeting.nonce.begin(), greeting.nonce.end());
  std::vector<std::byte> bytes;
  Put(bytes, greeting.encrypted ? kEncryptedGreetingMagic : kGreetingMagic);
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
  if (magic != kGreetingMagic && magic != kEncryptedGreetingMagic) return std::nullopt;
  if (size > kGreetingBodyBytesMax) return std::nullopt;
  return size;
}

std::optional<Greeting> DecodeGreeting(std::span<const std::byte> bytes) {
  if (bytes.size() < kGreetingHeaderBytes) return std::nullopt;
  const auto size = DecodeGreetingHeader(bytes.first<kGreetingHeaderBytes>());
  if (!size || *size != bytes.size() - kGreetingHeaderBytes) return std::nullopt;
  Body fields(bytes);
  Greeting greeting;
  uint32_t magic = 0;
  uint32_t body_bytes = 0;
  fields.Take(magic);
  fields.Take(body_bytes);
  greeting.encrypted = magic == kEncryptedGreetingMagic;
  fields.Take(greeting.epoch);
  fields.Take(greeting.from_rank);
  fields.Take(greeting.to_rank);
  fields.Take(greeting.world_size);
  fields.Take(greeting.logical_shards);
  uint16_t connection = 0;
  fields.Take(connection);
  greeting.connection = static_cast<Connection>(connection);
  fields.Take(greeting.run_id);
  fields.Take(greeting.nonce);
  const bool known = greeting.connection <= Connection::kResults;
  if (!fields.ok() || !fields.empty() || !known) return std::nullopt;
  return greeting;
}

Greeting GreetingTo(const GroupOptions& options, int rank, Connection connection) {
  return {options.epoch,
          static_cast<uint32_t>(options.rank),
          static_cast<uint32_t>(rank),
          static_cast<uint32_t>(options.addresses.size()),
          static_cast<uint32_t>(options.logical_shards),
          options.run_id,
          RandomNonce(),
          options.encrypted,
          connection};
}

bool IsGreetingFor(const GroupOptions& options, const Greeting& greeting) {
  return greeting.run_id == options.run_id && greeting.epoch == options.epoch &&
         greeting.world_size == options.addresses.size() &&
         greeting.logical_shards == static_cast<uint32_t>(options.logical_shards) &&
         greeting.to_rank == static_cast<uint32_t>(options.rank) &&
         greeting.from_rank > greeting.to_rank && greeting.from_rank < greeting.world_size;
}

Proof ProofOf(Side side, const std::string& secret, std::span<const std::byte> greeting,
              const Nonce& challenge) {
  std::string message(side == Side::kCaller ? kCallerLabel : kCalledLabel);
  message.append(reinterpret_cast<const char*>(greeting.data()), greeting.size());
  message.append(reinterpret_cast<const char*>(challenge.data()), challenge.size());
  Proof proof;
  unsigned size = 0;
  const unsigned char* made =
      HMAC(EVP_sha256(), secret.data(), static_cast<int>(secret.size()),
           reinterpret_cast<const unsigned char*>(message.data()), message.size(),
           reinterpret_cast<unsigned char*>(proof.data()), &size);
  if (made == nullptr || size != proof.size()) throw CollectiveError("HMAC-SHA256 failed");
  return proof;
}

ChannelKey KeyOfChannel(const std::string& secret, std::span<const std::byte> greeting,
                        const Nonce& challenge) {
  std::string info(kChannelLabel);
  info.append(reinterpret_cast<const char*>(greeting.data()), greeting.size());
  std::string salt(reinterpret_cast<const char*>(challenge.data()), challenge.size());
  std::string digest = "SHA256";
  std::string input = secret;
  const std::array<OSSL_PARAM, 5> parameters = {
      OSSL_PARAM_construct_utf8_string(OSSL_KDF_PARAM_DIGEST, digest.data(), digest.size()),
      OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_KEY, input.data(), input.size()),
      OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_SALT, salt.data(), salt.size()),
      OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_INFO, info.data(), info.size()),
      OSSL_PARAM_construct_end()};
  const std::unique_ptr<EVP_KDF, void (*)(EVP_KDF*)> kdf(
      EVP_KDF_fetch(nullptr, OSSL_KDF_NAME_HKDF, nullptr), EVP_KDF_free);
  const std::unique_ptr<EVP_KDF_CTX, void (*)(EVP_KDF_CTX*)> context(EVP_KDF_CTX_new(kdf.get()),
                                                                     EVP_KDF_CTX_free);
  ChannelKey key;
  const bool made = context != nullptr &&
                    EVP_KDF_derive(context.get(), reinterpret_cast<unsigned char*>(key.data()),
                                   key.size(), parameters.data()) == 1;
  OPENSSL_cleanse(input.data(), input.size());
  if (!made) throw CollectiveError("HKDF-SHA256 failed");
  return key;
}

bool IsProof(std::span<const std::byte> bytes, const Proof& proof) {
  return bytes.size() == proof.size() &&
         CRYPTO_memcmp(bytes.data(), proof.data(), proof.size()) == 0;
}

}  // namespace gp::engine
