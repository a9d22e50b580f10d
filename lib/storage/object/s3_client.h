// S3Client: the operations of S3 on one bucket. A request that fails for a reason that may pass is
// sent again within the budget. A server's answer counts as a success only if it is whole and
// fits the request. Errors name operation and object, and never contain credentials.
// Thread-safe; each call blocks its thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/status.h"
#include "storage/object/answers.h"
#include "storage/object/attempts.h"
#include "storage/object/credential_source.h"
#include "storage/object/failure.h"
#include "storage/object/http_transport.h"
#include "storage/object/location.h"

namespace gp::object {

struct ClientOptions {
  std::string bucket;
  BucketAddress address;
  std::string region;
  TransportOptions transport;
  RetryOptions retry;
};

struct ObjectInfo {
  uint64_t size = 0;
  std::string etag;
  std::string writer;  // of PutIfAbsent
};

struct ByteRange {
  uint64_t begin = 0;
  uint64_t size = 0;  // at least 1
};

struct ListRequest {
  std::string prefix;
  std::string delimiter;
  std::string continuation;
  int count_max = 1000;
};

class S3Client {
 public:
  // `credentials` and `clock` must outlive the client.
  S3Client(ClientOptions options, CredentialSource& credentials, const Clock& clock);

  Status Put(const std::string& key, std::string_view data) const;
  // With If-None-Match, which some servers ignore. `writer` is stored with the object, so that
  // Head tells who wrote it. Aborted: the object exists.
  Status PutIfAbsent(const std::string& key, std::string_view data,
                     const std::string& writer) const;

  // NotFound if the object does not exist; so do the reading calls below.
  StatusOr<ObjectInfo> Head(const std::string& key) const;
  // ResourceExhausted when it is larger than `size_bytes_max`.
  StatusOr<std::string> Get(const std::string& key, uint64_t size_bytes_max) const;
  // Aborted if the object does not have `etag` any more.
  StatusOr<std::string> GetRange(const std::string& key, ByteRange range,
                                 const std::string& etag) const;
  StatusOr<Listing> List(const ListRequest& request) const;
  // OK if it does not exist.
  Status Delete(const std::string& key) const;

  // The multipart upload. Parts are at least 5 MiB, except the last one.
  StatusOr<std::string> CreateUpload(const std::string& key) const;
  StatusOr<Part> PutPart(const std::string& key, const std::string& upload, int number,
                         std::string_view data) const;
  // The ETag of the object, without quotes. NotFound if the upload does not exist (any more).
  StatusOr<std::string> CompleteUpload(const std::string& key, const std::string& upload,
                                       const std::vector<Part>& parts) const;
  // OK if it does not exist.
  Status AbortUpload(const std::string& key, const std::string& upload) const;
  StatusOr<std::map<int, Part>> ListParts(const std::string& key, const std::string& upload) const;
  // All uploads that were begun and neither completed nor aborted.
  StatusOr<std::vector<Upload>> ListUploads(const std::string& prefix) const;

  // "s3://bucket/key"
  std::string UrlOf(const std::string& key) const;

 private:
  // Called with a success: DataLoss or Unavailable ask for another attempt.
  using Accept = std::function<Status(const HttpAnswer&)>;
  struct Operation;

  S3Request RequestOf(const std::string& method, const std::string& key) const;
  Status Call(const Operation& operation) const;
  Status PutWhole(S3Request request, const std::string& key) const;
  StatusOr<HttpAnswer> Send(const S3Request& request, const Credentials& credentials, WallTime now,
                            uint64_t answer_bytes_max) const;
  StatusOr<HttpAnswer> SendOnce(const Operation& operation, const Credentials& credentials,
                                WallTime now) const;
  Failure Attempt(const Operation& operation, const Credentials& credentials) const;

  const ClientOptions options_;
  CredentialSource& credentials_;
  const Clock& clock_;
  const HttpTransport transport_;
};

}  // namespace gp::object
