#include "worker/engine/step/ready_ranges.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <system_error>

#include "base/check.h"

namespace gp::engine {
namespace {

// More ranges than any model has; buckets are fewer.
constexpr size_t kRangesMax = 1 << 16;

FileDescriptor MakeSignal() {
  FileDescriptor signal(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK | EFD_SEMAPHORE));
  if (signal.get() < 0) throw std::system_error(errno, std::generic_category(), "eventfd");
  return signal;
}

}  // namespace

ReadyRanges::ReadyRanges() : ranges_(kRangesMax), signal_(MakeSignal()) {}

void ReadyRanges::Post(GradientRange range) {
  if (ranges_.TryPost(range)) return Signal();
  GP_CHECK(ranges_.closed());
}

void ReadyRanges::Close() {
  ranges_.Close();
  Signal();
}

std::optional<GradientRange> ReadyRanges::Take() {
  eventfd_t one = 0;
  if (eventfd_read(signal_.get(), &one) != 0) return std::nullopt;
  return ranges_.Receive(std::chrono::nanoseconds(0));
}

void ReadyRanges::Signal() { GP_CHECK(eventfd_write(signal_.get(), 1) == 0); }

}  // namespace gp::engine
