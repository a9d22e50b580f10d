#include "http/error_page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gp::http {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

const ApiError kNothing{.status = 404, .message = "nothing at /<a>&b"};

Request RequestOf(const std::string& method, const std::string& accept) {
  return {.method = method, .headers = {{"accept", accept}}};
}

TEST(ErrorPage, APersonGetsAPage) {
  const Response page =
      ErrorResponseTo(RequestOf("GET", "text/html,application/xhtml+xml,*/*;q=0.8"), kNothing);
  EXPECT_EQ(page.status, 404);
  EXPECT_EQ(page.content_type, "text/html; charset=utf-8");
  EXPECT_THAT(page.body, HasSubstr("<h1>404 Not Found</h1>"));
  EXPECT_THAT(page.body, HasSubstr("nothing at /&lt;a&gt;&amp;b"));
  EXPECT_THAT(page.body, Not(HasSubstr("<a>")));
}

TEST(ErrorPage, EveryAcceptHeaderCountsAsMuchAsItsQualitySays) {
  for (const char* accept :
       {"text/html", "TEXT/HTML", "text/html, text/*;q=0.5, image/*", "text/*;q=0.1",
        "text/html, application/xhtml+xml, */*", "text/html;level=1;q=.9, application/json;q=0",
        "text/html, text/plain, application/xhtml+xml, */*;q=0.01"}) {
    EXPECT_EQ(ErrorResponseTo(RequestOf("GET", accept), kNothing).content_type,
              "text/html; charset=utf-8")
        << accept;
  }
  const Request two_lines{
      .method = "GET",
      .headers = {{"accept", "application/xhtml+xml, */*;q=0.8"}, {"accept", "text/html"}}};
  EXPECT_EQ(ErrorResponseTo(two_lines, kNothing).content_type, "text/html; charset=utf-8");
}

TEST(ErrorPage, HoldsNoByteThatIsNotUtf8) {
  const ApiError error{.status = 404, .message = "nothing at /\xff"};
  EXPECT_THAT(ErrorResponseTo(RequestOf("GET", "text/html"), error).body,
              HasSubstr("nothing at /\xef\xbf\xbd</p>"));
}

TEST(ErrorPage, AProgramGetsJson) {
  for (const Request& request :
       {RequestOf("GET", "*/*"), RequestOf("POST", "text/html"), Request{.method = "GET"},
        RequestOf("GET", "application/json, text/html;q=0.5"), RequestOf("GET", "text/html;q=0"),
        RequestOf("GET", "text/html; q=0.0, */*"), RequestOf("GET", "text/htmlx"),
        // The Accept header of Java's HttpURLConnection.
        RequestOf("GET", "text/html, image/gif, image/jpeg, *; q=.2, */*; q=.2")}) {
    const Response answer = ErrorResponseTo(request, kNothing);
    EXPECT_EQ(answer.content_type, "application/json");
    EXPECT_EQ(answer.body, ErrorBody(kNothing));
  }
}

}  // namespace
}  // namespace gp::http
