#include "http/byte_budget.h"

#include <utility>

namespace gp::http {

ByteBudget::Share::Share(std::shared_ptr<ByteBudget> budget, std::string client)
    : budget_(std::move(budget)), client_(std::move(client)) {}

ByteBudget::Share::Share(Share&& other) noexcept { *this = std::move(other); }

ByteBudget::Share& ByteBudget::Share::operator=(Share&& other) noexcept {
  if (this == &other) return *this;
  Resize(0);
  budget_ = std::exchange(other.budget_, nullptr);
  client_ = std::move(other.client_);
  bytes_ = std::exchange(other.bytes_, 0);
  return *this;
}

bool ByteBudget::Share::Resize(size_t bytes) {
  if (budget_ && !budget_->Move(client_, bytes_, bytes)) return false;
  bytes_ = bytes;
  return true;
}

bool ByteBudget::Move(const std::string& client, size_t from, size_t to) {
  if (from == to) return true;
  size_t& mine = held_by_[client];
  const size_t held = held_ - from + to;
  const size_t mine_then = mine - from + to;
  const bool fits = held <= bytes_max_ && mine_then <= bytes_max_ - held;
  const bool granted = to < from || to <= kAlwaysBytes || fits;
  if (granted) {
    held_ = held;
    mine = mine_then;
  }
  if (mine == 0) held_by_.erase(client);
  return granted;
}

}  // namespace gp::http
