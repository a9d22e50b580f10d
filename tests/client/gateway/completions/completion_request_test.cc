#include "client/gateway/completions/completion_request.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace gp::gateway {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

CompletionRequest Parse(const std::string& body) {
  auto parsed = ParseCompletionRequest(body);
  if (const auto* error = std::get_if<http::ApiError>(&parsed)) {
    ADD_FAILURE() << body << ": " << error->message;
    return {};
  }
  return std::get<CompletionRequest>(parsed);
}

// The field that the error names, or "nothing" if the body is accepted.
std::string Wrong(const std::string& body) {
  const auto parsed = ParseCompletionRequest(body);
  const auto* error = std::get_if<http::ApiError>(&parsed);
  if (error == nullptr) return "nothing";
  EXPECT_EQ(error->status, 400);
  return error->param;
}

TEST(CompletionRequest, TakesEveryShapeOfAPrompt) {
  EXPECT_EQ(std::get<std::string>(Parse(R"({"prompt":"a"})").prompts[0]), "a");
  EXPECT_EQ(Parse(R"({"prompt":["a","b"]})").prompts.size(), 2u);
  EXPECT_THAT(std::get<std::vector<int32_t>>(Parse(R"({"prompt":[1,2]})").prompts[0]),
              ElementsAre(1, 2));
  EXPECT_EQ(Parse(R"({"prompt":[[1],[2,3]]})").prompts.size(), 2u);
  EXPECT_EQ(Parse(R"({"prompt":null})").prompts.size(), 1u);
  EXPECT_EQ(Parse("{}").prompts.size(), 1u);
}

TEST(CompletionRequest, HasTheDefaultsOfOpenAi) {
  const CompletionRequest request = Parse(R"({"prompt":"a","temperature":null,"stop":null})");
  EXPECT_EQ(request.max_tokens, 16);
  EXPECT_EQ(request.temperature, 1);
  EXPECT_EQ(request.top_k, 50);
  EXPECT_EQ(request.n, 1);
  EXPECT_FALSE(request.logprobs);
  EXPECT_FALSE(request.seed);
  EXPECT_FALSE(request.stream);
}

TEST(CompletionRequest, ReadsEveryField) {
  const CompletionRequest request = Parse(
      R"({"model":"m@2","prompt":"a","max_tokens":5,"temperature":0.5,"top_p":0.9,"top_k":7,
          "n":3,"best_of":3,"stop":["x","y"],"seed":-1,"logprobs":2,"echo":true,"stream":true,
          "stream_options":{"include_usage":true},"logit_bias":{"5":-100},"presence_penalty":1,
          "frequency_penalty":-1,"min_p":0.1,"user":"u","suffix":"","ignore_eos":true})");
  EXPECT_EQ(request.model, "m@2");
  EXPECT_EQ(request.max_tokens, 5);
  EXPECT_EQ(request.temperature, 0.5);
  EXPECT_EQ(request.top_p, 0.9);
  EXPECT_EQ(request.top_k, 7);
  EXPECT_EQ(request.n, 3);
  EXPECT_THAT(request.stop, ElementsAre("x", "y"));
  EXPECT_EQ(request.seed, ~uint64_t{0});
  EXPECT_EQ(request.logprobs, 2);
  EXPECT_TRUE(request.echo && request.stream && request.include_usage && request.ignore_eos);
  EXPECT_EQ(request.logit_bias.at(5), -100);
  EXPECT_EQ(request.presence_penalty, 1);
  EXPECT_EQ(request.frequency_penalty, -1);
  EXPECT_EQ(request.min_p, 0.1);
  EXPECT_EQ(request.ignored, "");
}

TEST(CompletionRequest, TellsWhichFieldsMeanNothingHere) {
  EXPECT_THAT(Parse(R"({"prompt":"a","zebra":1,"repetition_penalty":2})").ignored,
              "repetition_penalty, zebra");
  const std::string options = R"("stream":true,"stream_options":{"include_usage":true,"usage":1})";
  EXPECT_EQ(Parse(R"({"prompt":"a",)" + options + "}").ignored, "stream_options.usage");
}

TEST(CompletionRequest, TellsHowManyMoreFieldsMeanNothing) {
  const std::string name(500, 'x');
  const std::string long_name = R"({"prompt":"a","z":1,"a b,é":2,")" + name + R"(":3})";
  EXPECT_EQ(Parse(long_name).ignored, "a?b???, " + name.substr(0, 60) + "..., z");
  std::string fields = R"("z":0)";
  std::string names;
  for (int i = 10; i < 50; ++i) {
    fields += fmt::format(R"(,"f{}":0)", i);
    if (i < 42) names += fmt::format("f{}, ", i);
  }
  EXPECT_EQ(Parse("{" + fields + "}").ignored, names + "and 9 more");
}

