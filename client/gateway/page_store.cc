#include "client/gateway/page_store.h"

#include <openssl/evp.h>
#include <openssl/sha.h>

#include <array>
#include <memory>
#include <utility>

#include "formats/sha256.h"
#include "http/exchange.h"

namespace gp::gateway {
namespace {

std::string HashSource(std::string_view block) {
  std::array<unsigned char, SHA256_DIGEST_LENGTH> digest;
  SHA256(reinterpret_cast<const unsigned char*>(block.data()), block.size(), digest.data());
  std::array<unsigned char, 64> text;
  const int length = EVP_EncodeBlock(text.data(), digest.data(), digest.size());
  return fmt::format(" 'sha256-{}'", std::string_view(reinterpret_cast<const char*>(text.data()),
                                                      static_cast<size_t>(length)));
}

// The CSP sources for the elements `name`: the hash of each one's content, or 'none'.
std::string HashesOf(std::string_view html, const std::string& name) {
  std::string hashes;
  const std::string open = "<" + name;
  const std::string close = "</" + name + ">";
  for (size_t at = 0; (at = html.find(open, at)) != std::string_view::npos;) {
    const size_t begin = html.find('>', at) + 1;
    const size_t end = html.find(close, begin);
    if (begin == 0 || end == std::string_view::npos) break;
    hashes += HashSource(html.substr(begin, end - begin));
    at = end;
  }
  return hashes.empty() ? " 'none'" : hashes;
}

void Serve(const http::Response& page, const std::string& tag, http::Exchange& exchange) {
  if (exchange.request().Header("if-none-match") == tag) {
    http::Response same{.status = 304, .content_type = "", .headers = page.headers};
    return exchange.Respond(std::move(same));
  }
  exchange.Respond(page);
}

}  // namespace

std::string ContentSecurityPolicy(std::string_view html) {
  return "default-src 'none'; script-src" + HashesOf(html, "script") + "; style-src" +
         HashesOf(html, "style") +
         "; img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; "
         "frame-ancestors 'none'";
}

void AddPageRoutes(const std::vector<PageSource>& pages, http::Router& router) {
  for (const PageSource& source : pages) {
    const std::string tag = "\"" + formats::Sha256Hex(source.html).substr(0, 32) + "\"";
    http::Response page{.body = std::string(source.html),
                        .content_type = "text/html; charset=utf-8"};
    page.headers = {{"Content-Security-Policy", ContentSecurityPolicy(source.html)},
                    {"X-Content-Type-Options", "nosniff"},
                    {"X-Frame-Options", "DENY"},
                    {"Referrer-Policy", "no-referrer"},
                    {"Cross-Origin-Opener-Policy", "same-origin"},
                    {"Cache-Control", "no-cache"},
                    {"ETag", tag}};
    const auto shared = std::make_shared<const http::Response>(std::move(page));
    router.Add({"GET", source.path,
                [shared, tag](const auto& exchange) { Serve(*shared, tag, *exchange); },
                /*open=*/true});
  }
}

}  // namespace gp::gateway
