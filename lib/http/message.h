// HTTP requests and answers as values. Values and pure functions; thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"

namespace gp::http {

using Headers = std::vector<std::pair<std::string, std::string>>;

struct Request {
  std::string method;  // "GET", also for a HEAD request
  bool head = false;
  std::vector<std::string> path;  // by segment, decoded: "/v1/models/a%20b" is {v1, models, a b}
  std::vector<std::pair<std::string, std::string>> query;     // decoded
  std::vector<std::pair<std::string, std::string>> captures;  // names of the route's pattern
  Headers headers;                                            // names in lower case
  std::string body;
  std::string id;              // x-request-id
  std::string client_address;  // without the port
  std::string key_name;        // name of the API key; empty without a valid key

  // The first header or parameter of that name; nothing when the request has neither.
  std::optional<std::string_view> Header(std::string_view name) const;
  std::optional<std::string_view> Parameter(std::string_view name) const;
  // The elements of all headers of that name, which are lists with commas, in lower case; empty
  // elements are left out.
  std::vector<std::string> HeaderList(std::string_view name) const;
  // The text that the route's `{name}` matched; empty when the pattern does not have it.
  std::string_view Capture(std::string_view name) const;
  // Identifies the client for fair sharing: the key's name, or the address.
  const std::string& Asker() const { return key_name.empty() ? client_address : key_name; }
};

struct Target {
  std::vector<std::string> path;
  std::vector<std::pair<std::string, std::string>> query;
};
// Splits and decodes a request's target. InvalidArgument when it is not one, or when the path or a
// parameter, which the error names, holds a zero byte or is not UTF-8.
StatusOr<Target> ParseTarget(std::string_view target);

// The known parts of a request whose header is wrong or incomplete.
struct ReceivedHeader {
  std::string method;  // empty when the first line does not begin with one
  std::string target;
  Headers headers;  // from complete lines; names in lower case
};
ReceivedHeader ReadReceivedHeader(std::string_view bytes);

struct Response {
  int status = 200;
  std::string body;
  std::string content_type = "application/json";
  Headers headers;
};

// `text` with its ASCII letters in lower case.
std::string Lower(std::string_view text);

// The words of a status: "Not Found".
std::string_view ReasonOf(int status);

}  // namespace gp::http
