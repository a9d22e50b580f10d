#include "http/error_page.h"

#include "base/text/utf8.h"

namespace gp::http {
namespace {

bool WantsPage(const Request& request) {
  const std::string_view accept = request.Header("accept").value_or("");
  return request.method == "GET" && accept.find("text/html") != std::string_view::npos;
}

std::string Escaped(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '&') {
      escaped += "&amp;";
    } else if (c == '<') {
      escaped += "&lt;";
    } else if (c == '>') {
      escaped += "&gt;";
    } else {
      escaped += c;
    }
  }
  return escaped;
}

}  // namespace

Response ErrorResponseTo(const Request& request, const ApiError& error) {
  Response response = ErrorResponse(error);
  if (!WantsPage(request)) return response;
  const std::string title = fmt::format("{} {}", error.status, ReasonOf(error.status));
  response.body = fmt::format(
      "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>{}</title></head>\n"
      "<body><h1>{}</h1><p>{}</p></body></html>\n",
      title, title, Escaped(ValidUtf8(error.message)));
  response.content_type = "text/html; charset=utf-8";
  response.headers.emplace_back("Content-Security-Policy", "default-src 'none'");
  return response;
}

}  // namespace gp::http
