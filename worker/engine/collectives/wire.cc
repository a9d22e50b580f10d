#include "worker/engine/collectives/wire.h"

#include <algorithm>

namespace gp::engine {
namespace {

void Put(std::span<std::byte> out, uint64_t value) {
  for (std::byte& b : out) {
    b = static_cast<std::byte>(value);
    value >>= 8;
  }
}

}  // namespace

Wire::Wire(int rank, std::vector<Socket> peers, std::chrono::milliseconds timeout)
    : rank_(rank), peers_(std::move(peers)), limits_{.timeout = timeout}, headers_(peers_.size()) {
  for (int peer = 0; peer < size(); ++peer) {
    if (peer != rank_) others_.push_back(peer);
  }
}

std::vector<Lane> Wire::Lanes(Operation operation, size_t size, const std::vector<int>& ranks) {
  std::vector<Lane> lanes;
  for (const int peer : ranks) {
    Headers& headers = headers_[static_cast<size_t>(peer)];
    const std::span<std::byte> sent = headers.sent;
    Put(sent.subspan(0, 4), static_cast<uint32_t>(operation));
    Put(sent.subspan(4, 4), 0);
    Put(sent.subspan(8, 8), sequence_);
    Put(sent.subspan(16, 8), size);
    Lane& lane = lanes.emplace_back();
    lane.rank = peer;
    lane.place = static_cast<size_t>(peer);
    lane.socket = &peers_[static_cast<size_t>(peer)];
    lane.out.Add(headers.sent);
    lane.in.Add(headers.received);
  }
  return lanes;
}

void Wire::Run(std::vector<Lane>& lanes, const std::string& name, bool watch_others,
               const std::function<void()>& progressed) {
  const std::string numbered = name + " " + std::to_string(sequence_);
  CheckNotAborted(numbered);
  const auto bystanders = watch_others ? BystandersOf(lanes) : std::vector<Bystander>{};
  try {
    RunExchange(lanes, bystanders, limits_, numbered, [&] {
      CheckHeaders(lanes, numbered);
      progressed();
    });
  } catch (const CollectiveError&) {
    CheckNotAborted(numbered);  // a severed connection looks like a lost peer
    throw;
  }
}

std::vector<std::vector<std::byte>> Wire::Swap(Operation operation, const std::string& name,
                                               std::span<std::byte> own,
                                               const std::vector<int>& ranks, bool watch_others) {
  std::vector<Lane> lanes = Lanes(operation, own.size(), ranks);
  std::vector<std::vector<std::byte>> theirs(lanes.size(), std::vector<std::byte>(own.size()));
  for (size_t i = 0; i < lanes.size(); ++i) {
    lanes[i].out.Add(own);
    lanes[i].in.Add(theirs[i]);
    lanes[i].out.OpenAll();
    lanes[i].in.OpenAll();
  }
  Run(lanes, name, watch_others, [] {});
  return theirs;
}

void Wire::CheckHeaders(const std::vector<Lane>& lanes, const std::string& name) const {
  for (const Lane& lane : lanes) {
    const Headers& headers = headers_[static_cast<size_t>(lane.rank)];
    if (lane.in.next > 0 && headers.received != headers.sent) {
      throw CollectiveError(name + ": rank " + std::to_string(lane.rank) +
                            " is in another collective, or with another size");
    }
  }
}

std::vector<Bystander> Wire::BystandersOf(const std::vector<Lane>& lanes) const {
  std::vector<Bystander> bystanders;
  for (const int peer : others_) {
    const bool has_lane = std::any_of(lanes.begin(), lanes.end(),
                                      [peer](const Lane& lane) { return lane.rank == peer; });
    if (!has_lane) bystanders.push_back({peer, &peers_[static_cast<size_t>(peer)]});
  }
  return bystanders;
}

void Wire::CheckNotAborted(const std::string& name) {
  std::lock_guard lock(mutex_);
  if (abort_reason_.empty()) return;
  throw CollectiveError(name + " was aborted: " + abort_reason_);
}

void Wire::Abort(const std::string& reason) {
  {
    std::lock_guard lock(mutex_);
    if (abort_reason_.empty()) abort_reason_ = reason.empty() ? "no reason given" : reason;
  }
  for (const Socket& peer : peers_) {
    if (peer.valid()) peer.Sever();
  }
}

}  // namespace gp::engine
