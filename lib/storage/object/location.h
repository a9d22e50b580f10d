// Where objects are: the bucket and prefix of an s3:// URL, and the address of a bucket at a
// server. Pure functions; thread-safe.
#pragma once

#include <string>

#include "base/status.h"

namespace gp::object {

// s3://BUCKET/PREFIX
struct Location {
  std::string bucket;
  std::string prefix;  // without a slash at either end; may be empty
};

// InvalidArgument says what is wrong with the URL.
StatusOr<Location> ParseLocation(const std::string& url);

// How a URL names the bucket: in its path (https://host/bucket/key), or as the first part of the
// host (https://bucket.host/key).
enum class Addressing {
  kByServer,  // by host at AWS, except for a bucket with a dot, which no certificate covers;
              // by path at other servers
  kPath,
  kHost,
};

struct BucketAddress {
  std::string origin;     // "https://bucket.s3.eu-west-1.amazonaws.com"
  std::string host;       // the header Host
  std::string base_path;  // "" or "/bucket"
};

// `endpoint` is http(s)://HOST[:PORT]; empty: AWS in `region`. InvalidArgument for another form.
StatusOr<BucketAddress> AddressOf(const std::string& bucket, const std::string& endpoint,
                                  const std::string& region, Addressing addressing);

}  // namespace gp::object
