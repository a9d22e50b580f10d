// ApiKeys: the keys that a server accepts. A file with one line per key: the SHA-256 of the key in
// hexadecimal digits and, after a space, a name for the log (default: key-1, key-2, …); lines that
// begin with # are comments. KeyFile keeps the newest version of the file. ApiKeys is constant;
// KeyFile is used in the loop.
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

  // The name of the key that `authorization` ("Bearer KEY") presents; nullopt when the key is not
  // among these. Compares with every key in constant time, so that the duration reveals no key.
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
  // Reads the file at `path`. Errors name it.
  static StatusOr<std::unique_ptr<KeyFile>> Open(const std::string& path);

  // Checks every `period`, on a thread of `pool`, and reloads the file when its inode, size or time
  // has changed. If it is unreadable, has a bad line or holds no key, the old keys stay and the
  // problem is logged once. `loop` and `pool` must outlive this.
  void Watch(EventLoop& loop, OffloadPool& pool, std::chrono::nanoseconds period);

  const ApiKeys& keys() const { return *keys_; }

 private:
  struct Reading;

  explicit KeyFile(std::string path) : path_(std::move(path)) {}
  void Reread(OffloadPool& pool);

  const std::string path_;
  std::shared_ptr<const ApiKeys> keys_;
  std::string stamp_;    // identifies the content that was read
  std::string problem_;  // problem of the last reload
  bool reading_ = false;
  std::unique_ptr<Timer> timer_;
};

}  // namespace gp::http
