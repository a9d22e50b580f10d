#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/eventually.h"
#include "client/gateway/completions/completion.h"
#include "client/gateway/running_gateway.h"

namespace gp::gateway {
namespace {

using Json = nlohmann::json;
using ::testing::HasSubstr;

// A gateway of one checkpoint, with bytes as tokens and a context of 64.
class Completions : public ::testing::Test {
 protected:
  Completions() {
    WriteCheckpoint(files_.File("m"));
    gateway_.emplace(RunningGateway::FakePool(),
                     std::vector<NamedDirectory>{{"m", files_.File("m")}});
    EXPECT_TRUE(Eventually([&] { return Get("/v1/models/m").status == 200; }));
  }

  http::Answer Get(const std::string& target) { return http::Ask(gateway_->port(), "GET", target); }
  Json Complete(const std::string& body, int status = 200) {
    const http::Answer answer = gateway_->Post("/v1/completions", body);
    EXPECT_EQ(answer.status, status) << answer.body;
    return Json::parse(answer.body, nullptr, false);
  }
  std::vector<std::string> Stream(const std::string& body) {
    return gateway_->Post("/v1/completions", body).Events();
  }

  TemporaryDirectory files_;
  std::optional<RunningGateway> gateway_;
};

TEST_F(Completions, AnswersInTheShapeOfOpenAi) {
  const Json answer = Complete(R"({"model":"m","prompt":"abc","max_tokens":5})");
  EXPECT_EQ(answer["object"], "text_completion");
  EXPECT_EQ(answer["model"], "m@1");
  EXPECT_EQ(answer["choices"][0]["text"], "abcab");
  EXPECT_EQ(answer["choices"][0]["finish_reason"], "length");
  EXPECT_TRUE(answer["choices"][0]["logprobs"].is_null());
  EXPECT_EQ(answer["usage"],
            Json::parse(R"({"prompt_tokens":3,"completion_tokens":5,"total_tokens":8})"));
  EXPECT_THAT(answer["system_fingerprint"].get<std::string>(), HasSubstr("fp_"));
}

TEST_F(Completions, OrdersChoicesByPromptAndThenBySample) {
  const Json answer = Complete(R"({"prompt":["ab","xy"],"n":2,"max_tokens":2})");
  ASSERT_EQ(answer["choices"].size(), 4u);
  const char* expected[] = {"ab", "bc", "xy", "yz"};
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(answer["choices"][i]["index"], i);
    EXPECT_EQ(answer["choices"][i]["text"], expected[i]);
  }
  EXPECT_EQ(answer["usage"]["prompt_tokens"], 4);
  EXPECT_EQ(answer["usage"]["completion_tokens"], 8);
}

TEST_F(Completions, TakesTokenIdsAndStopStrings) {
  EXPECT_EQ(Complete(R"({"prompt":[104,105],"max_tokens":2})")["choices"][0]["text"], "hi");
  const Json stopped = Complete(R"({"prompt":"abc","max_tokens":9,"stop":"c"})");
  EXPECT_EQ(stopped["choices"][0]["text"], "ab");
  EXPECT_EQ(stopped["choices"][0]["finish_reason"], "stop");
}

TEST_F(Completions, AnAbsentPromptBeginsADocument) {
  EXPECT_EQ(Complete(R"({"max_tokens":1})")["choices"][0]["text"], "\n");
  EXPECT_EQ(Complete(R"({"prompt":"","max_tokens":1,"echo":true})")["choices"][0]["text"], "\n");
}

TEST_F(Completions, ScoresThePromptAsEvaluationHarnessesExpect) {
  const Json choice = Complete(
      R"({"prompt":[97,98],"max_tokens":1,"logprobs":1,"echo":true,"temperature":0})")["choices"]
                                                                                      [0];
  EXPECT_EQ(choice["text"], "aba");
  const Json& logprobs = choice["logprobs"];
  EXPECT_EQ(logprobs["tokens"], Json::parse(R"(["a","b","a"])"));
  EXPECT_EQ(logprobs["text_offset"], Json::parse("[0,1,2]"));
  EXPECT_TRUE(logprobs["token_logprobs"][0].is_null());
  EXPECT_TRUE(logprobs["top_logprobs"][0].is_null());
  EXPECT_DOUBLE_EQ(logprobs["token_logprobs"][1].get<double>(), -0.98);
  // One alternative and the token itself.
  EXPECT_EQ(logprobs["top_logprobs"][1].size(), 2u);
  EXPECT_TRUE(logprobs["top_logprobs"][1].contains("b"));
}

TEST_F(Completions, ScoresAPromptAlone) {
  const Json choice =
      Complete(R"({"prompt":"abc","max_tokens":0,"logprobs":0,"echo":true})")["choices"][0];
  EXPECT_EQ(choice["text"], "abc");
  EXPECT_EQ(choice["finish_reason"], "length");
  EXPECT_EQ(choice["logprobs"]["token_logprobs"].size(), 3u);
  EXPECT_EQ(Complete(R"({"prompt":"abc","max_tokens":0,"echo":true})")["choices"][0]["text"],
            "abc");
  EXPECT_EQ(Complete(R"({"prompt":"abc","max_tokens":0})")["choices"][0]["text"], "");
}

TEST_F(Completions, NamesTokensThatAreNoWholeCharacters) {
  const Json choice = Complete(R"({"prompt":"é","max_tokens":2,"logprobs":0})")["choices"][0];
  EXPECT_EQ(choice["text"], "é");
  EXPECT_EQ(choice["logprobs"]["tokens"], Json::parse(R"(["bytes:\\xc3","bytes:\\xa9"])"));
  EXPECT_EQ(choice["logprobs"]["text_offset"], Json::parse("[0,1]"));
}

TEST_F(Completions, StreamsWholeCharactersAndEndsWithDone) {
  const auto events = Stream(R"({"prompt":"é→a","max_tokens":6,"stream":true})");
  ASSERT_GE(events.size(), 2u);
  std::string text;
  for (size_t i = 0; i + 1 < events.size(); ++i) {
    const Json chunk = Json::parse(events[i]);  // throws where UTF-8 is split
    EXPECT_EQ(chunk["object"], "text_completion");
    EXPECT_FALSE(chunk.contains("usage"));
    text += chunk["choices"][0]["text"].get<std::string>();
    EXPECT_EQ(chunk["choices"][0]["finish_reason"].is_null(), i + 2 < events.size());
  }
  EXPECT_EQ(text, "é→a");
  EXPECT_EQ(events.back(), "[DONE]");
}

TEST_F(Completions, StreamsUsageInAChunkOfItsOwn) {
  const auto events = Stream(
      R"({"prompt":"ab","max_tokens":2,"stream":true,"stream_options":{"include_usage":true}})");
  ASSERT_GE(events.size(), 3u);
  EXPECT_TRUE(Json::parse(events[0])["usage"].is_null());
  const Json usage = Json::parse(events[events.size() - 2]);
  EXPECT_TRUE(usage["choices"].empty());
  EXPECT_EQ(usage["usage"]["completion_tokens"], 2);
  EXPECT_EQ(events.back(), "[DONE]");
}

TEST_F(Completions, StreamsSeveralTextsWithTheirLogprobs) {
  std::map<int, std::string> texts;
  std::map<int, size_t> scored;
  for (const std::string& event :
       Stream(R"({"prompt":"ab","n":3,"max_tokens":4,"stream":true,"logprobs":1,"echo":true})")) {
    if (event == "[DONE]") break;
    const Json choice = Json::parse(event)["choices"][0];
    texts[choice["index"]] += choice["text"].get<std::string>();
    scored[choice["index"]] += choice["logprobs"]["tokens"].size();
  }
  EXPECT_EQ(texts[0], "ababab");
  EXPECT_EQ(texts[2], "abcdcd");
  EXPECT_EQ(scored[1], 6u);
}

TEST_F(Completions, TellsTheSeedAndWhatItIgnored) {
  const http::Answer answer =
      gateway_->Post("/v1/completions", R"({"prompt":"a","max_tokens":1,"seed":7,"zoo":1})");
  EXPECT_EQ(answer.Header("x-gp-seed"), "7");
  EXPECT_EQ(answer.Header("x-gp-ignored"), "zoo");
  EXPECT_NE(
      gateway_->Post("/v1/completions", R"({"prompt":"a","max_tokens":1})").Header("x-gp-seed"),
      "");
}

TEST_F(Completions, SaysBothNumbersWhenThePromptIsTooLong) {
  const Json answer =
      Complete("{\"prompt\":\"" + std::string(60, 'a') + "\",\"max_tokens\":5}", 400);
  EXPECT_EQ(answer["error"]["code"], "context_length_exceeded");
  EXPECT_THAT(answer["error"]["message"].get<std::string>(), HasSubstr("context is 64"));
  EXPECT_THAT(answer["error"]["message"].get<std::string>(), HasSubstr("the prompt has 60"));
  Complete("{\"prompt\":\"" + std::string(200'000, 'a') + "\"}", 400);  // parsed beside the loop
}

TEST_F(Completions, RefusesIdsThatTheModelDoesNotHave) {
  EXPECT_EQ(Complete(R"({"prompt":[256]})", 400)["error"]["param"], "prompt");
  EXPECT_EQ(Complete(R"({"prompt":"a","logit_bias":{"256":1}})", 400)["error"]["param"],
            "logit_bias");
}

TEST_F(Completions, SuggestsAModel) {
  const Json answer = Complete(R"({"model":"mm","prompt":"a"})", 404);
  EXPECT_EQ(answer["error"]["code"], "model_not_found");
  EXPECT_THAT(answer["error"]["message"].get<std::string>(), HasSubstr("did you mean 'm'"));
}

TEST_F(Completions, SaysWhyThereIsNoChat) {
  const http::Answer answer = gateway_->Post("/v1/chat/completions", "{}");
  EXPECT_EQ(answer.status, 400);
  EXPECT_THAT(answer.body, HasSubstr("/v1/completions"));
}

TEST_F(Completions, TokenizesInBothDialects) {
  EXPECT_EQ(gateway_->Post("/tokenize", R"({"prompt":"ab","add_special_tokens":false})").body,
            R"({"tokens":[97,98],"count":2,"max_model_len":64})");
  EXPECT_EQ(
      gateway_->Post("/tokenize", R"({"content":"aé","with_pieces":true})").body,
      R"({"tokens":[{"id":97,"piece":"a"},{"id":195,"piece":[195]},{"id":169,"piece":[169]}],)"
      R"("count":3,"max_model_len":64})");
  EXPECT_EQ(gateway_->Post("/detokenize", R"({"tokens":[97,98]})").body,
            R"({"prompt":"ab","content":"ab"})");
  EXPECT_EQ(gateway_->Post("/tokenize", R"({"prompt":5})").status, 400);
  EXPECT_EQ(gateway_->Post("/tokenize", "{}").status, 400);
  EXPECT_EQ(gateway_->Post("/detokenize", R"({"tokens":[-1]})").status, 400);
  EXPECT_TRUE(Json::parse(Get("/tokenizer_info").body).contains("eos_token"));
}

TEST_F(Completions, ListsModels) {
  const Json list = Json::parse(Get("/v1/models").body);
  EXPECT_EQ(list["object"], "list");
  ASSERT_EQ(list["data"].size(), 2u);
  EXPECT_EQ(list["data"][0]["id"], "m");
  EXPECT_EQ(list["data"][0]["kind"], "directory");
  EXPECT_EQ(list["data"][1]["id"], "m@1");
  EXPECT_EQ(Json::parse(Get("/v1/models/m@1").body)["step"], 1);
  EXPECT_EQ(Get("/v1/models/m@9").status, 404);
  EXPECT_EQ(Get("/v1/models/..%2Fm").status, 404);
}

TEST_F(Completions, AnErrorInTheMiddleOfAStreamIsFollowedByDone) {
  http::HttpClient client(gateway_->port());
  client.Request("POST", "/v1/completions", R"({"prompt":"Sab","max_tokens":60,"stream":true})");
  EXPECT_EQ(client.ReceiveHead().status, 200);
  EXPECT_TRUE(client.NextEvent().has_value());
  gateway_->Post("/v1/completions", R"({"prompt":"C","max_tokens":1})");  // ends the sampler
  std::string before_last;
  std::string last;
  while (auto event = client.NextEvent()) {
    before_last = std::exchange(last, *event);
  }
  EXPECT_EQ(last, "[DONE]");
  EXPECT_TRUE(Json::parse(before_last).contains("error")) << before_last;
}

TEST_F(Completions, WhoLeavesFreesTheSampler) {
  http::HttpClient client(gateway_->port());
  client.Request("POST", "/v1/completions", R"({"prompt":"Sab","max_tokens":60,"stream":true})");
  client.ReceiveHead();
  client.NextEvent();
  EXPECT_EQ(gateway_->Counts().texts_running, 1);
  client.Close();
  EXPECT_TRUE(Eventually([&] { return gateway_->Counts().texts_running == 0; }));
}

TEST_F(Completions, WhoLeavesWithoutAStreamFreesTheSamplerToo) {
  http::HttpClient client(gateway_->port());
  client.Request("POST", "/v1/completions", R"({"prompt":"Sab","max_tokens":60,"n":4})");
  ASSERT_TRUE(Eventually([&] { return gateway_->Counts().texts_running == 4; }));
  client.Close();
  EXPECT_TRUE(Eventually([&] { return gateway_->Counts().texts_running == 0; }));
}

}  // namespace
}  // namespace gp::gateway
