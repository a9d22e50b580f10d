#include "http/api_keys.h"

#include <openssl/crypto.h>
#include <sys/stat.h>

#include <utility>

#include "base/file.h"
#include "base/log.h"
#include "formats/sha256.h"
#include "http/message.h"

namespace gp::http {
namespace {

constexpr uint64_t kFileBytesMax = 1 << 20;
constexpr size_t kDigestDigits = 64;

bool IsDigest(std::string_view text) {
  return text.size() == kDigestDigits &&
         text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

// Text that changes when the file changes; empty if there is no file.
std::string StampOf(const std::string& path) {
  struct stat found {};
  if (stat(path.c_str(), &found) != 0) return "";
  return fmt::format("{}:{}:{}.{}", found.st_ino, found.st_size, found.st_mtim.tv_sec,
                     found.st_mtim.tv_nsec);
}

StatusOr<ApiKeys> ReadKeys(const std::string& path) {
  ASSIGN_OR_RETURN(const std::string text, ReadFile(path, kFileBytesMax));
  return ApiKeys::Parse(text, path);
}

}  // namespace

StatusOr<ApiKeys> ApiKeys::Parse(std::string_view text, const std::string& source) {
  ApiKeys keys;
  for (int number = 1; !text.empty(); ++number) {
    const size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    while (!line.empty() && (line.back() == ' ' || line.back() == '\r')) line.remove_suffix(1);
    if (line.empty() || line.front() == '#') continue;
    const size_t space = line.find(' ');
    std::string digest = Lower(line.substr(0, space));
    if (!IsDigest(digest)) {
      return InvalidArgument(
          "{}:{}: expected the SHA-256 of a key in hexadecimal digits and a name; make one with "
          "printf %s KEY | sha256sum",
          source, number);
    }
    const size_t name =
        space == std::string_view::npos ? space : line.find_first_not_of(' ', space);
    keys.keys_.push_back({std::move(digest), name == std::string_view::npos
                                                 ? fmt::format("key-{}", keys.keys_.size() + 1)
                                                 : std::string(line.substr(name))});
  }
  if (keys.keys_.empty()) return InvalidArgument("{}: holds no key", source);
  return keys;
}

std::optional<std::string> ApiKeys::NameOf(std::string_view authorization) const {
  constexpr std::string_view kScheme = "bearer ";
  const bool bearer = Lower(authorization.substr(0, kScheme.size())) == kScheme;
  std::string_view secret = bearer ? authorization.substr(kScheme.size()) : authorization;
  secret.remove_prefix(std::min(secret.find_first_not_of(' '), secret.size()));  // RFC 9110: 1*SP
  const std::string digest = formats::Sha256Hex(secret);
  const Key* found = nullptr;
  for (const Key& key : keys_) {
    if (CRYPTO_memcmp(digest.data(), key.digest.data(), kDigestDigits) == 0) found = &key;
  }
  if (found == nullptr || !bearer) return std::nullopt;
  return found->name;
}

struct KeyFile::Reading {
  std::string stamp;
  StatusOr<ApiKeys> keys = NotFound("");
};

StatusOr<std::unique_ptr<KeyFile>> KeyFile::Open(const std::string& path) {
  std::unique_ptr<KeyFile> file(new KeyFile(path));
  file->stamp_ = StampOf(path);
  ASSIGN_OR_RETURN(ApiKeys keys, ReadKeys(path));
  file->keys_ = std::make_shared<const ApiKeys>(std::move(keys));
  return file;
}

void KeyFile::Watch(EventLoop& loop, OffloadPool& pool, std::chrono::nanoseconds period) {
  timer_ = loop.Every(period, [this, &pool] { Reread(pool); });
}

void KeyFile::Reread(OffloadPool& pool) {
  if (reading_) return;
  auto reading = std::make_shared<Reading>();
  const auto work = [reading, path = path_, known = stamp_] {
    reading->stamp = StampOf(path);
    if (reading->stamp != known) reading->keys = ReadKeys(path);
  };
  const auto done = [this, reading] {
    reading_ = false;
    if (reading->stamp == stamp_) return;
    stamp_ = reading->stamp;
    if (reading->keys.ok()) {
      keys_ = std::make_shared<const ApiKeys>(*std::move(reading->keys));
      problem_.clear();
      LogInfo("API keys reloaded", {{"file", path_}, {"keys", keys_->size()}});
    } else if (const std::string problem = Message(reading->keys.status()); problem != problem_) {
      problem_ = problem;
      LogWarning("cannot reload the API keys; the previous keys stay valid", {{"error", problem}});
    }
  };
  reading_ = pool.Submit(work, done);
}

}  // namespace gp::http
