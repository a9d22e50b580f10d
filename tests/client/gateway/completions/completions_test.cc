#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "client/gateway/completions/completion.h"
#include "client/gateway/completions/json_body.h"
#include "client/gateway/running_gateway.h"
#include "lib/base/eventually.h"
#include "lib/http/deflate.h"
#include "lib/tokenizer/small_tokenizer.h"

namespace gp::gateway {
namespace {

using Json = nlohmann::json;
using ::testing::HasSubstr;

std::string Gzip(std::string_view text) { return http::Deflate(text, http::kGzipBits); }

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

// The text is decoded from the bytes of all tokens together. A token's offset is the number of
// characters before it. Case gateway-and-pages/02: text_offset was wrong after bytes that are not
// UTF-8.
TEST_F(Completions, OffsetsCountTheCharactersOfTheText) {
  // F0 9F and E2 82, which are incomplete, are one replacement each; FF and 80 are separate.
  const std::string prompt = "[97,240,159,98,226,130,255,128,99]";
  const Json choice =
      Complete(R"({"prompt":)" + prompt + R"(,"max_tokens":9,"logprobs":0})")["choices"][0];
  EXPECT_EQ(choice["text"], "a\ufffdb\ufffd\ufffd\ufffdc");
  EXPECT_EQ(choice["logprobs"]["text_offset"], Json::parse("[0,1,2,2,3,4,4,5,6]"));
}

TEST_F(Completions, AnEchoedPromptMayEndWithinACharacter) {
  // The fake sampler repeats the prompt: E2 82 AC, then E2 82.
  const Json whole =
      Complete(R"({"prompt":[226,130,172,226,130],"max_tokens":1,"echo":true,"logprobs":0,"n":1})")
          ["choices"][0];
  EXPECT_EQ(whole["text"], "\u20ac\ufffd\ufffd");
  const Json scored =
      Complete(R"({"prompt":[97,226,130],"max_tokens":0,"echo":true,"logprobs":0})")["choices"][0];
  EXPECT_EQ(scored["text"], "a\ufffd");
  EXPECT_EQ(scored["logprobs"]["text_offset"], Json::parse("[0,1,2]"));
}

TEST_F(Completions, StreamsWholeCharactersAndEndsWithDone) {
  const auto events = Stream(R"({"prompt":"é→a","max_tokens":6,"stream":true})");
  ASSERT_GE(events.size(), 2u);
  std::string text;
  for (size_t i = 0; i + 1 < events.size(); ++i) {
    const Json chunk = Json::parse(events[i]);  // throws if events split a UTF-8 character
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

TEST_F(Completions, MaxTokensIsAnUpperBound) {
  const Json answer =
      Complete("{\"prompt\":[\"" + std::string(60, 'a') + "\",\"b\"],\"max_tokens\":100}");
  EXPECT_EQ(answer["choices"][0]["text"], "aaaa");
  EXPECT_EQ(answer["choices"][0]["finish_reason"], "length");
  EXPECT_EQ(answer["choices"][1]["text"], std::string(63, 'b'));
}

// Case gateway-and-pages/15: clients did not recognise the error of a prompt that is too long.
TEST_F(Completions, SaysInTheWordsOfOpenAiThatThePromptIsTooLong) {
  for (const size_t length : {64, 65, 70'000}) {
    const Json error = Complete(
        "{\"prompt\":\"" + std::string(length, 'a') + "\",\"max_tokens\":5}", 400)["error"];
    EXPECT_EQ(error["code"], "context_length_exceeded");
    EXPECT_EQ(error["param"], "prompt");
    const std::string message = error["message"];
    EXPECT_THAT(message, HasSubstr("This model's maximum context length is 64 tokens."));
    EXPECT_THAT(message, HasSubstr(std::to_string(length)));
  }
  // A prompt that fills the context can be scored.
  Complete("{\"prompt\":\"" + std::string(64, 'a') +
           "\",\"max_tokens\":0,\"echo\":true,\"logprobs\":1}");
  Complete("{\"prompt\":\"" + std::string(200'000, 'a') + "\"}",
           400);  // parsed on the offload pool
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

TEST_F(Completions, HintsAtWhatIsElsewhereOrNotHere) {
  for (const auto& [method, path, words] : {std::tuple("POST", "/v1/embeddings", "/tokenize"),
                                            {"POST", "/v1/responses", "/v1/completions"},
                                            {"POST", "/v1/messages", "/v1/completions"},
                                            {"GET", "/v1", "/v1/models"},
                                            {"GET", "/playground", "the playground is at /"},
                                            {"GET", "/runs/demo", "/runs#run=NAME"}}) {
    const http::Answer answer =
        http::Ask(gateway_->port(), method, path, method[0] == 'P' ? "{}" : "");
    EXPECT_EQ(answer.status, 404) << path;
    EXPECT_THAT(answer.body, HasSubstr(words)) << path;
  }
}

// A misspelt parse_special changed the tokens, and nothing said so.
TEST_F(Completions, TokenizerRoutesTellWhatTheyIgnored) {
  const auto ignored = [&](const std::string& target, const std::string& body) {
    const http::Answer answer = gateway_->Post(target, body);
    EXPECT_EQ(answer.status, 200) << answer.body;
    return answer.Header("x-gp-ignored");
  };
  EXPECT_EQ(ignored("/tokenize", R"({"prompt":"a","parse_specail":false})"), "parse_specail");
  EXPECT_EQ(ignored("/tokenize", R"({"prompt":"a","add_special_tokens":true,"b":1})"),
            "add_special_tokens, b");
  EXPECT_EQ(ignored("/detokenize", R"({"tokens":[97],"skip_special_tokens":false})"),
            "skip_special_tokens");
  EXPECT_EQ(ignored("/tokenize", R"({"prompt":"a","parse_special":false})"), "");
}

TEST_F(Completions, ATextToTokenizeIsGivenOnce) {
  const http::Answer both = gateway_->Post("/tokenize", R"({"prompt":"a","content":"b"})");
  EXPECT_EQ(both.status, 400);
  EXPECT_THAT(both.body, HasSubstr("prompt and content are both given, and differ"));
  EXPECT_EQ(gateway_->Post("/tokenize", R"({"prompt":"a","content":"a"})").status, 200);
  EXPECT_EQ(gateway_->Post("/tokenize", R"({"prompt":"a","content":null})").status, 200);
}

TEST_F(Completions, SaysHowMuchTextIsTooMuch) {
  std::string ids = "97";
  for (int i = 0; i < 1 << 20; ++i) ids += ",97";
  const http::Answer tokens = gateway_->Post("/detokenize", R"({"tokens":[)" + ids + "]}");
  EXPECT_EQ(tokens.status, 400);
  EXPECT_THAT(tokens.body, HasSubstr("the text of these tokens has more than 1048576 bytes"));
  const std::string text((1 << 20) + 1, 'a');
  EXPECT_THAT(gateway_->Post("/tokenize", R"({"prompt":")" + text + R"("})").body,
              HasSubstr("prompt has 1048577 bytes, at most 1048576 are allowed in one request"));
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
  const http::Answer unknown = gateway_->Post("/detokenize", R"({"tokens":[97,1000000000]})");
  EXPECT_EQ(unknown.status, 400);
  EXPECT_NE(unknown.body.find("tokens holds the token id 1000000000, this model has"),
            std::string::npos)
      << unknown.body;
}

// lm_eval ends texts at eos_token, and begins documents with bos_token.
TEST_F(Completions, TokenizerInfoNamesNoEndWhereTheModelHasNone) {
  const Json info = Json::parse(Get("/tokenizer_info").body);
  for (const char* none : {"eos_token", "eos_token_id", "pad_token", "unk_token"}) {
    ASSERT_TRUE(info.contains(none)) << none;
    EXPECT_TRUE(info[none].is_null()) << none;
  }
  EXPECT_EQ(info["bos_token"], "\n");
}

// Case gateway-and-pages/01: a stop string of megabytes killed the sampler.
TEST_F(Completions, EveryFieldHasItsBound) {
  const auto error = [&](const std::string& body) { return Complete(body, 400)["error"].dump(); };
  const std::string many(9 << 20, 'z');
  EXPECT_THAT(error(R"({"prompt":"a","stop":[")" + many + R"("]})"),
              HasSubstr(R"("param":"stop")"));
  EXPECT_THAT(error(R"({"prompt":"a","stop":")" + std::string(65, 'z') + R"("})"),
              HasSubstr("at most 64"));
  EXPECT_EQ(Complete(R"({"prompt":"a","max_tokens":1,"stop":")" + std::string(64, 'z') +
                     R"("})")["choices"][0]["text"],
            "a");
  EXPECT_THAT(error(R"({"prompt":")" + many + R"("})"), HasSubstr("at least 9437184 tokens"));
  EXPECT_THAT(error(R"({"model":")" + many + R"("})"), HasSubstr(R"("param":"model")"));
  EXPECT_THAT(error(R"({"user":")" + many + R"("})"), HasSubstr(R"("param":"user")"));
  std::string biases = R"("0":1)";
  for (int i = 1; i <= 4096; ++i) biases += fmt::format(R"(,"{}":1)", i);
  EXPECT_THAT(error(R"({"prompt":"a","logit_bias":{)" + biases + "}}"), HasSubstr("4097 tokens"));
  std::string lists = "[]";
  std::string fields = R"("a":1)";
  std::string values = "1";
  std::string strings = R"("")";
  for (int i = 0; i < 5000; ++i) lists += ",[]";
  for (int i = 0; i < 200'000; ++i) fields += R"(,"":1)";
  for (int i = 0; i < 1'100'000; ++i) values += ",1";
  for (int i = 0; i < 300'000; ++i) strings += R"(,"")";
  EXPECT_THAT(error(R"({"x":[)" + lists + "]}"), HasSubstr("lists and objects"));
  EXPECT_THAT(error("{" + fields + "}"), HasSubstr("fields"));
  EXPECT_THAT(error(R"({"x":[)" + values + "]}"), HasSubstr("values"));
  EXPECT_THAT(error(R"({"x":[)" + strings + "]}"), HasSubstr("strings"));
}

TEST_F(Completions, TakesAsManyIdsAsTheLimitsOfPromptsAndContextAllowWithAllOtherFields) {
  std::string prompts;
  for (int prompt = 0; prompt < kTextsMax; ++prompt) {
    prompts += prompt == 0 ? "[1" : ",[1";
    for (int id = 1; id < 8192; ++id) prompts += ",1";
    prompts += "]";
  }
  std::string biases = R"("0":1)";
  for (int i = 1; i < 4096; ++i) biases += fmt::format(R"(,"{}":1)", i);
  const std::string fields = R"(,"stop":["a","b","c","d"],"n":1,"seed":1,"logit_bias":{)" + biases;
  // The body is within the limits, and refused only because this test's model has fewer ids.
  EXPECT_THAT(Complete(R"({"prompt":[)" + prompts + "]" + fields + "}}", 400)["error"].dump(),
              HasSubstr("logit_bias names token id 4095"));
  std::string values = "1";
  for (int64_t i = 2; i < JsonBody::kValuesMax; ++i) values += ",1";
  EXPECT_THAT(Complete(R"({"x":[)" + values + R"(],"prompt":5})", 400)["error"].dump(),
              ::testing::Not(HasSubstr("values, at most")));
  EXPECT_THAT(Complete(R"({"x":[)" + values + R"(,1],"prompt":5})", 400)["error"].dump(),
              HasSubstr("values, at most 1064960 are allowed"));
}

TEST_F(Completions, TakesCompressedBodies) {
  const std::string plain = R"({"prompt":"abc","max_tokens":3})";
  const std::string gzip = Gzip(plain);
  const auto ask = [&](const std::string& target, const std::string& coding,
                       const std::string& body) {
    return http::Ask(gateway_->port(), "POST", target, body,
                     "Content-Encoding: " + coding + "\r\n");
  };
  const http::Answer answer = ask("/v1/completions", "gzip", gzip);
  EXPECT_EQ(answer.status, 200) << answer.body;
  EXPECT_THAT(answer.body, HasSubstr(R"("text":"abc")"));
  EXPECT_EQ(ask("/tokenize", "GZIP", Gzip(R"({"prompt":"ab"})")).status, 200);
  EXPECT_EQ(ask("/v1/completions", "identity", plain).status, 200);
  const http::Answer unknown = ask("/v1/completions", "br", plain);
  EXPECT_EQ(unknown.status, 415);
  EXPECT_THAT(unknown.body, HasSubstr("Content-Encoding: br"));
  EXPECT_EQ(ask("/v1/completions", "gzip", plain).status, 400);
  EXPECT_EQ(ask("/v1/completions", "gzip", gzip.substr(0, gzip.size() - 9)).status, 400);
  // A few kilobytes that become larger than the limit for a body when decompressed.
  const std::string bomb = Gzip(R"({"prompt":")" + std::string(11 << 20, 'a') + "\"}");
  EXPECT_LT(bomb.size(), 100u << 10);
  EXPECT_EQ(ask("/v1/completions", "gzip", bomb).status, 413);
}

TEST_F(Completions, TokenizesLongTextsInParts) {
  const std::string most((1 << 20), 'a');
  EXPECT_EQ(gateway_->Post("/tokenize", R"({"prompt":")" + most + R"("})").status, 200);
  const http::Answer text = gateway_->Post("/tokenize", R"({"content":")" + most + R"(a"})");
  EXPECT_EQ(text.status, 400);
  EXPECT_THAT(text.body, HasSubstr("send it in parts"));
  std::string ids = "97";
  for (int i = 1; i < 1'040'000; ++i) ids += ",97";
  EXPECT_EQ(gateway_->Post("/detokenize", R"({"tokens":[)" + ids + "]}").status, 200);
}

// Case gateway-and-pages/05: a body of megabytes was parsed in the loop, which blocked all clients.
TEST_F(Completions, TheLoopStaysFreeOfWorkOnLargeBodies) {
  const std::string large(100 << 10, 'a');
  const struct {
    std::string target, body, headers;
    int status;
  } requests[] = {
      // The first four fail in parsing; the others are encoded or decoded.
      {"/tokenize", R"({"prompt":5,"large":")" + large + R"("})", "", 400},
      {"/detokenize", R"({"tokens":")" + large + R"("})", "", 400},
      {"/v1/completions", R"({"max_tokens":")" + large + R"("})", "", 400},
      {"/tokenize", Gzip(R"({"prompt":5})"), "Content-Encoding: gzip\r\n", 400},
      {"/tokenize", R"({"prompt":"ab"})", "", 200},
      {"/detokenize", R"({"tokens":[97]})", "", 200},
      {"/v1/completions", R"({"prompt":")" + large.substr(0, 20 << 10) + R"("})", "", 400}};
  const auto post = [&](const auto& request) {
    return http::Ask(gateway_->port(), "POST", request.target, request.body, request.headers);
  };
  for (const auto& request : requests) EXPECT_EQ(post(request).status, request.status);
  const http::FullPool full = gateway_->FillWorkPool();
  for (const auto& request : requests) {
    const http::Answer answer = post(request);
    EXPECT_EQ(answer.status, 503) << request.target
                                  << " was worked on in the loop: " << answer.body;
    EXPECT_THAT(answer.body, HasSubstr("the gateway is busy"));
    EXPECT_EQ(Get("/livez").status, 200);
  }
}

// lm_eval's remote tokenizer names no model. It must not get token ids of an arbitrary model.
TEST_F(Completions, ATextForOneOfSeveralTokenizersNamesItsModel) {
  WriteCheckpoint(files_.File("other"));
  gateway_.emplace(
      RunningGateway::FakePool(),
      std::vector<NamedDirectory>{{"m", files_.File("m")}, {"other", files_.File("other")}});
  ASSERT_TRUE(Eventually([&] { return Get("/v1/models/other").status == 200; }));
  for (const http::Answer& answer :
       {gateway_->Post("/tokenize", R"({"prompt":"ab"})"),
        gateway_->Post("/detokenize", R"({"tokens":[97]})"), Get("/tokenizer_info")}) {
    EXPECT_EQ(answer.status, 400);
    EXPECT_THAT(answer.body, HasSubstr("model is missing, and 2 models are served here"));
  }
  EXPECT_EQ(gateway_->Post("/tokenize", R"({"model":"m","prompt":"ab"})").status, 200);
  EXPECT_EQ(Get("/tokenizer_info?model=other").status, 200);
}

// A model with <|endoftext|> (261), <a> (262) and <b> (263) whose files define their purposes.
class CompletionsWithSpecialTokens : public Completions {
 protected:
  CompletionsWithSpecialTokens() {
    Json document = SmallTokenizerJson();
    for (const auto& [id, text] : {std::pair(262, "<a>"), {263, "<b>"}}) {
      document["added_tokens"].push_back({{"id", id}, {"content", text}, {"special", true}});
    }
    auto tokenizer = *ParseTokenizer(document.dump());
    tokenizer->set_special_tokens({.bos = 262, .eos = 263, .model_bos = 262, .model_eos = {263}});
    WriteCheckpoint(files_.File("s"), {.tokenizer = tokenizer->Serialized(), .vocabulary = 264});
    gateway_.emplace(RunningGateway::FakePool(),
                     std::vector<NamedDirectory>{{"s", files_.File("s")}});
    EXPECT_TRUE(Eventually([&] { return Get("/v1/models/s").status == 200; }));
  }
  std::string Tokens(const std::string& body) {
    return Json::parse(gateway_->Post("/tokenize", body).body)["tokens"].dump();
  }
};

// lm_eval asks for the token before a document this way, and takes the first id.
TEST_F(CompletionsWithSpecialTokens, TokenizeReadsThemAsVllmAndLlamaCppDo) {
  EXPECT_EQ(Tokens(R"({"prompt":"<a>","add_special_tokens":false})"), "[262]");
  EXPECT_EQ(Tokens(R"({"content":"<b>"})"), "[263]");
}

TEST_F(CompletionsWithSpecialTokens, TextBecomesThemWhenAskedFor) {
  EXPECT_EQ(Tokens(R"({"prompt":"<a>hello<b>","parse_special":true})"), "[262,260,263]");
  EXPECT_EQ(Tokens(R"({"prompt":"<a>hello","parse_special":false})").find("262"),
            std::string::npos);
  const auto prompt_tokens = [this](const char* more) {
    return Complete(std::string(R"({"prompt":"<a>hello","max_tokens":1)") +
                    more)["usage"]["prompt_tokens"];
  };
  EXPECT_EQ(prompt_tokens(R"(,"parse_special":true})"), 2);
  EXPECT_EQ(prompt_tokens(R"(,"parse_special":false})"), 4);
  EXPECT_EQ(prompt_tokens("}"), 4);
  EXPECT_EQ(Complete(R"({"prompt":"a","parse_special":1})", 400)["error"]["param"],
            "parse_special");
}

TEST_F(CompletionsWithSpecialTokens, TheirNamesAreTold) {
  const Json info = Json::parse(Get("/tokenizer_info").body);
  EXPECT_EQ(info["bos_token"], "<a>");
  EXPECT_EQ(info["eos_token"], "<b>");
  EXPECT_EQ(info["eos_token_id"], 263);
  EXPECT_TRUE(info["pad_token"].is_null());
  // Without a prompt, the text begins with the token that separates documents, not with bos_token.
  EXPECT_EQ(Complete(R"({"max_tokens":1,"echo":true})")["choices"][0]["text"], "<b>");
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
  for (const char* path : {"/v1/models", "/v1/models/m", "/v1/models/m@1"}) {
    const http::Answer answer = Get(path + std::string("/"));
    EXPECT_EQ(answer.status, 308) << path;
    EXPECT_EQ(answer.Header("location"),
              ".." + std::string(path).substr(std::string(path).rfind('/')));
  }
  EXPECT_EQ(Get("/v1/models//").status, 404);
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
