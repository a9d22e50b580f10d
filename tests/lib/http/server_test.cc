#include "http/server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <mutex>

#include "lib/base/eventually.h"
#include "lib/http/http_client.h"
#include "lib/http/running_server.h"

namespace gp::http {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

// A server with a few handlers. Tests can change `limits` and the other options before Serve.
class AnyServer : public ::testing::Test {
 protected:
  static constexpr size_t kLongBytes = 20 << 20;

  AnyServer() {
    context_.limits.tick = std::chrono::milliseconds(5);
    router_.Add(
        {"GET", "/ping", [](const auto& exchange) { exchange->Respond({.body = "pong"}); }});
    router_.Add({"POST", "/echo", [](const auto& exchange) {
                   exchange->Respond({.body = exchange->request().body});
                 }});
    router_.Add({"GET", "/things/{id}", [](const auto& exchange) {
                   exchange->Respond({.body = std::string(exchange->request().Capture("id"))});
                 }});
    router_.Add({"GET", "/forgotten", [](const auto&) {}});
    // Far more bytes than the kernel buffers for a client that does not read.
    router_.Add({"GET", "/long", [this](const auto& exchange) {
                   exchange->Respond({.body = std::string(kLongBytes, 'x')});
                   ++begun_;
                 }});
    // Answers only when the test lets it.
    router_.Add({"GET", "/later", [this](const auto& exchange) {
                   exchange->OnGone([this] { ++gone_; });
                   later_ = exchange;
                   ++begun_;
                 }});
    router_.Add({"GET", "/stream", [this](const auto& exchange) {
                   stream_ = exchange->BeginEventStream();
                   stream_->OnGone([this] { ++gone_; });
                   ++begun_;
                 }});
    context_.finished = [this](const ExchangeRecord& record) {
      const std::lock_guard lock(mutex_);
      records_.push_back(record);
    };
  }
  ~AnyServer() override {
    if (!server_) return;
    server_->InLoop([this] {
      later_.reset();
      kept_.clear();
      stream_.reset();
      streams_.clear();
    });
  }

  void Serve() { server_.emplace(context_); }
  // A client that requests the long answer and does not read it yet.
  std::unique_ptr<HttpClient> AskForLong(const std::string& headers = "") {
    const int before = begun_;
    auto client = std::make_unique<HttpClient>(port(), 4096);
    client->Request("GET", "/long", "", headers);
    EXPECT_TRUE(Eventually([&] { return begun_ == before + 1; }));
    return client;
  }
  int port() const { return server_->port(); }
  std::vector<ExchangeRecord> records() {
    const std::lock_guard lock(mutex_);
    return records_;
  }
  void SendEvent(const std::string& data) {
    server_->InLoop([&] { stream_->Send(data); });
  }

  Router router_;
  ServerContext context_{.router = router_};
  std::shared_ptr<Exchange> later_;
  std::vector<std::shared_ptr<Exchange>> kept_;
  std::shared_ptr<EventStream> stream_;
  std::vector<std::shared_ptr<EventStream>> streams_;
  std::atomic<int> gone_ = 0;
  std::atomic<int> begun_ = 0;
  std::mutex mutex_;
  std::vector<ExchangeRecord> records_;
  std::optional<RunningServer> server_;
};

TEST_F(AnyServer, AnswersOneRequestAfterAnotherOnOneConnection) {
  Serve();
  HttpClient client(port());
  client.Request("GET", "/ping");
  EXPECT_EQ(client.Receive().body, "pong");
  client.Request("POST", "/echo", "hello");
  EXPECT_EQ(client.Receive().body, "hello");
  client.Request("GET", "/things/a%2Fb@1?x=1");
  EXPECT_EQ(client.Receive().body, "a/b@1");
}

TEST_F(AnyServer, AnswersPipelinedRequestsInTheirOrder) {
  Serve();
  HttpClient client(port());
  std::string requests;
  for (int i = 0; i < 50; ++i)
    requests += fmt::format("GET /things/{} HTTP/1.1\r\nHost: x\r\n\r\n", i);
  client.Send(requests);
  for (int i = 0; i < 50; ++i) EXPECT_EQ(client.Receive().body, std::to_string(i));
}

TEST_F(AnyServer, AnswersAllRequestsThatWereSentBeforeAHalfClose) {
  Serve();
  HttpClient client(port());
  std::string requests;
  for (int i = 0; i < 50; ++i)
    requests += fmt::format("GET /things/{} HTTP/1.1\r\nHost: x\r\n\r\n", i);
  client.Send(requests);
  client.HalfClose();
  for (int i = 0; i < 50; ++i) EXPECT_EQ(client.Receive().body, std::to_string(i));
  EXPECT_TRUE(client.Closed());
}

TEST_F(AnyServer, TakesARequestThatComesByteByByte) {
  Serve();
  HttpClient client(port());
  for (const char byte :
       std::string("POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc")) {
    client.Send({&byte, 1});
  }
  EXPECT_EQ(client.Receive().body, "abc");
}

TEST_F(AnyServer, TakesAChunkedBody) {
  Serve();
  HttpClient client(port());
  client.Send(
      "POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: "
      "chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n");
  EXPECT_EQ(client.Receive().body, "abcde");
}

TEST_F(AnyServer, TellsAClientThatAsksToGoOnWithTheBody) {
  Serve();
  HttpClient client(port());
  client.Send(
      "POST /echo HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n");
  EXPECT_EQ(client.ReceiveHead().status, 100);
  client.Send("ok");
  EXPECT_EQ(client.Receive().body, "ok");
}

TEST_F(AnyServer, AnswersAHeadWithoutABody) {
  Serve();
  HttpClient client(port());
  client.Request("HEAD", "/ping");
  const Answer answer = client.Receive(/*head=*/true);
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.Header("content-length"), "4");
  client.Request("GET", "/ping");
  EXPECT_EQ(client.Receive().body, "pong");
}

