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
  const Response page = ErrorResponseTo(RequestOf("GET", "text/html,*/*;q=0.8"), kNothing);
  EXPECT_EQ(page.status, 404);
  EXPECT_EQ(page.content_type, "text/html; charset=utf-8");
  EXPECT_THAT(page.body, HasSubstr("<h1>404 Not Found</h1>"));
  EXPECT_THAT(page.body, HasSubstr("nothing at /&lt;a&gt;&amp;b"));
  EXPECT_THAT(page.body, Not(HasSubstr("<a>")));
}

TEST(ErrorPage, HoldsNoByteThatIsNotUtf8) {
  const ApiError error{.status = 404, .message = "nothing at /\xff"};
  EXPECT_THAT(ErrorResponseTo(RequestOf("GET", "text/html"), error).body,
              HasSubstr("nothing at /\xef\xbf\xbd</p>"));
}

TEST(ErrorPage, AProgramGetsJson) {
  for (const Request& request :
       {RequestOf("GET", "*/*"), RequestOf("POST", "text/html"), Request{.method = "GET"}}) {
    const Response answer = ErrorResponseTo(request, kNothing);
    EXPECT_EQ(answer.content_type, "application/json");
    EXPECT_EQ(answer.body, ErrorBody(kNothing));
  }
}

}  // namespace
}  // namespace gp::http
