#include "lib/rpc/spoiled_connect.h"

#include <dlfcn.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>

namespace gp::rpc {
namespace {

int CountFromEnvironment() {
  const char* text = std::getenv("GP_SPOIL_CONNECTS");
  return text == nullptr ? 0 : std::atoi(text);
}

std::atomic<int>& Left() {
  static std::atomic<int> left{CountFromEnvironment()};
  return left;
}

bool TakeOne() {
  int left = Left().load();
  while (left > 0) {
    if (Left().compare_exchange_weak(left, left - 1)) return true;
  }
  return false;
}

// The descriptor of this thread's last connect() if that is still in progress, else -1.
thread_local int connecting = -1;

// The original function of the C library.
template <typename Function>
Function* Replaced(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

}  // namespace

void SpoilConnects(int count) { Left() = count; }

int ConnectsToSpoil() { return Left(); }

}  // namespace gp::rpc

extern "C" int connect(int fd, const sockaddr* address, socklen_t size) {
  static auto* const replaced = gp::rpc::Replaced<int(int, const sockaddr*, socklen_t)>("connect");
  const int result = replaced(fd, address, size);
  gp::rpc::connecting = result != 0 && errno == EINPROGRESS ? fd : -1;
  return result;
}

extern "C" int epoll_ctl(int epoll, int operation, int fd, epoll_event* event) noexcept {
  static auto* const replaced = gp::rpc::Replaced<int(int, int, int, epoll_event*)>("epoll_ctl");
  const int result = replaced(epoll, operation, fd, event);
  const bool registers_it = result == 0 && operation == EPOLL_CTL_ADD && fd == gp::rpc::connecting;
  if (registers_it && gp::rpc::TakeOne()) errno = ENOENT;
  return result;
}
