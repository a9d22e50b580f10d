#include "http/router.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/check.h"
#include "base/text/nearest_word.h"

namespace gp::http {
namespace {

bool IsCapture(std::string_view part) { return part.starts_with('{') && part.ends_with('}'); }

// The pattern's captures in `path`; nullopt if it does not match.
std::optional<Headers> Match(std::string_view pattern, const std::vector<std::string>& path) {
  Headers captures;
  pattern.remove_prefix(1);
  for (size_t i = 0; i < path.size(); ++i) {
    const size_t slash = pattern.find('/');
    const std::string_view part = pattern.substr(0, slash);
    if (part.ends_with("...}")) {
      if (path.back().empty()) return std::nullopt;  // no path may end in an extra slash
      std::string rest = path[i];
      for (++i; i < path.size(); ++i) rest += "/" + path[i];
      captures.emplace_back(part.substr(1, part.size() - 5), std::move(rest));
      return captures;
    }
    if (IsCapture(part) && !path[i].empty()) {
      captures.emplace_back(part.substr(1, part.size() - 2), path[i]);
    } else if (part != path[i]) {
      return std::nullopt;
    }
    const bool last = i + 1 == path.size();
    if (last != (slash == std::string_view::npos)) return std::nullopt;
    if (!last) pattern.remove_prefix(slash + 1);
  }
  return captures;
}

std::string Joined(const std::vector<std::string>& path) {
  std::string joined;
  for (const std::string& segment : path) joined += "/" + segment;
  return joined;
}

}  // namespace

void Router::Add(Route route) {
  GP_CHECK(route.pattern.starts_with('/'), "{}", route.pattern);
  for (const auto& other : routes_) {
    GP_CHECK(other->method != route.method || other->pattern != route.pattern, "{} {}",
             route.method, route.pattern);
  }
  routes_.push_back(std::make_unique<const Route>(std::move(route)));
}

Router::Found Router::Find(std::string_view method, const std::vector<std::string>& path,
                           Headers& captures) const {
  const Route* best = nullptr;
  std::string allowed;
  for (const auto& route : routes_) {
    std::optional<Headers> match = Match(route->pattern, path);
    if (!match) continue;
    if (route->method != method) {
      if (allowed.find(route->method) == std::string::npos) allowed += route->method + ", ";
      if (route->method == "GET") allowed += "HEAD, ";
      continue;
    }
    if (best != nullptr && match->size() >= captures.size()) continue;
    best = route.get();
    captures = *std::move(match);
  }
  if (best != nullptr) return best;
  if (allowed.empty()) return Unknown{};
  return WrongMethod{allowed + "OPTIONS"};
}

std::optional<std::string> Router::Suggest(const std::vector<std::string>& path) const {
  const auto is_known = [this](const std::vector<std::string>& candidate) {
    return std::any_of(routes_.begin(), routes_.end(), [&](const auto& route) {
      return Match(route->pattern, candidate).has_value();
    });
  };
  std::vector<std::string> rest;
  for (const std::string& segment : path) {
    if (!segment.empty()) rest.push_back(segment);
  }
  const std::string whole = Joined(rest);
  while (!rest.empty()) {
    std::vector<std::string> with_version = rest;
    with_version.insert(with_version.begin(), "v1");
    for (const auto& candidate : {rest, with_version}) {
      if (is_known(candidate)) return Joined(candidate);
    }
    rest.erase(rest.begin());
  }
  std::vector<std::string> patterns;
  for (const auto& route : routes_) {
    if (route->pattern.find('{') == std::string::npos) patterns.push_back(route->pattern);
  }
  return NearestWord(whole, patterns);
}

}  // namespace gp::http
