// Goal: an answer is returned only if it is whole; every other end of a connection is an error that
// says what happened.
#include "storage/object/http_transport.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "lib/base/temporary_directory.h"
#include "lib/http/running_server.h"
#include "lib/storage/object/scripted_server.h"
#include "security/authority.h"

namespace gp::object {
namespace {

using End = ScriptedAnswer::End;

StatusOr<HttpAnswer> Get(const ScriptedServer& server, uint64_t bytes_max = 1000,
                         TransportOptions options = {}) {
  return HttpTransport(std::move(options))
      .Perform({.method = "GET", .url = server.origin() + "/a", .answer_bytes_max = bytes_max});
}

TEST(HttpTransport, ReturnsStatusHeadersAndBody) {
  const ScriptedServer server(
      [](const SeenRequest&) { return Reply(418, "tea", "ETag:  \"x\" \r\nEmpty:\r\n"); });
  const auto answer = Get(server);
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_EQ(answer->status, 418);
  EXPECT_EQ(answer->body, "tea");
  EXPECT_EQ(answer->HeaderValue("etag"), "\"x\"");
  EXPECT_EQ(answer->HeaderValue("absent"), "");
  EXPECT_FALSE(answer->is_cut);
}

TEST(HttpTransport, SendsWhatWasSigned) {
  const ScriptedServer server([](const SeenRequest&) { return Reply(200); });
  const HttpTransport transport({});
  const std::string body("a\0b", 3);
  for (const char* method : {"PUT", "POST", "DELETE", "HEAD"}) {
    ASSERT_TRUE(transport
                    .Perform({.method = method,
                              .url = server.origin() + "/a/../%2F?b=c",
                              .headers = {{"x-one", "1"}, {"x-empty", ""}},
                              .body = body})
                    .ok());
  }
  const auto seen = server.seen();
  ASSERT_EQ(seen.size(), 4u);
  EXPECT_EQ(seen[0].target, "/a/../%2F?b=c");
  EXPECT_EQ(seen[0].body, body);
  EXPECT_EQ(seen[1].method, "POST");
  EXPECT_EQ(seen[2].method, "DELETE");
  EXPECT_EQ(seen[3].method, "HEAD");
  EXPECT_EQ(seen[0].headers.at("x-one"), "1");
  EXPECT_EQ(seen[0].headers.at("x-empty"), "");
  EXPECT_EQ(seen[0].headers.count("expect"), 0u);
  EXPECT_EQ(seen[0].headers.count("content-type"), 0u);
}

TEST(HttpTransport, KeepsNoMoreThanTheLimit) {
  const ScriptedServer server(
      [](const SeenRequest&) { return Reply(200, std::string(100'000, 'x')); });
  const auto answer = Get(server, 10);
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_TRUE(answer->is_cut);
  EXPECT_EQ(answer->body, std::string(10, 'x'));
  EXPECT_FALSE(Get(server, 100'000)->is_cut);
}

// The reason of an error is read even if no body was expected.
TEST(HttpTransport, TheLimitIsForSuccessesAlone) {
  const ScriptedServer server([](const SeenRequest&) { return Reply(404, "reason"); });
  EXPECT_EQ(Get(server, 0)->body, "reason");
}

TEST(HttpTransport, FollowsNoRedirect) {
  const ScriptedServer server(
      [](const SeenRequest&) { return Reply(307, "", "Location: http://127.0.0.1:1/\r\n"); });
  EXPECT_EQ(Get(server)->status, 307);
}

TEST(HttpTransport, ABodyThatIsCutOffIsAnError) {
  for (const End end : {End::kClose, End::kReset}) {
    const ScriptedServer server([end](const SeenRequest&) {
      return ScriptedAnswer{"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n12345", end};
    });
    EXPECT_EQ(Get(server).status().code(), StatusCode::kUnavailable);
  }
  const ScriptedServer chunked([](const SeenRequest&) {
    return ScriptedAnswer{"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n12345\r\n"};
  });
  EXPECT_EQ(Get(chunked).status().code(), StatusCode::kUnavailable);
}

TEST(HttpTransport, AnAnswerThatIsCutAtAnyByteIsAnError) {
  const std::string whole = Reply(200, "12345", "ETag: x\r\n").bytes;
  size_t size = 0;
  const ScriptedServer server(
      [&](const SeenRequest&) { return ScriptedAnswer{whole.substr(0, size)}; });
  const HttpTransport transport({});
  for (const char* method : {"GET", "PUT"}) {
    for (size = 0; size <= whole.size(); ++size) {
      const auto answer = transport.Perform(
          {.method = method, .url = server.origin() + "/a", .answer_bytes_max = 10});
      EXPECT_EQ(answer.ok(), size == whole.size()) << method << " " << size;
    }
  }
}

TEST(HttpTransport, NoAnswerIsAnError) {
  const ScriptedServer silent([](const SeenRequest&) { return ScriptedAnswer{}; });
  EXPECT_EQ(Get(silent).status().code(), StatusCode::kUnavailable);
  const ScriptedServer resets([](const SeenRequest&) { return ScriptedAnswer{"", End::kReset}; });
  EXPECT_EQ(Get(resets).status().code(), StatusCode::kUnavailable);
  const ScriptedServer stalls([](const SeenRequest&) {
    return ScriptedAnswer{"HTTP/1.1 200", End::kStall};
  });
  EXPECT_EQ(Get(stalls, 0, {.total = std::chrono::milliseconds(50)}).status().code(),
            StatusCode::kDeadlineExceeded);
}

TEST(HttpTransport, HeadersHaveALimit) {
  const ScriptedServer server(
      [](const SeenRequest&) { return Reply(200, "", "x: " + std::string(70'000, 'x') + "\r\n"); });
  EXPECT_FALSE(Get(server).ok());
}

// A server whose certificate is for 127.0.0.1, of an authority that no system knows.
class TlsServer {
 public:
  TlsServer() {
    const WallTime now = SystemClock().WallNow();
    const auto authority = security::Authority::Create(now);
    const auto key = security::PrivateKey::Generate();
    const auto certificate = authority.IssueServer(key, {"127.0.0.1"}, now, std::chrono::hours(1));
    EXPECT_TRUE(certificate.ok()) << certificate.status();
    ca_file = files_.Write("ca.pem", authority.certificate().Pem());
    auto tls = http::TlsContext::Read(
        {files_.Write("server.pem", certificate->Pem()), files_.Write("server.key", key.Pem())});
    EXPECT_TRUE(tls.ok()) << tls.status();
    tls_ = std::move(*tls);
    router_.Add({"GET", "/a", [](const auto& exchange) { exchange->Respond({.body = "x"}); }});
    server_ =
        std::make_unique<http::RunningServer>(http::ServerContext{.router = router_}, tls_.get());
  }

  StatusOr<HttpAnswer> Get(const std::string& host, const std::string& ca) const {
    return HttpTransport({.ca_file = ca})
        .Perform({.method = "GET",
                  .url = fmt::format("https://{}:{}/a", host, server_->port()),
                  .answer_bytes_max = 10});
  }

  std::string ca_file;

 private:
  const TemporaryDirectory files_;
  std::shared_ptr<http::TlsContext> tls_;
  http::Router router_;
  std::unique_ptr<http::RunningServer> server_;
};

TEST(HttpTransport, ChecksTheServersCertificate) {
  const TlsServer server;
  const auto trusted = server.Get("127.0.0.1", server.ca_file);
  ASSERT_TRUE(trusted.ok()) << trusted.status();
  EXPECT_EQ(trusted->body, "x");
  const Status unknown = server.Get("127.0.0.1", "").status();
  EXPECT_EQ(unknown.code(), StatusCode::kFailedPrecondition) << unknown;
  EXPECT_NE(Message(unknown).find("authorities are read from the system"), std::string::npos)
      << unknown;
  const Status other_host = server.Get("localhost", server.ca_file).status();
  EXPECT_EQ(other_host.code(), StatusCode::kFailedPrecondition) << other_host;
  const Status no_file = server.Get("127.0.0.1", "/absent.pem").status();
  EXPECT_EQ(no_file.code(), StatusCode::kFailedPrecondition) << no_file;
}

TEST(HttpTransport, TakesProxiesFromTheEnvironment) {
  const ScriptedServer server([](const SeenRequest&) { return Reply(200, "server"); });
  const ScriptedServer proxy([](const SeenRequest&) { return Reply(200, "proxy"); });
  ASSERT_EQ(setenv("http_proxy", proxy.origin().c_str(), 1), 0);
  EXPECT_EQ(Get(server)->body, "proxy");
  EXPECT_EQ(proxy.seen().at(0).target, server.origin() + "/a");
  EXPECT_EQ(Get(server, 1000, {.uses_proxy = false})->body, "server");
  ASSERT_EQ(setenv("no_proxy", "127.0.0.1", 1), 0);
  EXPECT_EQ(Get(server)->body, "server");
  unsetenv("http_proxy");
  unsetenv("no_proxy");
}

TEST(HttpTransport, SpeaksHttpAlone) {
  const HttpTransport transport({});
  for (const char* url : {"ftp://127.0.0.1/a", "file:///etc/hostname"}) {
    EXPECT_FALSE(transport.Perform({.method = "GET", .url = url}).ok()) << url;
  }
}

}  // namespace
}  // namespace gp::object
