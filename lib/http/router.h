// Router: finds the handler that answers a path. Filled before the server starts, then constant;
// used in the loop.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "http/message.h"

namespace gp::http {

class Exchange;

// Answers through the exchange, at once or later; it may keep the exchange until then. An exchange
// dropped without an answer is answered with 500.
using Handler = std::function<void(const std::shared_ptr<Exchange>& exchange)>;

struct Route {
  std::string method;   // "GET"
  std::string pattern;  // "/v1/models/{id}"; a last "{path...}" matches the rest
  Handler handler;
  bool open = false;      // answered without an API key
  bool any_host = false;  // allowed under any Host name: probes may use any
};

class Router {
 public:
  // REQUIRES: the pattern begins with '/', and no other route has this method and pattern.
  void Add(Route route);

  struct Unknown {};  // no route has the path
  struct WrongMethod {
    std::string allowed;  // "GET, HEAD, OPTIONS"
  };
  using Found = std::variant<const Route*, Unknown, WrongMethod>;
  // Writes what the pattern captured into `captures`. A route with fewer captures wins.
  Found Find(std::string_view method, const std::vector<std::string>& path,
             Headers& captures) const;

  // For a `path` that no route has: the path that was probably meant. Ignores empty segments, a
  // missing or repeated "v1" and extra segments at the front, else takes the most similar pattern.
  // Nullopt if none is similar.
  std::optional<std::string> Suggest(const std::vector<std::string>& path) const;

  const std::vector<std::unique_ptr<const Route>>& routes() const { return routes_; }

 private:
  std::vector<std::unique_ptr<const Route>> routes_;
};

}  // namespace gp::http
