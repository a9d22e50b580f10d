#include "http/error_page.h"

#include <algorithm>
#include <charconv>
#include <vector>

#include "base/text/utf8.h"

namespace gp::http {
namespace {

// The number after "q=" in "text/html;level=1; q=0.5"; 1 without one.
double QualityIn(std::string_view parameters) {
  const size_t at = parameters.rfind("q=");
  if (at == std::string_view::npos) return 1;
  const std::string_view number = parameters.substr(at + 2);
  double quality = 0;
  std::from_chars(number.data(), number.data() + number.size(), quality);
  return quality;
}

// The quality that the Accept header gives to `type`, from 0 (not accepted) to 1. The entry for the
// type itself counts, else the one for its `family` ("text/*"), else the one for "*/*".
double QualityOf(const std::vector<std::string>& accept, std::string_view type,
                 std::string_view family) {
  for (const std::string_view wanted : {type, family, std::string_view("*/*")}) {
    for (const std::string& element : accept) {
      const std::string_view name =
          std::string_view(element).substr(0, element.find_first_of("; "));
      const bool is_wanted = name == wanted || (name == "*" && wanted == "*/*");
      if (is_wanted) return QualityIn(std::string_view(element).substr(name.size()));
    }
  }
  return 0;
}

// Browsers also accept XHTML. An HTTP library may accept text/html by default, but then it also
// accepts JSON and does not accept XHTML, so it gets JSON.
bool WantsPage(const Request& request) {
  if (request.method != "GET") return false;
  const std::vector<std::string> accept = request.HeaderList("accept");
  const double page = QualityOf(accept, "text/html", "text/*");
  const double json = QualityOf(accept, "application/json", "application/*");
  const bool is_browser = std::any_of(accept.begin(), accept.end(), [](const auto& element) {
    return element.starts_with("application/xhtml+xml");
  });
  return page > 0 && page >= json && (json == 0 || is_browser);
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
