#include "worker/agent/inbox.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <chrono>
#include <utility>

#include "base/check.h"

namespace gp::agent {
namespace {

constexpr size_t kItemsMax = 256;

}  // namespace

Inbox::Inbox() : wake_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)), items_(kItemsMax) {
  GP_CHECK(wake_.valid(), "eventfd failed");
}

bool Inbox::Post(InboxItem item) {
  if (!items_.Post(std::move(item), std::chrono::seconds(5))) return false;
  [[maybe_unused]] const int written = eventfd_write(wake_.get(), 1);
  return true;
}

std::vector<InboxItem> Inbox::Drain() {
  eventfd_t count = 0;
  [[maybe_unused]] const int got = eventfd_read(wake_.get(), &count);
  return items_.Drain(kItemsMax, std::chrono::nanoseconds(0));
}

}  // namespace gp::agent
