// Measures the all-reduce of a gradient between two namespaces of this machine (delayed_link.cc),
// with one rank in each. All parts of the gradient are ready from the beginning.
//   distant_allreduce NAMESPACE ADDRESS NAMESPACE ADDRESS SIZE_BYTES PARTS REPEATS tcp|tls
// Prints the median and quartiles of an all-reduce in milliseconds on the slower rank, for two ways
// that alternate: the parts one after the other, and all parts at once.
#include <fcntl.h>
#include <sched.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <string>
#include <system_error>
#include <vector>

#include "worker/engine/collectives/tcp_communicator.h"

namespace gp::engine {
namespace {

using Clock = std::chrono::steady_clock;

struct Arguments {
  std::vector<std::string> namespaces;
  std::vector<std::string> hosts;
  size_t elements = 0;
  size_t parts = 1;
  int repeats = 1;
  bool encrypted = false;
};

void Require(bool done, const std::string& what) {
  if (!done) throw std::system_error(errno, std::generic_category(), what);
}

void Enter(const std::string& name) {
  const int fd = open(("/run/netns/" + name).c_str(), O_RDONLY | O_CLOEXEC);
  Require(fd >= 0 && setns(fd, CLONE_NEWNET) == 0, "namespace " + name);
  close(fd);
}

// Cuts the values into equal parts, all of them ready.
class EqualParts final : public TreeParts {
 public:
  EqualParts(std::span<float> values, size_t count)
      : values_(values), count_(count), ready_(eventfd(1, EFD_CLOEXEC)) {}
  ~EqualParts() override { close(ready_); }

  int fd() const override { return ready_; }
  std::optional<TreePart> Take() override {
    const ElementRange range = PartOf(values_.size(), next_++, count_);
    const auto part = values_.subspan(range.begin, range.size());
    return TreePart{part, {part}};
  }
  bool ended() const override { return next_ == count_; }

 private:
  const std::span<float> values_;
  const size_t count_;
  const int ready_;
  size_t next_ = 0;
};

class Rank {
 public:
  Rank(const Arguments& arguments, int rank, const std::vector<std::string>& addresses,
       const TcpListener& listener)
      : arguments_(arguments),
        values_(arguments.elements, 1.0f),
        group_(TcpCommunicator::Connect({.run_id = "bench",
                                         .epoch = 1,
                                         .rank = rank,
                                         .logical_shards = 2,
                                         .addresses = addresses,
                                         .secret = "bench",
                                         .encrypted = arguments.encrypted,
                                         .machine = ""},
                                        listener)) {}

  void OneByOne() {
    for (size_t i = 0; i < arguments_.parts; ++i) {
      const ElementRange range = PartOf(values_.size(), i, arguments_.parts);
      const auto part = std::span(values_).subspan(range.begin, range.size());
      group_->AllReduceTree(part, {part});
    }
  }

  void AllAtOnce() {
    EqualParts parts(values_, arguments_.parts);
    group_->AllReduceParts(parts);
  }

  double Time(void (Rank::*reduce)()) {
    group_->Barrier();
    const auto start = Clock::now();
    (this->*reduce)();
    double elapsed = std::chrono::duration<double, std::milli>(Clock::now() - start).count();
    group_->AllReduceMax({&elapsed, 1});
    return elapsed;
  }

  // The first round, in which TCP finds the speed of the connections, is not counted.
  void Measure(bool print) {
    std::vector<double> one_by_one;
    std::vector<double> all_at_once;
    for (int i = 0; i <= arguments_.repeats; ++i) {
      one_by_one.push_back(Time(&Rank::OneByOne));
      all_at_once.push_back(Time(&Rank::AllAtOnce));
    }
    if (!print) return;
    Print("one by one", one_by_one);
    Print("all at once", all_at_once);
  }

 private:
  static void Print(const char* name, std::vector<double>& ms) {
    ms.erase(ms.begin());
    std::sort(ms.begin(), ms.end());
    const auto quantile = [&](double q) {
      return ms[static_cast<size_t>(q * static_cast<double>(ms.size() - 1) + 0.5)];
    };
    std::printf("%-12s %8.1f ms (%.1f to %.1f)\n", name, quantile(0.5), quantile(0.25),
                quantile(0.75));
  }

  const Arguments& arguments_;
  std::vector<float> values_;
  const std::unique_ptr<TcpCommunicator> group_;
};

std::string Exchange(const std::string& own, int in, int out) {
  std::string theirs(64, '\0');
  std::string padded = own;
  padded.resize(64);
  Require(write(out, padded.data(), 64) == 64 && read(in, theirs.data(), 64) == 64, "pipe");
  return theirs.c_str();
}

void Run(const Arguments& arguments) {
  int there[2];
  int back[2];
  Require(pipe(there) == 0 && pipe(back) == 0, "pipe");
  const pid_t child = fork();
  Require(child >= 0, "fork");
  const int rank = child == 0 ? 1 : 0;
  if (rank == 1) prctl(PR_SET_PDEATHSIG, SIGKILL);
  const auto own = static_cast<size_t>(rank);
  Enter(arguments.namespaces[own]);
  const TcpListener listener(arguments.hosts[own]);
  std::vector<std::string> addresses(2);
  addresses[own] = listener.address();
  addresses[1 - own] =
      Exchange(listener.address(), rank == 0 ? back[0] : there[0], rank == 0 ? there[1] : back[1]);
  Rank(arguments, rank, addresses, listener).Measure(rank == 0);
  if (rank == 1) _exit(0);
  waitpid(child, nullptr, 0);
}

}  // namespace
}  // namespace gp::engine

int main(int argc, char** argv) {
  if (argc != 9) {
    std::fprintf(stderr,
                 "usage: distant_allreduce NAMESPACE ADDRESS NAMESPACE ADDRESS SIZE_BYTES PARTS "
                 "REPEATS tcp|tls\n");
    return 2;
  }
  try {
    gp::engine::Run({.namespaces = {argv[1], argv[3]},
                     .hosts = {argv[2], argv[4]},
                     .elements = std::stoull(argv[5]) / sizeof(float),
                     .parts = std::stoull(argv[6]),
                     .repeats = std::stoi(argv[7]),
                     .encrypted = std::string(argv[8]) == "tls"});
  } catch (const std::exception& error) {
    std::fprintf(stderr, "distant_allreduce: %s\n", error.what());
    return 1;
  }
}
