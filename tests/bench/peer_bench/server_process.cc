#include "bench/peer_bench/server_process.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>
#include <csignal>
#include <cstring>
#include <nlohmann/json.hpp>
#include <thread>
#include <utility>

#include "base/file.h"
#include "daemon/child_process.h"

namespace gp::engine {
namespace {

namespace asio = boost::asio;
namespace http = boost::beast::http;

constexpr std::chrono::milliseconds kLookEvery(20);
constexpr size_t kLogTailBytes = 2000;

asio::ip::tcp::endpoint Loopback(uint16_t port) { return {asio::ip::address_v4::loopback(), port}; }

bool IsHealthy(uint16_t port, const std::string& path) {
  asio::io_context io;
  asio::ip::tcp::socket socket(io);
  boost::system::error_code error;
  socket.connect(Loopback(port), error);
  http::request<http::empty_body> request(http::verb::get, path, 11);
  request.set(http::field::host, "127.0.0.1");
  if (!error) http::write(socket, request, error);
  boost::beast::flat_buffer buffer;
  http::response<http::string_body> response;
  if (!error) http::read(socket, buffer, response, error);
  return !error && response.result() == http::status::ok;
}

}  // namespace

StatusOr<uint16_t> FindFreePort() {
  asio::io_context io;
  boost::system::error_code error;
  asio::ip::tcp::acceptor acceptor(io);
  acceptor.open(asio::ip::tcp::v4(), error);
  if (!error) acceptor.bind(Loopback(0), error);
  if (error) return Unavailable("no free port: {}", error.message());
  return acceptor.local_endpoint().port();
}

StatusOr<ServerProcess> ServerProcess::Start(const std::string& program,
                                             const std::vector<std::string>& arguments,
                                             const std::string& log) {
  const FileDescriptor output(open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644));
  if (!output.valid()) return ErrnoStatus(errno, "write", log);
  ASSIGN_OR_RETURN(const pid_t pid, daemon::StartChild({.program = program,
                                                        .arguments = arguments,
                                                        .output = output.get(),
                                                        .error = output.get(),
                                                        .confined = true}));
  return ServerProcess(pid, log);
}

ServerProcess::ServerProcess(ServerProcess&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)), log_(std::move(other.log_)) {}

ServerProcess::~ServerProcess() {
  if (pid_ < 0) return;
  kill(pid_, SIGKILL);
  daemon::AwaitExit(pid_);
}

Status ServerProcess::CheckAlive() const {
  siginfo_t info{};
  if (waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
      info.si_pid == 0) {
    return OkStatus();
  }
  const std::string log = ReadFile(log_).value_or("");
  return Unavailable("the server ended: {}",
                     log.substr(log.size() - std::min(log.size(), kLogTailBytes)));
}

StatusOr<uint16_t> ServerProcess::AwaitAddressFile(const std::string& path,
                                                   std::chrono::seconds timeout) {
  const auto deadline = std::chrono::steady_clock::now() + timeout;
  while (std::chrono::steady_clock::now() < deadline) {
    const std::string text = ReadFile(path).value_or("");
    const auto json = nlohmann::json::parse(text, nullptr, false);
    if (json.is_object()) {
      const std::string address = json.value("address", "");
      const int port = std::atoi(address.substr(address.rfind(':') + 1).c_str());
      if (port > 0 && port < 65536) return static_cast<uint16_t>(port);
      return Unavailable("{} names no port: {}", path, text);
    }
    RETURN_IF_ERROR(CheckAlive());
    std::this_thread::sleep_for(kLookEvery);
  }
  return DeadlineExceeded("the server wrote no {} in {} s", path, timeout.count());
}

Status ServerProcess::AwaitHealthy(uint16_t port, const std::string& path,
                                   std::chrono::seconds timeout) {
  const auto deadline = std::chrono::steady_clock::now() + timeout;
  while (std::chrono::steady_clock::now() < deadline) {
    if (IsHealthy(port, path)) return OkStatus();
    RETURN_IF_ERROR(CheckAlive());
    std::this_thread::sleep_for(kLookEvery);
  }
  return DeadlineExceeded("{} was not answered 200 in {} s; see {}", path, timeout.count(), log_);
}

int64_t ServerProcess::ResidentBytes() const {
  const std::string status = ReadFile(fmt::format("/proc/{}/status", pid_)).value_or("");
  const char* line = std::strstr(status.c_str(), "VmRSS:");
  return line == nullptr ? 0 : 1024 * std::atoll(line + std::strlen("VmRSS:"));
}

}  // namespace gp::engine
