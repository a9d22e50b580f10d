// AWS Signature Version 4, with which S3 and its kin authenticate requests
// (https://docs.aws.amazon.com/AmazonS3/latest/API/sig-v4-header-based-auth.html). The body is part
// of the signature. Pure; thread-safe.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "storage/object/credentials.h"

namespace gp::object {

struct Header {
  std::string name;  // lower case
  std::string value;
};

struct S3Request {
  std::string method;
  std::string host;                                        // with the port, as in the header Host
  std::string path;                                        // not encoded
  std::vector<std::pair<std::string, std::string>> query;  // not encoded; an order is not needed
  std::vector<Header> headers;
  std::string_view body;  // must outlive the request
};

// The query as it is sent and signed: encoded and sorted; empty if there is none.
std::string QueryText(const S3Request& request);

// The headers to add to the request: Authorization and those that it signs besides the request's
// own.
std::vector<Header> SignatureHeaders(const S3Request& request, const Credentials& credentials,
                                     const std::string& region, WallTime now);

}  // namespace gp::object
