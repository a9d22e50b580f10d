// ConditionalPut: whether the object store obeys If-None-Match, so that of several writers of one
// name exactly one succeeds. Some servers ignore the header, and some look first and write then,
// so that two writers that come at the same moment both succeed. A probe with several writers finds
// out, once, before the first use. Thread-safe; a caller waits while another one probes.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/mutex.h"
#include "storage/object/s3_client.h"

namespace gp::object {

class ConditionalPut {
 public:
  // The probe writes and deletes objects whose names begin with `prefix`. `client` must outlive
  // this object.
  ConditionalPut(const S3Client& client, std::string prefix)
      : client_(client), prefix_(std::move(prefix)) {}

  // AlreadyExists when the object exists. Unimplemented when the probe has shown that the server
  // would let several writers succeed.
  Status Put(const std::string& key, std::string_view data) const;

 private:
  Status Proven() const;
  StatusOr<bool> Probe() const;
  // How many of some writers at the same time succeed in writing the absent `key`.
  StatusOr<int> CountWinners(const std::string& key) const;
  Status PutAs(const std::string& writer, const std::string& key, std::string_view data) const;

  const S3Client& client_;
  const std::string prefix_;
  mutable Mutex mutex_;
  mutable std::optional<bool> is_obeyed_ GUARDED_BY(mutex_);
};

}  // namespace gp::object
