#include "storage/object/attempts.h"

#include <fmt/format.h>

#include <random>
#include <thread>

#include "base/text/counted_noun.h"

namespace gp::object {
namespace {

double UnitRandom() {
  thread_local std::minstd_rand generator(std::random_device{}());
  return std::uniform_real_distribution<double>(0, 1)(generator);
}

}  // namespace

Attempts::Attempts(const RetryOptions& options)
    : options_(options), begin_(std::chrono::steady_clock::now()) {}

bool Attempts::Next() {
  const auto pause = BackoffDelay(options_.pause, count_ - 1, UnitRandom());
  if (std::chrono::steady_clock::now() + pause - begin_ > options_.budget) return false;
  std::this_thread::sleep_for(pause);
  ++count_;
  return true;
}

std::string Attempts::Text() const {
  const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - begin_;
  return fmt::format("{} in {:.1f} s", CountedNoun(count_, "attempt"), spent.count());
}

}  // namespace gp::object