TEST_F(AnyServer, AnswersAHeadOfAStreamWithoutAStream) {
  Serve();
  HttpClient client(port());
  client.Request("HEAD", "/stream");
  const Answer answer = client.Receive(/*head=*/true);
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.Header("content-type"), "text/event-stream; charset=utf-8");
  EXPECT_TRUE(Eventually([&] { return gone_ == 1; }));
  server_->InLoop([&] { stream_->Send("nobody reads this"); });
  client.Request("GET", "/ping");
  EXPECT_EQ(client.Receive().body, "pong");
  for (const char* target : {"/nothing", "/echo", "/%zz"}) {
    HttpClient wrong(port());
    wrong.Send(fmt::format("HEAD {} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", target));
    EXPECT_GE(wrong.Receive(/*head=*/true).status, 400) << target;
    EXPECT_TRUE(wrong.Closed());
  }
}

// Case gateway-and-pages/16: errors did not suggest a correction.
TEST_F(AnyServer, SuggestsThePathThatWasMeant) {
  router_.Add(
      {"POST", "/v1/completions", [](const auto& exchange) { exchange->Respond(Response()); }});
  router_.Add(
      {"GET", "/v1/models/{id...}", [](const auto& exchange) { exchange->Respond(Response()); }});
  Serve();
  const std::pair<const char*, const char*> cases[] = {
      {"/completions", "/v1/completions"},        {"/v1/v1/completions", "/v1/completions"},
      {"//v1/completions", "/v1/completions"},    {"/v1/completions/", "/v1/completions"},
      {"/api/v1/completions", "/v1/completions"}, {"/v1/completion", "/v1/completions"},
      {"/v1//completions//", "/v1/completions"},  {"/v1/v1/models/demo", "/v1/models/demo"},
      {"/models/demo", "/v1/models/demo"},        {"/pingg", "/ping"},
  };
  for (const auto& [path, meant] : cases) {
    const Answer answer = Ask(port(), "POST", path, "{}");
    EXPECT_EQ(answer.status, 404) << path;
    EXPECT_THAT(answer.body, HasSubstr(fmt::format("did you mean {}?", meant))) << path;
  }
  EXPECT_THAT(Ask(port(), "GET", "/quite/another").body, Not(HasSubstr("did you mean")));
}

TEST_F(AnyServer, LeadsFromASlashTooManyToThePage) {
  Serve();
  const Answer answer = Ask(port(), "GET", "/ping/?a=b/c");
  EXPECT_EQ(answer.status, 308);
  // A relative location, because a proxy may serve the gateway below another path.
  EXPECT_EQ(answer.Header("location"), "../ping?a=b/c");
  EXPECT_EQ(Ask(port(), "GET", "/things/a%2Fb/").Header("location"), "../a%2Fb");
  EXPECT_EQ(Ask(port(), "GET", "//ping/").status, 404);
}

TEST_F(AnyServer, ShowsErrorsToAPersonAsAPage) {
  Serve();
  const std::string browser = "Accept: text/html,application/xhtml+xml,*/*;q=0.8\r\n";
  const Answer page = Ask(port(), "GET", "/no&thing", "", browser);
  EXPECT_EQ(page.status, 404);
  EXPECT_EQ(page.Header("content-type"), "text/html; charset=utf-8");
  EXPECT_THAT(page.body, HasSubstr("<h1>404 Not Found</h1>"));
  EXPECT_THAT(page.body, HasSubstr("/no&amp;thing"));
  EXPECT_THAT(Ask(port(), "GET", "/nothing", "", "Accept: */*\r\n").body, HasSubstr("{\"error\""));
}

TEST_F(AnyServer, AnswersWithJsonErrors) {
  Serve();
  EXPECT_EQ(Ask(port(), "GET", "/nothing").status, 404);
  EXPECT_THAT(
      Ask(port(), "GET", "/nothing").body,
      HasSubstr(R"({"error":{"message":"there is nothing at /nothing","type":"not_found_error")"));
  const Answer wrong = Ask(port(), "DELETE", "/ping");
  EXPECT_EQ(wrong.status, 405);
  EXPECT_EQ(wrong.Header("allow"), "GET, HEAD, OPTIONS");
  EXPECT_EQ(Ask(port(), "OPTIONS", "/ping").status, 204);
  EXPECT_EQ(Ask(port(), "GET", "/forgotten").status, 500);
}

TEST_F(AnyServer, RefusesWhatIsNoRequestAndCloses) {
  Serve();
  for (const std::string_view bytes :
       {"\r\n\r\n\r\n", "GARBAGE\r\n\r\n", "GET / HTTP/9.9\r\n\r\n",
        "GET /ping HTTP/1.1\r\nHost: x\r\nno colon\r\n\r\n",
        "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: -5\r\n\r\n",
        "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nabcdef",
        "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nTransfer-Encoding: "
        "chunked\r\n\r\n0\r\n\r\n",
        "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"}) {
    HttpClient client(port());
    client.Send(bytes);
    client.HalfClose();
    const Answer answer = client.Receive();
    EXPECT_TRUE(answer.status == 0 || answer.status == 400) << answer.status << " " << bytes;
    EXPECT_TRUE(client.Closed());
  }
  EXPECT_EQ(Ask(port(), "GET", "/ping").status, 200);
}

