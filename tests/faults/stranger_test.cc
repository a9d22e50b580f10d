// Unknown clients on every TCP port of a coordinator and an agent: hundreds of connections that
// stay silent, send garbage, or never finish a request. Meanwhile a run trains and users get
// answers; afterwards no connection is left.
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <random>
#include <set>
#include <sstream>

#include "base/file.h"
#include "integration/cluster.h"

namespace gp::testing {
namespace {

constexpr int kVisitors = 200;  // at each port
constexpr int64_t kMemoryMegabytesMax = 400;
// If the server waited for these clients, an answer would take 10 s, until their handshakes time
// out.
constexpr double kAnswerSecondsMax = 5;

// The inodes of a process's sockets.
std::set<std::string> SocketsOf(int pid) {
  std::set<std::string> sockets;
  const std::string folder = fmt::format("/proc/{}/fd", pid);
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    std::error_code gone;
    const std::string target = std::filesystem::read_symlink(entry.path(), gone);
    if (!gone && target.starts_with("socket:[")) {
      sockets.insert(target.substr(8, target.size() - 9));
    }
  }
  return sockets;
}

// The TCP ports on which the process listens. The kernel lists gRPC's dual-stack sockets under
// IPv6.
std::set<int> PortsOf(int pid) {
  const auto sockets = SocketsOf(pid);
  std::set<int> ports;
  std::istringstream table(ReadFile("/proc/net/tcp").value() + ReadFile("/proc/net/tcp6").value());
  std::string line;
  while (std::getline(table, line)) {
    std::istringstream fields(line);
    std::string number, local, remote, state, skip, inode;
    fields >> number >> local >> remote >> state;
    for (int i = 0; i < 5; ++i) fields >> skip;
    fields >> inode;
    if (state != "0A" || !sockets.contains(inode)) continue;
    ports.insert(std::stoi(local.substr(local.find(':') + 1), nullptr, 16));
  }
  return ports;
}

std::string Words(int visitor, std::mt19937& random) {
  std::string garbage(1000, '\0');
  for (char& byte : garbage) byte = static_cast<char>(random());
  switch (visitor % 5) {
    case 0:
      return "";
    case 1:
      return garbage;
    case 2:
      return "GET /metrics HTTP/1.1\r\nHost: a\r\nX: ";
    case 3:
      return "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + garbage;
    default:
      // A TLS record with an invalid hello.
      return std::string("\x16\x03\x01\x04\x00\x01", 6) + garbage;
  }
}

// Connects and sends the words; nullopt if the connection is refused.
std::optional<FileDescriptor> Visit(int port, const std::string& words) {
  FileDescriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (connect(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) {
    return std::nullopt;
  }
  (void)send(socket.get(), words.data(), words.size(), MSG_NOSIGNAL);
  return socket;
}

// How long a user's call takes.
std::chrono::duration<double> AskForTheVersion(Cluster& cluster) {
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + kPatience);
  v1::VersionResponse response;
  const auto begin = std::chrono::steady_clock::now();
  const grpc::Status status = cluster.stub().Version(&context, {}, &response);
  EXPECT_TRUE(status.ok()) << status.error_message();
  return std::chrono::steady_clock::now() - begin;
}

TEST(Stranger, AtEveryPortHoldsNobodyUpAndLeavesNothingBehind) {
  Cluster cluster({.trainer = std::getenv("GP_FAKE_TRAINER"),
                   .coordinator_config = "server: {listen: '127.0.0.1:0'}\n"});
  ASSERT_TRUE(WriteFileAtomically(cluster.directory() + "/text.txt", "some text\n").ok());
  cluster.StartCoordinator();
  cluster.StartWorker("node-a");
  const std::vector<int> pids = {cluster.coordinator().pid(), cluster.worker("node-a").pid()};
  std::mt19937 random(7);
  std::vector<size_t> before;
  std::vector<FileDescriptor> visitors;
  for (const int pid : pids) {
    before.push_back(SocketsOf(pid).size());
    const auto ports = PortsOf(pid);
    EXPECT_EQ(ports.size(), pid == pids.front() ? 2u : 1u) << "metrics, and the coordinator's TCP";
    for (const int port : ports) {
      for (int i = 0; i < kVisitors; ++i) {
        if (auto visitor = Visit(port, Words(i, random))) visitors.push_back(std::move(*visitor));
      }
    }
  }
  EXPECT_GE(visitors.size(), static_cast<size_t>(kVisitors));

  const v1::Run run = cluster.WaitForEnd(cluster.Submit(FakeRun(2, 200)));
  EXPECT_EQ(run.state(), v1::RUN_STATE_SUCCEEDED) << run.reason();
  EXPECT_EQ(run.failures(), 0) << run.reason();
  EXPECT_LE(AskForTheVersion(cluster).count(), kAnswerSecondsMax);

  visitors.clear();
  for (size_t i = 0; i < pids.size(); ++i) {
    EXPECT_TRUE(Eventually([&] { return SocketsOf(pids[i]).size() <= before[i] + 2; }))
        << SocketsOf(pids[i]).size() << " sockets, " << before[i] << " before";
    EXPECT_LE(PeakMegabytesOf(pids[i]), kMemoryMegabytesMax);
  }
  EXPECT_LE(AskForTheVersion(cluster).count(), kAnswerSecondsMax);
}

}  // namespace
}  // namespace gp::testing
