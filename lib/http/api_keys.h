// ApiKeys: who may use a server. A file with one line a key: the SHA-256 of the key in
// hexadecimal digits and, after a space, a name for the log; lines that begin with # are comments.
// KeyFile keeps the newest reading of the file. ApiKeys is constant; KeyFile is used in the loop.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "http/event_loop.h"
#include "http/offload_pool.h"

namespace gp::http {

class ApiKeys {
 public:
  // InvalidArgument names the line of `source` that is not a key, or says that there is no key.
  static StatusOr<ApiKeys> Parse(std::string_view text, const std::string& source);

  // The name of the key that `authorization` ("Bearer KEY") presents; nothing when the key is not
  // among these. Takes the same time whatever is presented.
  std::optional<std::string> NameOf(std::string_view authorization) const;

  size_t size() const { return keys_.size(); }

 private:
  struct Key {
    std::string digest;  // 64 hexadecimal digits
    std::string name;
  };

  std::vector<Key> keys_;
};

class KeyFile {
 public:
  // Reads it. An error names the file.
  static StatusOr<std::unique_ptr<KeyFile>> Open(const std::string& path);

  // From now on the file is read again when it has changed. What cannot be read, or holds no key,
  // leaves the keys as they are and is logged once.
  void Watch(EventLoop& loop, OffloadPool& pool, std::chrono::nanoseconds period);

  const ApiKeys& keys() const { return *keys_; }

 private:
  struct Reading;

  explicit KeyFile(std::string path) : path_(std::move(path)) {}
  void Reread(OffloadPool& pool);

  const std::string path_;
  std::shared_ptr<const ApiKeys> keys_;
  std::string stamp_;    // identifies the content that was read
  std::string problem_;  // that the last reading met
  bool reading_ = false;
  std::unique_ptr<Timer> timer_;
};

}  // namespace gp::http
