// Simulates a long, slow network between two namespaces of this machine: a packet arrives in the
// other one after its transmission time at the given rate plus the given delay. TCP sees this
// delay; a proxy would hide it. Packets that would wait more than 50 ms for earlier packets are
// dropped. Needs root and /dev/net/tun.
//
//   delayed_link NAMESPACE ADDRESS NAMESPACE ADDRESS RATE_MBIT DELAY_MS
//
// Make the namespaces first: `ip netns add a; ip netns add b`. This program makes the interface
// eth0 in each, prints "ready", and carries packets until it is killed. DELAY_MS is the delay of
// one direction.
#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <mutex>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;

// Larger than Ethernet's usual 1500: fewer packets to carry leave more processor time to the ranks.
constexpr int kMtu = 9000;
constexpr std::chrono::milliseconds kQueueMax{50};

void Require(bool done, const std::string& what) {
  if (!done) throw std::system_error(errno, std::generic_category(), what);
}

void Enter(const std::string& name) {
  const int fd = open(("/run/netns/" + name).c_str(), O_RDONLY | O_CLOEXEC);
  Require(fd >= 0 && setns(fd, CLONE_NEWNET) == 0, "namespace " + name);
  close(fd);
}

ifreq RequestFor(const char* interface) {
  ifreq request{};
  std::strncpy(request.ifr_name, interface, IFNAMSIZ - 1);
  return request;
}

// Makes eth0 in the namespace. The returned descriptor reads what eth0 sends and writes what it
// receives.
int MakeInterface(const std::string& name, const char* address) {
  Enter(name);
  const int tun = open("/dev/net/tun", O_RDWR | O_CLOEXEC);
  Require(tun >= 0, "/dev/net/tun");
  ifreq request = RequestFor("eth0");
  request.ifr_flags = IFF_TUN | IFF_NO_PI;
  Require(ioctl(tun, TUNSETIFF, &request) == 0, "TUNSETIFF");
  const int control = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  request = RequestFor("eth0");
  sockaddr_in own{};
  own.sin_family = AF_INET;
  if (inet_pton(AF_INET, address, &own.sin_addr) != 1) throw std::runtime_error("no address");
  std::memcpy(&request.ifr_addr, &own, sizeof own);
  Require(ioctl(control, SIOCSIFADDR, &request) == 0, "address");
  own.sin_addr.s_addr = htonl(0xffffff00);
  std::memcpy(&request.ifr_netmask, &own, sizeof own);
  Require(ioctl(control, SIOCSIFNETMASK, &request) == 0, "netmask");
  request = RequestFor("eth0");
  request.ifr_mtu = kMtu;
  Require(ioctl(control, SIOCSIFMTU, &request) == 0, "mtu");
  request = RequestFor("eth0");
  request.ifr_flags = IFF_UP | IFF_RUNNING;
  Require(ioctl(control, SIOCSIFFLAGS, &request) == 0, "up");
  close(control);
  return tun;
}

// Packets on their way in one direction. One thread reads them in, another one writes them out.
class Direction {
 public:
  Direction(int from, int to, double bits_per_second, Clock::duration delay)
      : from_(from), to_(to), bits_per_second_(bits_per_second), delay_(delay) {}

  void ReadIn() {
    while (true) {
      std::vector<char> packet(kMtu + 64);
      const ssize_t size = read(from_, packet.data(), packet.size());
      if (size <= 0) std::exit(0);  // the namespace is gone
      packet.resize(static_cast<size_t>(size));
      const auto now = Clock::now();
      free_at_ = std::max(free_at_, now);
      if (free_at_ - now > kQueueMax) continue;
      free_at_ += std::chrono::nanoseconds(
          static_cast<int64_t>(static_cast<double>(size) * 8e9 / bits_per_second_));
      const std::lock_guard lock(mutex_);
      held_.push_back({free_at_ + delay_, std::move(packet)});
      arrived_.notify_one();
    }
  }

  void WriteOut() {
    while (true) {
      Held one;
      {
        std::unique_lock lock(mutex_);
        arrived_.wait(lock, [this] { return !held_.empty(); });
        one = std::move(held_.front());
        held_.pop_front();
      }
      std::this_thread::sleep_until(one.due);
      if (write(to_, one.packet.data(), one.packet.size()) < 0) continue;  // lost
    }
  }

 private:
  struct Held {
    Clock::time_point due;
    std::vector<char> packet;
  };

  const int from_;
  const int to_;
  const double bits_per_second_;
  const Clock::duration delay_;
  Clock::time_point free_at_;
  std::mutex mutex_;
  std::condition_variable arrived_;
  std::deque<Held> held_;
};

void Carry(char** argv) {
  const int first = MakeInterface(argv[1], argv[2]);
  const int second = MakeInterface(argv[3], argv[4]);
  const double bits_per_second = std::stod(argv[5]) * 1e6;
  const auto delay = std::chrono::duration_cast<Clock::duration>(
      std::chrono::duration<double, std::milli>(std::stod(argv[6])));
  Direction there(first, second, bits_per_second, delay);
  Direction back(second, first, bits_per_second, delay);
  std::printf("ready\n");
  std::fflush(stdout);
  std::vector<std::jthread> threads;
  for (Direction* const one : {&there, &back}) {
    threads.emplace_back([one] { one->ReadIn(); });
    threads.emplace_back([one] { one->WriteOut(); });
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 7) {
    std::fprintf(stderr,
                 "usage: delayed_link NAMESPACE ADDRESS NAMESPACE ADDRESS RATE_MBIT DELAY_MS\n");
    return 2;
  }
  try {
    Carry(argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "delayed_link: %s\n", error.what());
    return 1;
  }
}
