#include "lib/storage/object/faulty_proxy.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <utility>

namespace gp::object {
namespace {

using End = ScriptedAnswer::End;

bool IsList(const SeenRequest& request) {
  return request.method == "GET" && request.target.find("list-type=2") != std::string::npos;
}

// Half of the answer's body; half of the head if there is no body.
std::string Half(const std::string& answer) {
  const size_t head = answer.find("\r\n\r\n") + 4;
  return answer.size() == head ? answer.substr(0, head / 2)
                               : answer.substr(0, head + (answer.size() - head) / 2);
}

}  // namespace

FaultyProxy::FaultyProxy(std::string store, Choose choose)
    : store_(std::move(store)),
      choose_(std::move(choose)),
      server_([this](const SeenRequest& request) { return Answer(request); }) {}

ScriptedAnswer FaultyProxy::Answer(const SeenRequest& request) {
  const Fault fault = choose_(request);
  switch (fault) {
    case Fault::kServerError:
      return ErrorReply(500, "InternalError");
    case Fault::kBadGateway:
      return Reply(502, "<html>bad gateway</html>");
    case Fault::kSlowDown:
      return ErrorReply(503, "SlowDown");
    case Fault::kTooManyCalls:
      return Reply(429);
    case Fault::kResetBefore:
      return {"", End::kReset};
    case Fault::kClockSkew:
      return ErrorReply(403, "RequestTimeTooSkewed",
                        "<ServerTime>2013-05-24T00:00:00Z</ServerTime>");
    case Fault::kExpired:
      return ErrorReply(400, "ExpiredToken");
    default:
      break;
  }
  const std::string answer = Forward(request);
  const std::string first =
      IsList(request) ? first_lists_.emplace(request.target, answer).first->second : answer;
  switch (fault) {
    case Fault::kAnswerLost:
      return {"", End::kReset};
    case Fault::kAnswerCut:
      return {Half(answer), End::kClose};
    case Fault::kAnswerReset:
      return {Half(answer), End::kReset};
    case Fault::kStall:
      return {Half(answer), End::kStall};
    case Fault::kStaleList:
      return {first};
    default:
      return {answer};
  }
}

std::string FaultyProxy::Forward(const SeenRequest& request) const {
  const FileDescriptor connection(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<uint16_t>(std::stoi(store_.substr(store_.find(':') + 1))));
  if (connect(connection.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) {
    ADD_FAILURE() << "connect to " << store_;
    return "";
  }
  std::string text = request.text;
  text.insert(text.find("\r\n") + 2, "Connection: close\r\n");
  for (size_t sent = 0; sent < text.size();) {
    const ssize_t count =
        send(connection.get(), text.data() + sent, text.size() - sent, MSG_NOSIGNAL);
    if (count <= 0) break;
    sent += static_cast<size_t>(count);
  }
  std::string answer;
  char buffer[65536];
  ssize_t got = 0;
  while ((got = recv(connection.get(), buffer, sizeof buffer, 0)) > 0) {
    answer.append(buffer, static_cast<size_t>(got));
  }
  return answer;
}

bool IsPartPut(const SeenRequest& request) {
  return request.method == "PUT" && request.target.find("partNumber=") != std::string::npos;
}

bool IsCompletion(const SeenRequest& request) {
  return request.method == "POST" && request.target.find("uploadId=") != std::string::npos;
}

}  // namespace gp::object
