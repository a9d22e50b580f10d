// PageStore: the gateway's web pages, compiled in by cmake/Pages.cmake. Each is one self-contained
// document, served without an API key; its Content-Security-Policy allows only its own scripts and
// styles, and connections to the gateway. Constant; thread-safe.
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

// The pages that the build found in client/gateway/pages: "/" (playground) and "/runs".
std::vector<PageSource> BuiltInPages();

// default-src 'none', the hashes of every inline script and style of `html`, and images and
// connections of the page's own origin.
std::string ContentSecurityPolicy(std::string_view html);

// Adds GET of each page. 304 for a client that has it already (ETag).
void AddPageRoutes(const std::vector<PageSource>& pages, http::Router& router);

}  // namespace gp::gateway
