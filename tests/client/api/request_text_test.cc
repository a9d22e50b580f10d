#include "client/api/request_text.h"

#include <gtest/gtest.h>

#include "gp/v1/run_service.pb.h"

namespace gp::client {
namespace {

TEST(CheckTexts, NamesTheFieldThatIsNotUtf8) {
  const auto problem = [](const v1::ListRequest& request) { return Message(CheckTexts(request)); };
  v1::ListRequest request;
  request.set_search("日本");
  request.set_limit(5);
  (*request.mutable_labels())["k"] = "é";
  EXPECT_TRUE(CheckTexts(request).ok());
  (*request.mutable_labels())["k"] = "\xff";
  EXPECT_EQ(problem(request), "labels: value is not UTF-8: '?'");
  (*request.mutable_labels()) = {};
  (*request.mutable_labels())["a\xff"] = "";
  EXPECT_EQ(problem(request), "labels: key is not UTF-8: 'a?'");
  (*request.mutable_labels()) = {};
  request.set_search("x\xe2");
  EXPECT_EQ(problem(request), "search is not UTF-8: 'x?'");
  EXPECT_EQ(CheckTexts(request).code(), StatusCode::kInvalidArgument);
}

TEST(CheckTexts, FindsATextInAMessageWithinAnother) {
  v1::SubmitResponse response;
  EXPECT_TRUE(CheckTexts(response).ok());
  response.mutable_run()->set_name("\xff");
  EXPECT_EQ(Message(CheckTexts(response)), "name is not UTF-8: '?'");
  response.mutable_run()->set_name("demo");
  response.add_warnings("\xff");
  EXPECT_EQ(Message(CheckTexts(response)), "warnings is not UTF-8: '?'");
}

}  // namespace
}  // namespace gp::client