TEST_F(AnyServer, FindsNothingBehindTrickyPaths) {
  Serve();
  for (const char* path : {"/../ping", "//ping", "/%2e%2e/ping", "/things/", "/things/a/b",
                           "/.%00./", "/%", "/%zz", "/ping%00", "*", "/things"}) {
    const int status = Ask(port(), "GET", path).status;
    EXPECT_TRUE(status == 404 || status == 400) << path << ": " << status;
  }
}

TEST_F(AnyServer, RefusesAHeaderThatIsTooLarge) {
  Serve();
  HttpClient client(port());
  client.Send("GET /ping HTTP/1.1\r\nHost: x\r\n");
  for (int i = 0; i < 2000; ++i) client.Send(fmt::format("x-{}: {}\r\n", i, i));
  EXPECT_EQ(client.Receive().status, 431);
  EXPECT_TRUE(client.Closed());
}

// A page could not read why its request was refused, and the log did not identify the request.
TEST_F(AnyServer, AnAnswerBeforeTheWholeRequestIsForItsPageItsIdAndTheLog) {
  context_.sites.cors_origins = {"https://good.example"};
  context_.limits.body_bytes_max = 1000;
  context_.limits.header_timeout = std::chrono::milliseconds(50);
  context_.limits.body_timeout = std::chrono::milliseconds(50);
  Serve();
  const std::string begin =
      "POST /echo HTTP/1.1\r\nHost: x\r\nOrigin: https://good.example\r\n"
      "X-Request-Id: mine\r\nContent-Type: application/json\r\n";
  const std::string chunked = begin + "Transfer-Encoding: chunked\r\n\r\n";
  const std::pair<int, std::string> cases[] = {
      {413, begin + "Content-Length: 1001\r\n\r\n"},
      {413, begin + "Content-Length: 1001\r\nExpect: 100-continue\r\n\r\n"},
      {413, chunked + "3e9\r\n"},
      {408, begin},
      {408, begin + "x: "},
      {408, begin + "Content-Length: 5\r\n\r\nab"},
      {400, begin + "no colon\r\n\r\n"},
      {400, begin + "Content-Length: -5\r\n\r\n"},
      {400, chunked + "zz\r\n"},
      {431, begin + "x: " + std::string(20'000, 'x')},
      {415, begin + "Transfer-Encoding: gzip, chunked\r\n\r\n"},
  };
  for (const auto& [status, bytes] : cases) {
    SCOPED_TRACE(bytes.substr(0, 300));
    const size_t before = records().size();
    HttpClient client(port());
    client.Send(bytes);
    const Answer answer = client.Receive();
    EXPECT_EQ(answer.status, status);
    EXPECT_EQ(answer.Header("access-control-allow-origin"), "https://good.example");
    EXPECT_EQ(answer.Header("x-request-id"), "mine");
    EXPECT_TRUE(client.Closed());
    ASSERT_TRUE(Eventually([&] { return records().size() == before + 1; }));
    EXPECT_EQ(records().back().method, "POST");
    EXPECT_EQ(records().back().target, "/echo");
    EXPECT_EQ(records().back().request_id, "mine");
  }
  HttpClient other(port());
  other.Send(
      "POST /echo HTTP/1.1\r\nHost: x\r\nOrigin: https://bad.example\r\n"
      "Content-Length: 1001\r\n\r\n");
  const Answer refused = other.Receive();
  EXPECT_EQ(refused.status, 403);
  EXPECT_EQ(refused.Header("access-control-allow-origin"), "");
}

TEST_F(AnyServer, ABodyThatIsTooLargeHidesNoOtherError) {
  context_.limits.body_bytes_max = 1000;
  Serve();
  const auto status = [&](const std::string& target) {
    HttpClient client(port());
    client.Send("POST " + target + " HTTP/1.1\r\nHost: x\r\nContent-Length: 1001\r\n\r\n");
    return client.Receive().status;
  };
  EXPECT_EQ(status("/echo"), 413);
  EXPECT_EQ(status("/nothing"), 404);
  EXPECT_EQ(status("/ping"), 405);
}

// The limit applies at once, long before the body's timeout of a minute.
TEST_F(AnyServer, RefusesALineOfAChunkedBodyThatDoesNotEndAtOnce) {
  Serve();
  const std::string begin = "POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n";
  for (const char* line : {"3;x=", "1\r\na\r\n3;x=", "0;x=", "0\r\nx: "}) {
    HttpClient client(port());
    client.Send(begin + line + std::string(30'000, 'x'));
    const Answer answer = client.Receive();
    EXPECT_EQ(answer.status, 400) << line;
    EXPECT_THAT(answer.body, HasSubstr("of more than 16384 bytes")) << line;
  }
  HttpClient client(port());
  client.Send(begin + "3;x=" + std::string(10'000, 'x') + "\r\nabc\r\n0\r\n\r\n");
  EXPECT_EQ(client.Receive().body, "abc");
}

TEST_F(AnyServer, SkipsEmptyLinesBeforeARequest) {
  Serve();
  HttpClient client(port());
  client.Send("\r\nGET /ping HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_EQ(client.Receive().body, "pong");
  client.Send(
      "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc\r\n\r\n"
      "GET /ping HTTP/1.1\r\nHost: x\r\n\r\n\r");
  EXPECT_EQ(client.Receive().body, "abc");
  EXPECT_EQ(client.Receive().body, "pong");
  client.Send("\nGET /things/1 HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_EQ(client.Receive().body, "1");
}

TEST_F(AnyServer, AsksForAHost) {
  Serve();
  HttpClient client(port());
  client.Send("GET /ping HTTP/1.1\r\n\r\n");
  const Answer answer = client.Receive();
  EXPECT_EQ(answer.status, 400);
  EXPECT_THAT(answer.body, HasSubstr("has no Host"));
  EXPECT_THAT(answer.body, HasSubstr("invalid_host"));
  HttpClient old(port());
  old.Send("GET /ping HTTP/1.0\r\n\r\n");
  EXPECT_EQ(old.Receive().body, "pong");
}

TEST_F(AnyServer, AnErrorForAHeadHasNoBody) {
  context_.limits.header_timeout = std::chrono::milliseconds(50);
  Serve();
  for (const std::string& bytes :
       {std::string("HEAD / HTTP/9.9\r\n\r\n"), std::string("HEAD  /ping HTTP/1.1\r\n\r\n"),
        std::string("HEAD /ping HTTP/1.1\r\nConnection: close\r\n\r\n"),
        std::string("HEAD /ping HTTP/1.1\r\nx: "),
        std::string("HEAD /ping HTTP/1.1\r\nno colon\r\n\r\n"),
        "HEAD /ping HTTP/1.1\r\nx: " + std::string(20'000, 'x')}) {
    HttpClient client(port());
    client.Send(bytes);
    EXPECT_GE(client.Receive(/*head=*/true).status, 400) << bytes.substr(0, 100);
    EXPECT_TRUE(client.Closed());
    EXPECT_EQ(client.Receive().status, 0) << "no byte follows the head";
  }
}

// The end of the body is unknown, so what follows must not be read as a request.
TEST_F(AnyServer, RefusesATransferCodingItDoesNotUndoAndCloses) {
  Serve();
  HttpClient client(port());
  client.Send(
      "POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip\r\n\r\n"
      "GET /ping HTTP/1.1\r\nHost: x\r\n\r\n");
  const Answer answer = client.Receive();
  EXPECT_EQ(answer.status, 415);
  EXPECT_THAT(answer.body, HasSubstr("Transfer-Encoding: gzip is not understood"));
  EXPECT_TRUE(client.Closed());
  EXPECT_EQ(client.Receive().status, 0);
}

TEST_F(AnyServer, RefusesABodyThatIsTooLargeThoughAllOfItIsSent) {
  Serve();
  HttpClient client(port());
  client.Request("POST", "/echo", std::string(100 << 20, 'x'));
  EXPECT_EQ(client.Receive().status, 413);
}

TEST_F(AnyServer, RefusesAChunkedBodyThatGrowsTooLarge) {
  context_.limits.body_bytes_max = 1000;
  Serve();
  HttpClient client(port());
  client.Send("POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n");
  for (int i = 0; i < 3; ++i) client.Send("200\r\n" + std::string(512, 'x') + "\r\n");
  EXPECT_EQ(client.Receive().status, 413);
}

TEST_F(AnyServer, AClientMayHoldAsManyBytesAsAreFreeForTheOthers) {
  context_.limits.held_bytes_max = 200'000;
  context_.key_name = [](std::string_view authorization) {
    return std::optional(std::string(authorization));
  };
  router_.Add({"POST", "/kept", [this](const auto& exchange) {
                 later_ = exchange;
                 ++begun_;
               }});
  Serve();
  const auto ask = [&](const std::string& who, size_t bytes) {
    return Ask(port(), "POST", "/echo", std::string(bytes, 'x'), "Authorization: " + who + "\r\n");
  };
  const Answer refused = ask("greedy", 101'000);
  EXPECT_EQ(refused.status, 503);
  EXPECT_EQ(refused.Header("retry-after"), "1");
  // A body counts until its request is answered, wherever it is kept.
  HttpClient greedy(port());
  greedy.Request("POST", "/kept", std::string(90'000, 'x'), "Authorization: greedy\r\n");
  ASSERT_TRUE(Eventually([&] { return begun_ == 1; }));
  EXPECT_EQ(ask("greedy", 30'000).status, 503);
  EXPECT_EQ(ask("greedy", ByteBudget::kAlwaysBytes).status, 200);
  EXPECT_EQ(ask("modest", 50'000).status, 200);
  server_->InLoop([&] { std::exchange(later_, nullptr)->Respond({.body = "done"}); });
  EXPECT_EQ(greedy.Receive().body, "done");
  EXPECT_EQ(ask("greedy", 90'000).status, 200);
}

TEST_F(AnyServer, AnAnswerThatNobodyReadsCounts) {
  context_.limits.held_bytes_max = 64 << 20;
  Serve();
  HttpClient asleep(port(), 4096);
  asleep.Request("GET", "/long");
  ASSERT_TRUE(Eventually([&] { return begun_ == 1; }));
  HttpClient awake(port());
  awake.Request("GET", "/long");
  EXPECT_EQ(awake.Receive().status, 503);
  EXPECT_EQ(Ask(port(), "GET", "/ping").status, 200);
  asleep.Close();
  EXPECT_TRUE(Eventually([&] { return Ask(port(), "GET", "/long").status == 200; }));
}

TEST_F(AnyServer, LetsGoOfWhoSendsAHeaderOrABodyTooSlowly) {
  context_.limits.header_timeout = std::chrono::milliseconds(50);
  context_.limits.body_timeout = std::chrono::milliseconds(50);
  Serve();
  HttpClient header(port());
  header.Send("GET /ping HTTP/1.1\r\nHost: x\r\nx: ");
  EXPECT_EQ(header.Receive().status, 408);
  HttpClient body(port());
  body.Send("POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nabc");
  EXPECT_EQ(body.Receive().status, 408);
  EXPECT_TRUE(body.Closed());
}

TEST_F(AnyServer, ClosesAConnectionThatIsIdleForLong) {
  context_.limits.idle_timeout = std::chrono::milliseconds(50);
  Serve();
  HttpClient client(port());
  EXPECT_TRUE(client.Closed());
}

TEST_F(AnyServer, TellsTheHandlerThatTheClientLeft) {
  Serve();
  HttpClient client(port());
  client.Request("GET", "/later");
  ASSERT_TRUE(Eventually([&] { return begun_ == 1; }));
  client.Close();
  EXPECT_TRUE(Eventually([&] { return gone_ == 1; }));
  ASSERT_EQ(records().size(), 1u);
  EXPECT_EQ(records()[0].status, 499);
}

TEST_F(AnyServer, AClientThatHalfClosedHasLeft) {
  Serve();
  HttpClient client(port());
  client.Request("GET", "/stream");
  EXPECT_EQ(client.ReceiveHead().status, 200);
  client.HalfClose();
  EXPECT_TRUE(Eventually([&] { return gone_ == 1; }));
}

TEST_F(AnyServer, AnswersWhoHalfClosedWhenTheAnswerIsThereAtOnce) {
  Serve();
  HttpClient client(port());
  client.Request("GET", "/ping");
  client.HalfClose();
  EXPECT_EQ(client.Receive().body, "pong");
  EXPECT_TRUE(client.Closed());
}

TEST_F(AnyServer, AnEventStreamCarriesDataLinesInOrder) {
  Serve();
  HttpClient client(port());
  client.Request("GET", "/stream");
  const Answer head = client.ReceiveHead();
  EXPECT_EQ(head.Header("content-type"), "text/event-stream; charset=utf-8");
  EXPECT_EQ(head.Header("cache-control"), "no-cache");
  SendEvent("one");
  EXPECT_EQ(client.NextEvent(), "one");
  SendEvent("two");
  server_->InLoop([&] { stream_->End("[DONE]"); });
  EXPECT_EQ(client.NextEvent(), "two");
  EXPECT_EQ(client.NextEvent(), "[DONE]");
  EXPECT_EQ(client.NextEvent(), std::nullopt);
  client.Request("GET", "/ping");
  EXPECT_EQ(client.Receive().body, "pong");
}

TEST_F(AnyServer, AQuietStreamIsKeptAliveByComments) {
  context_.limits.ping_period = std::chrono::milliseconds(20);
  Serve();
  HttpClient client(port());
  client.Request("GET", "/stream");
  client.ReceiveHead();
  for (int comment = 0; comment < 2; ++comment) EXPECT_EQ(client.NextBlock(), ": ping");
  server_->InLoop([&] { stream_->End("end"); });
  EXPECT_EQ(client.NextEvent(), "end");
}

TEST_F(AnyServer, TheEndOfAConnectionEndsAStreamWithoutChunks) {
  context_.limits.linger_timeout = std::chrono::hours(1);
  Serve();
  HttpClient client(port());
  client.Send("GET /stream HTTP/1.0\r\n\r\n");
  EXPECT_EQ(client.ReceiveHead().Header("connection"), "close");
  // Without chunks, only the closed connection marks the end, and everything is written before
  // that.
  SendEvent("one");
  ASSERT_TRUE(
      Eventually([&] { return server_->InLoop([&] { return stream_->unsent_bytes() == 0; }); }));
  server_->InLoop([&] { stream_->End(); });
  EXPECT_TRUE(client.Closed());
}

TEST_F(AnyServer, AStreamThatNobodyReadsIsLetGo) {
  context_.limits.unsent_bytes_max = 100'000;
  Serve();
  HttpClient client(port());
  client.Request("GET", "/stream");
  client.ReceiveHead();
  EXPECT_TRUE(Eventually([&] {
    SendEvent(std::string(50'000, 'x'));
    return gone_ == 1;
  }));
}

TEST_F(AnyServer, AnEventBeyondTheLimitReachesWhoKeepsUp) {
  context_.limits.unsent_bytes_max = 1000;
  Serve();
  HttpClient client(port());
  client.Request("GET", "/stream");
  client.ReceiveHead();
  const std::string text(5'000'000, 'x');
  SendEvent(text);
  EXPECT_EQ(client.NextEvent(), text);
  EXPECT_EQ(gone_, 0);
}

TEST_F(AnyServer, AStreamThatIsLetGoOfIsCut) {
  Serve();
  HttpClient client(port());
  client.Request("GET", "/stream");
  client.ReceiveHead();
  server_->InLoop([&] { stream_.reset(); });
  EXPECT_TRUE(client.Closed());
}

TEST_F(AnyServer, RefusesClientsBeyondTheLimitInWords) {
  context_.limits.connections_max = 2;
  router_.Add({"GET", "/kept", [this](const auto& exchange) {
                 kept_.push_back(exchange);
                 ++begun_;
               }});
  Serve();
  HttpClient first(port());
  HttpClient second(port());
  first.Request("GET", "/kept");
  second.Request("GET", "/kept");
  ASSERT_TRUE(Eventually([&] { return begun_ == 2; }));
  HttpClient third(port());
  const Answer refused = third.Receive();
  EXPECT_EQ(refused.status, 503);
  EXPECT_EQ(refused.Header("retry-after"), "5");
}

// Case gateway-and-pages/14: clients that sent half a header took all connections.
TEST_F(AnyServer, HalfHeadersLockNobodyOut) {
  context_.limits.connections_max = 8;
  Serve();
  std::vector<std::unique_ptr<HttpClient>> slow;
  for (int i = 0; i < 30; ++i) {
    slow.push_back(std::make_unique<HttpClient>(port()));
    slow.back()->Send(i % 2 == 0 ? "GET /" : "");
  }
  HttpClient honest(port());
  honest.Request("GET", "/ping");
  EXPECT_EQ(honest.Receive().body, "pong");
  // A client that was served keeps its connection; others that have sent no request lose theirs.
  for (int i = 0; i < 30; ++i) {
    slow.push_back(std::make_unique<HttpClient>(port()));
    slow.back()->Send("GET /");
  }
  honest.Request("GET", "/ping");
  EXPECT_EQ(honest.Receive().body, "pong");
  EXPECT_TRUE(slow.front()->Closed());
}

TEST_F(AnyServer, BodiesThatDoNotComeLockNobodyOut) {
  context_.limits.connections_max = 4;
  Serve();
  std::vector<std::unique_ptr<HttpClient>> slow;
  for (int i = 0; i < 12; ++i) {
    slow.push_back(std::make_unique<HttpClient>(port()));
    slow.back()->Send("POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\na");
  }
  EXPECT_EQ(Ask(port(), "POST", "/echo", "hello").body, "hello");
}

TEST_F(AnyServer, AnswersThatNobodyReadsLockNobodyOut) {
  context_.limits.connections_max = 3;
  context_.limits.unsent_bytes_max = 64 << 20;
  Serve();
  std::vector<std::unique_ptr<HttpClient>> asleep;
  for (int i = 0; i < 3; ++i) {
    asleep.push_back(std::make_unique<HttpClient>(port(), 4096));
    asleep.back()->Request("GET", "/stream");
    ASSERT_TRUE(Eventually([&] { return begun_ == i + 1; }));
    // More than the kernel buffers.
    for (int piece = 0; piece < 8; ++piece) SendEvent(std::string(1 << 20, 'x'));
    streams_.push_back(stream_);
  }
  EXPECT_TRUE(Eventually([&] { return Ask(port(), "GET", "/ping").status == 200; }));
  EXPECT_TRUE(Eventually([&] { return gone_ >= 1; }));
}

TEST_F(AnyServer, WhoReadsSlowlyKeepsItsPlaceAndWhoReadsNothingLosesIt) {
  context_.limits.connections_max = 2;
  Serve();
  const auto slow = AskForLong();
  const auto asleep = AskForLong();
  EXPECT_TRUE(Eventually([&] {
    slow->ReceiveSome(1024);
    return Ask(port(), "GET", "/ping").status == 200;
  }));
  EXPECT_EQ(slow->Receive().body.size(), kLongBytes);
  EXPECT_LT(asleep->Receive().body.size(), kLongBytes);
}

TEST_F(AnyServer, ALastAnswerThatNobodyReadsTakesAPlaceAndLosesIt) {
  context_.limits.connections_max = 2;
  Serve();
  const auto first = AskForLong("Connection: close\r\n");
  const auto second = AskForLong("Connection: close\r\n");
  EXPECT_TRUE(Eventually([&] { return Ask(port(), "GET", "/ping").status == 200; }));
  EXPECT_LT(first->Receive().body.size(), kLongBytes);
  EXPECT_EQ(second->Receive().body.size(), kLongBytes);
}

TEST_F(AnyServer, NoTimeoutBetweenRequestsCutsAnAnswerThatIsBeingWritten) {
  context_.limits.held_bytes_max = 256 << 20;
  context_.limits.idle_timeout = std::chrono::milliseconds(50);
  context_.limits.linger_timeout = std::chrono::milliseconds(50);
  Serve();
  const auto keeps = AskForLong();
  const auto leaves = AskForLong("Connection: close\r\n");
  const auto half = AskForLong("Connection: close\r\n");
  half->HalfClose();
  const auto keeps_half = AskForLong();
  keeps_half->HalfClose();
  HttpClient idle(port());
  EXPECT_TRUE(idle.Closed()) << "by a tick in which the others were older than both limits";
  for (HttpClient* client : {keeps.get(), leaves.get(), half.get(), keeps_half.get()}) {
    EXPECT_EQ(client->Receive().body.size(), kLongBytes);
    EXPECT_TRUE(client->Closed());
  }
}

TEST_F(AnyServer, TheOneThatIsIdleForLongestGivesUpItsPlace) {
  context_.limits.connections_max = 3;
  Serve();
  std::vector<std::unique_ptr<HttpClient>> idle;
  for (int i = 0; i < 3; ++i) {
    idle.push_back(std::make_unique<HttpClient>(port()));
    idle.back()->Request("GET", "/ping");
    EXPECT_EQ(idle.back()->Receive().body, "pong");
  }
  HttpClient next(port());
  next.Request("GET", "/ping");
  EXPECT_EQ(next.Receive().body, "pong");
  EXPECT_TRUE(idle[0]->Closed()) << "it ends, and is not reset";
  for (size_t i = 1; i < idle.size(); ++i) {
    idle[i]->Request("GET", "/ping");
    EXPECT_EQ(idle[i]->Receive().body, "pong");
  }
}

TEST_F(AnyServer, RepeatsTheClientsRequestIdOrMakesOne) {
  Serve();
  EXPECT_EQ(Ask(port(), "GET", "/ping", "", "X-Request-Id: mine-7\r\n").Header("x-request-id"),
            "mine-7");
  const std::string made =
      Ask(port(), "GET", "/ping", "", "X-Request-Id: a b\r\n").Header("x-request-id");
  EXPECT_TRUE(made.starts_with("req-")) << made;
}

// Case gateway-and-pages/04: preflights refused the headers of OpenAI's JavaScript client.
TEST_F(AnyServer, CorsIsOffUnlessTheOriginIsNamed) {
  context_.sites.cors_origins = {"https://good.example"};
  Serve();
  const std::string good = "Origin: https://good.example\r\n";
  EXPECT_EQ(Ask(port(), "GET", "/ping", "", good).Header("access-control-allow-origin"),
            "https://good.example");
  const Answer bad = Ask(port(), "GET", "/ping", "", "Origin: https://bad.example\r\n");
  EXPECT_EQ(bad.status, 403);
  EXPECT_EQ(bad.Header("access-control-allow-origin"), "");
  const Answer preflight = Ask(port(), "OPTIONS", "/echo", "", good);
  EXPECT_EQ(preflight.status, 204);
  EXPECT_EQ(preflight.Header("access-control-allow-methods"), "POST, OPTIONS");
  // The OpenAI client for JavaScript adds its own headers.
  const std::string asked = "authorization,content-type,x-stainless-arch,x-stainless-retry-count";
  EXPECT_EQ(Ask(port(), "OPTIONS", "/echo", "",
                good + "Access-Control-Request-Headers: " + asked + "\r\n")
                .Header("access-control-allow-headers"),
            asked);
  EXPECT_EQ(Ask(port(), "OPTIONS", "/echo", "", "Origin: https://bad.example\r\n").status, 403);
  // This keeps pages of other sites from sending the header that a proxy sets.
  const Answer forwarded = Ask(port(), "OPTIONS", "/echo", "",
                               "Origin: https://bad.example\r\n"
                               "Access-Control-Request-Headers: x-forwarded-host\r\n");
  EXPECT_EQ(forwarded.status, 403);
  EXPECT_EQ(forwarded.Header("access-control-allow-headers"), "");
}

// After a refused preflight a browser only reports "Failed to fetch", so preflights for unknown
// paths are accepted.
TEST_F(AnyServer, APageThatAsksForAnUnknownPathIsToldWhatWasMeant) {
  context_.sites.cors_origins = {"https://good.example"};
  Serve();
  const std::string good = "Origin: https://good.example\r\n";
  const std::string asks =
      "Access-Control-Request-Method: POST\r\nAccess-Control-Request-Headers: content-type\r\n";
  for (const char* path : {"/v1/v1/completions", "/quite/another", "/echoo", "/echo/"}) {
    const Answer preflight = Ask(port(), "OPTIONS", path, "", good + asks);
    EXPECT_EQ(preflight.status, 204) << path;
    EXPECT_EQ(preflight.Header("access-control-allow-origin"), "https://good.example");
    EXPECT_THAT(preflight.Header("access-control-allow-methods"), HasSubstr("POST"));
    EXPECT_EQ(preflight.Header("access-control-allow-headers"), "content-type");
    EXPECT_EQ(Ask(port(), "OPTIONS", path, "", "Origin: https://bad.example\r\n" + asks).status,
              403);
    EXPECT_EQ(Ask(port(), "OPTIONS", path, "", asks).status, 404) << "no browser asks so";
    EXPECT_EQ(Ask(port(), "OPTIONS", path, "", good).status, 404) << "no browser asks so";
  }
  const Answer refused =
      Ask(port(), "POST", "/echoo", "{}", good + "Content-Type: application/json\r\n");
  EXPECT_EQ(refused.status, 404);
  EXPECT_EQ(refused.Header("access-control-allow-origin"), "https://good.example");
  EXPECT_THAT(refused.body, HasSubstr("did you mean /echo?"));
}

// Case gateway-and-pages/03: pages of other sites could use the gateway.
TEST_F(AnyServer, PagesOfOtherSitesMayNotAskEvenWithoutAPreflight) {
  Serve();
  const std::string json = "Content-Type: application/json\r\n";
  const auto post = [&](const std::string& headers) {
    return Ask(port(), "POST", "/echo", "x", headers).status;
  };
  EXPECT_EQ(post("Origin: https://evil.example\r\nContent-Type: text/plain\r\n"), 403);
  EXPECT_EQ(post("Origin: https://evil.example\r\n" + json), 403);
  EXPECT_EQ(post("Origin: null\r\n" + json), 403);
  EXPECT_EQ(post("Host: here:1\r\nOrigin: http://here:2\r\n" + json), 403);
  EXPECT_EQ(post("Host: here\r\nOrigin: http://here\r\nSec-Fetch-Site: same-site\r\n" + json), 403);
  // The server's own pages: directly, behind a proxy, and behind a proxy that changes Host.
  EXPECT_EQ(post("Host: here:80\r\nOrigin: http://HERE\r\n" + json), 200);
  EXPECT_EQ(post("Host: 127.0.0.1:7080\r\nX-Forwarded-Host: gp.example\r\n"
                 "Origin: https://gp.example\r\n" +
                 json),
            200);
  EXPECT_EQ(post("Host: 127.0.0.1:7080\r\nOrigin: https://gp.example\r\n"
                 "Sec-Fetch-Site: same-origin\r\n" +
                 json),
            200);
  // Requests from browsers must declare JSON; those from programs need not.
  EXPECT_EQ(post("Host: here\r\nOrigin: http://here\r\nContent-Type: text/plain\r\n"), 415);
  EXPECT_EQ(post("Sec-Fetch-Site: same-origin\r\n"), 415);
  EXPECT_EQ(
      post("Sec-Fetch-Site: same-origin\r\nContent-Type: Application/JSON; charset=utf-8\r\n"),
      200);
  EXPECT_EQ(post("Content-Type: application/x-www-form-urlencoded\r\n"), 200);
}

TEST_F(AnyServer, AnswersToItsOwnNamesAlone) {
  context_.sites.checks_host = true;
  context_.sites.allowed_hosts = {"gp.example"};
  router_.Add({"GET", "/probe", [](const auto& exchange) { exchange->Respond({.body = "ok"}); },
               /*open=*/true, /*any_host=*/true});
  Serve();
  const auto ask = [&](const std::string& host, const std::string& target) {
    return Ask(port(), "GET", target, "", "Host: " + host + "\r\n").status;
  };
  for (const char* own :
       {"localhost", "LOCALHOST:7080", "127.0.0.1:7080", "127.8.0.1", "[::1]:7080", "[::1]",
        "10.0.0.7:80", "a.localhost", "gp.example:443", "GP.example."}) {
    EXPECT_EQ(ask(own, "/ping"), 200) << own;
  }
  for (const char* other : {"evil.example:7080", "evil.example", "localhost.evil.example",
                            "127.0.0.1.evil.example", "notlocalhost", "[evil]:1", "", ":80"}) {
    EXPECT_EQ(ask(other, "/ping"), 403) << other;
    EXPECT_EQ(ask(other, "/nothing"), 403) << other;
    EXPECT_EQ(ask(other, "/probe"), 200) << other;
  }
  EXPECT_THAT(Ask(port(), "GET", "/ping", "", "Host: evil.example:1\r\n").body,
              HasSubstr("--allowed-host evil.example"));
}

TEST_F(AnyServer, AsksForAKeyBeforeItTakesTheBody) {
  context_.key_name = [](std::string_view authorization) -> std::optional<std::string> {
    if (authorization == "Bearer right") return "me";
    return std::nullopt;
  };
  router_.Add(
      {"GET", "/open", [](const auto& exchange) { exchange->Respond({.body = "open"}); }, true});
  Serve();
  HttpClient client(port());
  client.Send("POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\nabc");
  const Answer refused = client.Receive();
  EXPECT_EQ(refused.status, 401);
  EXPECT_THAT(refused.body, HasSubstr("missing_api_key"));
  const Answer wrong = Ask(port(), "GET", "/ping", "", "Authorization: Bearer wrong\r\n");
  EXPECT_EQ(wrong.status, 401);
  EXPECT_THAT(wrong.body, HasSubstr("incorrect API key"));
  EXPECT_THAT(wrong.body, HasSubstr("invalid_api_key"));
  EXPECT_THAT(Ask(port(), "GET", "/ping", "", "Authorization: right\r\n").body,
              HasSubstr("send Authorization: Bearer KEY"));
  EXPECT_EQ(Ask(port(), "POST", "/echo", "x", "Authorization: Bearer right\r\n").body, "x");
  EXPECT_EQ(Ask(port(), "GET", "/open").body, "open");
}

TEST_F(AnyServer, TellsTheLogEachExchangeOnce) {
  Serve();
  Ask(port(), "GET", "/things/7?long=query");
  ASSERT_TRUE(Eventually([&] { return records().size() == 1; }));
  const ExchangeRecord record = records()[0];
  EXPECT_EQ(record.endpoint, "/things/{id}");
  EXPECT_EQ(record.target, "/things/7?long=query");
  EXPECT_EQ(record.status, 200);
  EXPECT_EQ(record.client_address, "127.0.0.1");
}

TEST_F(AnyServer, DrainsByAnsweringWhatIsUnderWay) {
  Serve();
  HttpClient idle(port());
  idle.Request("GET", "/ping");
  idle.Receive();
  HttpClient busy(port());
  busy.Request("GET", "/later");
  ASSERT_TRUE(Eventually([&] { return begun_ == 1; }));
  server_->InLoop([&] { server_->server().Drain(); });
  EXPECT_TRUE(idle.Closed());
  server_->InLoop([&] { later_->Respond({.body = "done"}); });
  const Answer answer = busy.Receive();
  EXPECT_EQ(answer.body, "done");
  EXPECT_EQ(answer.Header("connection"), "close");
  busy.Close();
  EXPECT_TRUE(
      Eventually([&] { return server_->InLoop([&] { return server_->server().idle(); }); }));
}

TEST_F(AnyServer, ADrainDoesNotCutAnAnswerThatIsBeingWritten) {
  Serve();
  const auto client = AskForLong();
  server_->InLoop([&] { server_->server().Drain(); });
  EXPECT_EQ(client->Receive().body.size(), kLongBytes);
  EXPECT_TRUE(client->Closed());
}

TEST_F(AnyServer, NothingIsToldOfAnAnswerAfterTheEndOfTheServer) {
  EventLoop loop;
  auto server = Server::Start(loop, {}, context_, nullptr);
  ASSERT_TRUE(server.ok()) << server.status();
  router_.Add({"GET", "/last", [&](const auto& exchange) {
                 later_ = exchange;
                 loop.Stop();
               }});
  HttpClient client((*server)->port());
  client.Request("GET", "/last");
  loop.Run();
  server->reset();
  std::exchange(later_, nullptr)->Respond({.body = "too late"});
  EXPECT_TRUE(records().empty());
}

}  // namespace
}  // namespace gp::http
