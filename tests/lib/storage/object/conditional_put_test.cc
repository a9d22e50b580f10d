// Goal: a conditional write is used only at a server that lets exactly one writer succeed, and a
// lost answer makes nobody lose who has won.
#include "storage/object/conditional_put.h"

#include <gtest/gtest.h>

#include <map>
#include <optional>

#include "lib/storage/object/scripted_server.h"
#include "lib/storage/object/test_client.h"

namespace gp::object {
namespace {

// A bucket in memory. `obeys` decides for each conditional write of an existing object whether it
// is refused.
class Bucket {
 public:
  std::function<bool()> obeys = [] { return true; };
  // Called before each answer to a write; may replace it.
  std::function<std::optional<ScriptedAnswer>()> instead = [] { return std::nullopt; };

  ScriptedAnswer Answer(const SeenRequest& request) {
    const auto found = objects_.find(request.target);
    if (request.method == "DELETE") {
      objects_.erase(request.target);
      return Reply(204);
    }
    if (request.method == "PUT") {
      const bool is_conditional = request.headers.count("if-none-match") > 0;
      if (is_conditional && found != objects_.end() && obeys()) {
        return ErrorReply(412, "PreconditionFailed");
      }
      objects_[request.target] = request.headers.at("x-amz-meta-gp-writer");
      return instead().value_or(Reply(200, "", "ETag: e\r\n"));
    }
    if (found == objects_.end()) return ErrorReply(404, "NoSuchKey");
    return Reply(200, "", "ETag: e\r\nx-amz-meta-gp-writer: " + found->second + "\r\n");
  }

  size_t size() const { return objects_.size(); }

 private:
  std::map<std::string, std::string> objects_;
};

class ConditionalPutTest : public ::testing::Test {
 protected:
  Bucket bucket_;
  ScriptedServer server_{[this](const SeenRequest& request) { return bucket_.Answer(request); }};
  FixedCredentials credentials_{kTestCredentials};
  S3Client client_{OptionsAt(server_.host()), credentials_, SystemClock()};
  ConditionalPut put_{client_, ".gp-probe-"};
};

TEST_F(ConditionalPutTest, WritesAnAbsentObjectOnce) {
  EXPECT_TRUE(put_.Put("a", "x").ok());
  EXPECT_EQ(put_.Put("a", "y").code(), StatusCode::kAlreadyExists);
  EXPECT_EQ(bucket_.size(), 1u) << "the probe's objects are deleted";
}

TEST_F(ConditionalPutTest, IsRefusedWhereTheHeaderIsIgnored) {
  bucket_.obeys = [] { return false; };
  const Status put = put_.Put("a", "x");
  EXPECT_EQ(put.code(), StatusCode::kUnimplemented);
  EXPECT_NE(Message(put).find("does not keep to If-None-Match"), std::string::npos) << put;
  EXPECT_EQ(bucket_.size(), 0u) << "nothing is written without the promise";
}

// Such a server looks first and writes then: it refuses most of the writers, but not all.
TEST_F(ConditionalPutTest, IsRefusedWhereTwoWritersCanWin) {
  bucket_.obeys = [count = 0]() mutable { return ++count != 20; };
  EXPECT_EQ(put_.Put("a", "x").code(), StatusCode::kUnimplemented);
}

TEST_F(ConditionalPutTest, TheProbeIsMadeOnce) {
  ASSERT_TRUE(put_.Put("a", "x").ok());
  const size_t requests = server_.seen().size();
  ASSERT_TRUE(put_.Put("b", "x").ok());
  EXPECT_EQ(server_.seen().size(), requests + 1);
}

TEST_F(ConditionalPutTest, AFailedProbeIsRepeated) {
  bucket_.instead = [] { return ErrorReply(403, "AccessDenied"); };
  EXPECT_EQ(put_.Put("a", "x").code(), StatusCode::kPermissionDenied);
  bucket_.instead = [] { return std::nullopt; };
  EXPECT_TRUE(put_.Put("a", "x").ok());
}

// The first attempt succeeds, its answer is lost, and the second one finds the object.
TEST_F(ConditionalPutTest, AWriterWhoseAnswerWasLostHasWon) {
  ASSERT_TRUE(put_.Put("a", "x").ok());
  bucket_.instead = [lost = false]() mutable -> std::optional<ScriptedAnswer> {
    if (std::exchange(lost, true)) return std::nullopt;
    return ScriptedAnswer{"", ScriptedAnswer::End::kReset};
  };
  EXPECT_TRUE(put_.Put("b", "x").ok());
  EXPECT_EQ(put_.Put("b", "x").code(), StatusCode::kAlreadyExists);
}

}  // namespace
}  // namespace gp::object
