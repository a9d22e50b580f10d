#include "http/api_error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace gp::http {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

TEST(ApiError, TheBodyHasTheShapeOfOpenAisErrors) {
  EXPECT_EQ(
      ErrorBody({.status = 400, .message = "no \"n\"", .param = "n", .code = "bad"}),
      R"({"error":{"message":"no \"n\"","type":"invalid_request_error","param":"n","code":"bad"}})");
  const auto body = nlohmann::json::parse(ErrorBody({.status = 404, .message = "m"}));
  EXPECT_TRUE(body["error"]["param"].is_null());
  EXPECT_TRUE(body["error"]["code"].is_null());
}

TEST(ApiError, EachStatusHasItsType) {
  const std::pair<int, const char*> types[] = {
      {400, "invalid_request_error"}, {401, "authentication_error"},  {403, "permission_error"},
      {404, "not_found_error"},       {413, "invalid_request_error"}, {429, "rate_limit_error"},
      {500, "server_error"},          {503, "unavailable_error"},     {504, "timeout_error"}};
  for (const auto& [status, type] : types) EXPECT_EQ(TypeOf({.status = status}), type);
}

TEST(ApiError, SaysWhetherARetryHelps) {
  EXPECT_THAT(ErrorResponse({.status = 503, .retry_after = 2}).headers,
              ElementsAre(Pair("Retry-After", "2")));
  EXPECT_THAT(ErrorResponse({.status = 500}).headers, ElementsAre(Pair("x-should-retry", "false")));
  EXPECT_THAT(ErrorResponse({.status = 400}).headers, IsEmpty());
}

TEST(ApiError, AStatusBecomesTheErrorOfItsCode) {
  const std::pair<Status, int> statuses[] = {
      {InvalidArgument("x"), 400},   {NotFound("x"), 404},    {PermissionDenied("x"), 403},
      {ResourceExhausted("x"), 429}, {Unavailable("x"), 503}, {DeadlineExceeded("x"), 504},
      {Internal("x"), 500},          {DataLoss("x"), 500},    {Unauthenticated("x"), 500}};
  for (const auto& [status, number] : statuses) {
    const ApiError error = ErrorOf(status);
    EXPECT_EQ(error.status, number);
    EXPECT_EQ(error.message, "x");
    EXPECT_EQ(error.retry_after.has_value(), number == 429 || number == 503) << number;
  }
}

}  // namespace
}  // namespace gp::http
