// The XML of S3's answers. A text that is cut off, or that is not the expected answer, is DataLoss,
// so that it is never taken for an empty list. Pure functions; thread-safe.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/status.h"

namespace gp::object {

struct ErrorAnswer {
  std::string code;  // "NoSuchKey", "SlowDown", …; empty if the body is not S3's error
  std::string message;
  std::string region;       // where the bucket is, if the server says so
  std::string server_time;  // with RequestTimeTooSkewed
};

// Also for bodies that are not XML, such as a proxy's page.
ErrorAnswer ParseError(const std::string& body);

struct Listing {
  std::vector<std::string> keys;
  std::vector<std::string> prefixes;  // with the delimiter
  std::string continuation;           // empty on the last page
};

StatusOr<Listing> ParseListing(const std::string& body);

// The answer to CreateMultipartUpload.
StatusOr<std::string> ParseUploadId(const std::string& body);

struct Part {
  int number = 0;    // from 1
  std::string etag;  // without quotes
  uint64_t size = 0;
};

struct PartListing {
  std::vector<Part> parts;
  int next = 0;  // the number after which the next page begins; 0 on the last page
};

StatusOr<PartListing> ParseParts(const std::string& body);

struct Upload {
  std::string key;
  std::string id;
  WallTime initiated;
};

struct UploadListing {
  std::vector<Upload> uploads;
  std::string next_key, next_id;  // after which the next page begins; empty on the last page
};

StatusOr<UploadListing> ParseUploads(const std::string& body);

// The ETag of the completed object. CompleteMultipartUpload may answer 200 with an error in the
// body, which is Unavailable here.
StatusOr<std::string> ParseCompletion(const std::string& body);
// The body of CompleteMultipartUpload's request.
std::string CompletionText(const std::vector<Part>& parts);

}  // namespace gp::object