TEST(CompletionRequest, NamesTheFieldThatIsWrong) {
  EXPECT_EQ(Wrong(R"({"prompt":5})"), "prompt");
  EXPECT_EQ(Wrong(R"({"prompt":[]})"), "prompt");
  EXPECT_EQ(Wrong(R"({"prompt":["a",1]})"), "prompt");
  EXPECT_EQ(Wrong(R"({"prompt":[1,"a"]})"), "prompt");
  EXPECT_EQ(Wrong(R"({"prompt":[-1]})"), "prompt");
  EXPECT_EQ(Wrong(R"({"prompt":[1.5]})"), "prompt");
  EXPECT_EQ(Wrong(R"({"prompt":[99999999999999999999]})"), "prompt");
  EXPECT_EQ(Wrong(R"({"model":5})"), "model");
  EXPECT_EQ(Wrong(R"({"max_tokens":-1})"), "max_tokens");
  EXPECT_EQ(Wrong(R"({"max_tokens":1.5})"), "max_tokens");
  EXPECT_EQ(Wrong(R"({"max_tokens":1e300})"), "max_tokens");
  EXPECT_EQ(Wrong(R"({"max_tokens":"5"})"), "max_tokens");
  EXPECT_EQ(Wrong(R"({"max_tokens":true})"), "max_tokens");
  EXPECT_EQ(Wrong(R"({"temperature":-0.1})"), "temperature");
  EXPECT_EQ(Wrong(R"({"temperature":"hot"})"), "temperature");
  EXPECT_EQ(Wrong(R"({"top_p":1.1})"), "top_p");
  EXPECT_EQ(Wrong(R"({"min_p":2})"), "min_p");
  EXPECT_EQ(Wrong(R"({"top_k":-2})"), "top_k");
  EXPECT_EQ(Wrong(R"({"n":0})"), "n");
  EXPECT_EQ(Wrong(R"({"n":129})"), "n");
  EXPECT_EQ(Wrong(R"({"n":100,"prompt":["a","b"]})"), "n");
  EXPECT_EQ(Wrong(R"({"best_of":2})"), "best_of");
  EXPECT_EQ(Wrong(R"({"suffix":"x"})"), "suffix");
  EXPECT_EQ(Wrong(R"({"stop":5})"), "stop");
  const auto stops = [](size_t count) {
    return nlohmann::json{{"stop", std::vector<std::string>(count, "x")}}.dump();
  };
  EXPECT_EQ(Wrong(stops(kStopsMax + 1)), "stop");
  EXPECT_EQ(Wrong(R"({"seed":1.5})"), "seed");
  EXPECT_EQ(Wrong(R"({"seed":"x"})"), "seed");
  EXPECT_EQ(Wrong(R"({"logprobs":21})"), "logprobs");
  EXPECT_EQ(Wrong(R"({"echo":1})"), "echo");
  EXPECT_EQ(Wrong(R"({"stream":"yes"})"), "stream");
  EXPECT_EQ(Wrong(R"({"stream_options":{}})"), "stream_options");
  EXPECT_EQ(Wrong(R"({"stream":true,"stream_options":{"include_usage":1}})"), "stream_options");
  EXPECT_EQ(Wrong(R"({"logit_bias":[1]})"), "logit_bias");
  EXPECT_EQ(Wrong(R"({"logit_bias":{"a":1}})"), "logit_bias");
  EXPECT_EQ(Wrong(R"({"logit_bias":{"1":101}})"), "logit_bias");
  EXPECT_EQ(Wrong(R"({"presence_penalty":3})"), "presence_penalty");
  EXPECT_EQ(Wrong(R"({"user":3})"), "user");
}

TEST(CompletionRequest, RefusesWhatIsNoJsonObject) {
  for (const std::string& body :
       {std::string(), std::string("["), std::string("nonsense"), std::string("[]"),
        std::string("5"), std::string(R"({"prompt":NaN})"),
        std::string(R"({"temperature":Infinity})"), std::string(R"({"temperature":1e999})"),
        std::string("{\"prompt\":\"\xff\xfe\"}"), std::string("{\"prompt\":\"\\ud800\"}"),
        std::string(R"({"prompt":"a"} trailing)"), std::string(100'000, '['),
        "{\"prompt\":" + std::string(1'000'000, '[')}) {
    EXPECT_EQ(Wrong(body), "") << body.substr(0, 50);
  }
}

TEST(CompletionRequest, TellsWhereAndWhyABodyIsNoJson) {
  const auto problem = [](const std::string& body) {
    const auto parsed = ParseCompletionRequest(body);
    const auto* error = std::get_if<http::ApiError>(&parsed);
    return error == nullptr ? "" : error->message;
  };
  EXPECT_EQ(problem("{\"prompt\":\"ab\xff\xfe\"}"),
            "the body is not valid JSON at byte 14: invalid string: ill-formed UTF-8 byte");
  EXPECT_EQ(problem(R"({"prompt":"\ud800"})"),
            "the body is not valid JSON at byte 18: invalid string: surrogate U+D800..U+DBFF must "
            "be followed by U+DC00..U+DFFF");
  EXPECT_EQ(problem(std::string("{}\0{}", 5)), "the body is not valid JSON: byte 3 is 0");
  EXPECT_EQ(problem(R"({"prompt":NaN})"), "the body is not valid JSON at byte 11: invalid literal");
  EXPECT_THAT(problem(R"({"prompt":"a"} trailing)"), HasSubstr("not valid JSON at byte 18: "));
  EXPECT_THAT(problem(""), HasSubstr("not valid JSON at byte 1: "));
}

TEST(CompletionRequest, BracketsInTextAreNoNesting) {
  EXPECT_EQ(
      Parse("{\"prompt\":\"" + std::string(1000, '[') + "\\\"" + std::string(1000, '{') + "\"}")
          .prompts.size(),
      1u);
}

}  // namespace
}  // namespace gp::gateway
