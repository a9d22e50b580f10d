#include "coordinator/service/group_key.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>

#include <algorithm>
#include <cstdint>

#include "base/check.h"
#include "base/file.h"
#include "base/secret_file.h"

namespace gp::coordinator {
namespace {

constexpr std::string_view kPurpose = "gp group secret 1";

Status MakeKey(const std::string& path) {
  GroupKey::Bytes bytes;
  GP_CHECK(RAND_bytes(bytes.data(), static_cast<int>(bytes.size())) == 1);
  RETURN_IF_ERROR(MakeSecretDirectory(DirectoryOf(path)));
  return WriteSecretFile(
      path, std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
}

// Appends the text and its length, so that no two lists of texts give the same bytes.
void Append(std::string_view text, std::string& bytes) {
  const auto size = static_cast<uint64_t>(text.size());
  for (int shift = 0; shift < 64; shift += 8) bytes += static_cast<char>((size >> shift) & 0xff);
  bytes += text;
}

std::string Hex(const GroupKey::Bytes& bytes) {
  std::string hex;
  for (const unsigned char byte : bytes) hex += fmt::format("{:02x}", byte);
  return hex;
}

}  // namespace

StatusOr<GroupKey> GroupKey::Open(const std::string& path) {
  auto text = ReadSecretFile(path);
  if (text.status().code() == StatusCode::kNotFound) {
    RETURN_IF_ERROR(WithContext(MakeKey(path), "key of the ranks' groups"));
    text = ReadSecretFile(path);
  }
  if (!text.ok()) return WithContext(text.status(), "key of the ranks' groups");
  Bytes bytes;
  if (text->size() != bytes.size()) {
    return DataLoss(
        "key of the ranks' groups: {} has {} bytes, expected {}; remove it, and the next start "
        "makes a new one",
        path, text->size(), bytes.size());
  }
  std::copy(text->begin(), text->end(), bytes.begin());
  return GroupKey(bytes);
}

std::string GroupKey::SecretOf(const RunId& run, Epoch epoch, std::string_view nonce) const {
  std::string bytes;
  for (const std::string_view text : {kPurpose, std::string_view(run.value()), nonce}) {
    Append(text, bytes);
  }
  Append(std::to_string(epoch), bytes);
  Bytes secret;
  unsigned int size = 0;
  const auto* data = reinterpret_cast<const unsigned char*>(bytes.data());
  GP_CHECK(HMAC(EVP_sha256(), bytes_.data(), static_cast<int>(bytes_.size()), data, bytes.size(),
                secret.data(), &size) != nullptr &&
           size == secret.size());
  return Hex(secret);
}

}  // namespace gp::coordinator
