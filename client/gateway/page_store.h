// PageStore: the gateway's web pages, compiled in. Each is one self-contained document; its
// Content-Security-Policy allows only its own scripts and styles. Constant; thread-safe.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "http/router.h"

namespace gp::gateway {

struct PageSource {
  std::string path;  // "/runs"
  std::string_view html;
};

// Those that the build found in client/gateway/pages.
std::vector<PageSource> BuiltInPages();

// default-src 'none' and the hashes of every inline script and style of `html`.
std::string ContentSecurityPolicy(std::string_view html);

// GET of each page: its headers, and 304 for a client that has it already.
void AddPageRoutes(const std::vector<PageSource>& pages, http::Router& router);

}  // namespace gp::gateway
