// The client of a gateway, against a small server on loopback, and its reader of event streams.
#include "client/api/gateway_client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "client/api/event_reader.h"
#include "client/fake_gateway.h"
#include "lib/base/eventually.h"

namespace gp::client {
namespace {

using ::testing::ElementsAre;
using testing::FakeGateway;
using ::testing::HasSubstr;

constexpr char kStream[] =
    ": ping\n\ndata: {\"a\": 1}\n\ndata:two\r\ndata: lines\r\n\r\nevent: x\nid: 3\n\ndata: "
    "[DONE]\n\n";

TEST(EventReader, ReadsEventsHoweverTheyAreCut) {
  const std::string stream = kStream;
  for (size_t size = 1; size <= stream.size(); ++size) {
    EventReader reader;
    std::vector<std::string> events;
    for (size_t at = 0; at < stream.size(); at += size) {
      ASSERT_TRUE(reader
                      .Feed(stream.substr(at, size),
                            [&](const std::string& event) { events.push_back(event); })
                      .ok());
    }
    EXPECT_THAT(events, ElementsAre("{\"a\": 1}", "two\nlines", "[DONE]")) << size;
  }
}

TEST(EventReader, AnEventWithoutAnEndIsRefusedBeforeItFillsTheMemory) {
  EventReader reader;
  const std::string piece(1 << 20, 'x');
  Status status;
  for (int i = 0; i < 5 && status.ok(); ++i) status = reader.Feed(piece, [](const auto&) {});
  EXPECT_EQ(status.code(), StatusCode::kDataLoss);
}

class GatewayClientTest : public ::testing::Test {
 protected:
  GatewayClientTest() : client_({.address = gateway_.address()}, interruption_) {}

  StatusOr<std::string> Text(const CompletionOptions& request) {
    std::string text;
    RETURN_IF_ERROR(
        client_.Complete(request, [&](int, const std::string& piece) { text += piece; }));
    return text;
  }

  FakeGateway gateway_;
  Interruption interruption_;
  GatewayClient client_;
};

TEST_F(GatewayClientTest, ListsModelsAndCountsTokens) {
  gateway_.SetModels({"demo", "demo@250"});
  const auto models = client_.Models();
  ASSERT_TRUE(models.ok()) << models.status();
  ASSERT_EQ(models->size(), 2u);
  EXPECT_EQ((*models)[1].id, "demo@250");
  EXPECT_EQ((*models)[1].root, "demo");
  EXPECT_EQ((*models)[1].step, 250);
  EXPECT_EQ((*models)[1].context, 64);
  const auto tokens = client_.Tokenize("demo", "ab");
  ASSERT_TRUE(tokens.ok()) << tokens.status();
  EXPECT_THAT(tokens->ids, ElementsAre('a', 'b'));
  EXPECT_EQ(tokens->context, 64);
}

TEST_F(GatewayClientTest, TextsComeInPiecesByTheirIndex) {
  gateway_.SetPieces({"\xc3\xa9", " \"x\"\n"});
  std::vector<std::string> texts(2);
  CompletionOptions request{.model = "demo", .prompt = "p", .stop = {"end"}, .count = 2};
  ASSERT_TRUE(
      client_.Complete(request, [&](int index, const std::string& piece) { texts[index] += piece; })
          .ok());
  EXPECT_THAT(texts, ElementsAre("\xc3\xa9 \"x\"\n",
                                 "\xc3\xa9"
                                 "1 \"x\"\n1"));
  const auto asked = gateway_.completions().at(0);
  EXPECT_EQ(asked["stream"], true);
  EXPECT_EQ(asked["stop"], nlohmann::json({"end"}));
  EXPECT_EQ(asked["top_k"], 50);
  request.prompt = std::vector<int32_t>{1, 2};
  ASSERT_TRUE(Text(request).ok());
  EXPECT_EQ(gateway_.completions().at(1)["prompt"], nlohmann::json({1, 2}));
}

TEST_F(GatewayClientTest, ErrorsHaveTheGatewaysWordsAndTheirKind) {
  EXPECT_EQ(Text({.model = "other"}).status().code(), StatusCode::kNotFound);
  const std::pair<int, StatusCode> kinds[] = {{400, StatusCode::kInvalidArgument},
                                              {401, StatusCode::kPermissionDenied},
                                              {429, StatusCode::kUnavailable},
                                              {503, StatusCode::kUnavailable},
                                              {500, StatusCode::kInternal}};
  for (const auto& [status, code] : kinds) {
    gateway_.SetError(status, "because");
    EXPECT_EQ(Text({.model = "demo"}).status().code(), code) << status;
    EXPECT_EQ(Message(Text({.model = "demo"}).status()), "because");
  }
}

TEST_F(GatewayClientTest, AnErrorAfterTheFirstTextHasItsKindToo) {
  const std::pair<int, StatusCode> kinds[] = {
      {400, StatusCode::kInvalidArgument}, {403, StatusCode::kPermissionDenied},
      {404, StatusCode::kNotFound},        {429, StatusCode::kUnavailable},
      {503, StatusCode::kUnavailable},     {504, StatusCode::kUnavailable},
      {500, StatusCode::kInternal}};
  for (const auto& [status, code] : kinds) {
    gateway_.FailAfterPieces(status, "because");
    const Status failed = Text({.model = "demo"}).status();
    EXPECT_EQ(failed.code(), code) << status;
    EXPECT_EQ(Message(failed), "because");
  }
}

TEST_F(GatewayClientTest, ATextThatIsBrokenOffIsAnError) {
  gateway_.BreakStreams();
  EXPECT_EQ(Text({.model = "demo"}).status().code(), StatusCode::kUnavailable);
}

TEST_F(GatewayClientTest, AnInterruptionEndsATextAtOnceAndTheGatewayNotices) {
  gateway_.HangAfterPieces();
  std::string text;
  const Status status = client_.Complete({.model = "demo"}, [&](int, const std::string& piece) {
    text += piece;
    if (text == " one two") interruption_.Request();
  });
  EXPECT_EQ(status.code(), StatusCode::kCancelled);
  EXPECT_TRUE(Eventually([&] { return gateway_.left() == 1; }));
  interruption_.Reset();
  EXPECT_TRUE(client_.Models().ok()) << "the next call goes through";
}

TEST_F(GatewayClientTest, OneThatIsNotThereIsUnavailable) {
  GatewayClient nobody({.address = "127.0.0.1:1"}, interruption_);
  const Status status = nobody.Models().status();
  EXPECT_EQ(status.code(), StatusCode::kUnavailable);
  EXPECT_THAT(Message(status), HasSubstr("127.0.0.1:1"));
}

TEST(Interruption, SignalsAskThenInsistAndCountAnewAfterAReset) {
  Interruption interruption;
  int asked = 0;
  const auto scope = interruption.OnRequest([&] { ++asked; });
  EXPECT_TRUE(interruption.Signal());
  EXPECT_FALSE(interruption.Signal()) << "nobody minds it";
  interruption.Reset();
  EXPECT_FALSE(interruption.requested());
  EXPECT_TRUE(interruption.Signal());
  EXPECT_EQ(asked, 2);
  interruption.MindInsistence();
  EXPECT_TRUE(interruption.Signal());
  EXPECT_TRUE(interruption.insisted());
}

}  // namespace
}  // namespace gp::client
