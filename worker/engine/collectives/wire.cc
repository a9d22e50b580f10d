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

Wire::Wire(int rank, TcpGroup group, std::chrono::milliseconds timeout)
    : rank_(rank),
      group_(std::move(group)),
      limits_{.timeout = timeout},
      announced_(group_.peers.size()) {
  for (int peer = 0; peer < size(); ++peer) {
    if (peer != rank_) others_.push_back(peer);
  }
}

std::vector<Lane> Wire::Lanes(Operation operation, size_t size, const std::vector<int>& ranks) {
  std::vector<Lane> lanes;
  for (const int peer : ranks) lanes.push_back(LaneTo(peer, group_.peers));
  for (const int peer : ranks) announced_[static_cast<size_t>(peer)] = {};
  Announce(lanes, operation, size);
  return lanes;
}

std::vector<Lane> Wire::LanesOfSequence(const std::vector<int>& ranks) {
  std::vector<Lane> lanes;
  for (const int peer : ranks) lanes.push_back(LaneTo(peer, group_.peers));
  for (const int peer : ranks) {
    // Never blamed first: a rank that sends no results may itself wait for another rank's partial
    // sums.
    lanes.emplace_back(LaneTo(peer, group_.results)).in.begin = PieceQueue::kNever;
  }
  for (const int peer : ranks) announced_[static_cast<size_t>(peer)] = {};
  return lanes;
}

void Wire::Announce(std::span<Lane> lanes, Operation operation, size_t size) {
  for (Lane& lane : lanes) {
    if (!IsMain(lane)) continue;
    Headers& headers = announced_[static_cast<size_t>(lane.rank)].headers.emplace_back();
    const std::span<std::byte> sent = headers.sent;
    Put(sent.subspan(0, 4), static_cast<uint32_t>(operation));
    Put(sent.subspan(4, 4), 0);
    Put(sent.subspan(8, 8), sequence_);
    Put(sent.subspan(16, 8), size);
    headers.place = lane.in.pieces.size();
    lane.out.Add(headers.sent);
    lane.in.Add(headers.received);
  }
}

Lane Wire::LaneTo(int rank, const std::vector<Socket>& sockets) const {
  Lane lane;
  lane.rank = rank;
  lane.place = static_cast<size_t>(rank);
  lane.socket = &sockets[static_cast<size_t>(rank)];
  return lane;
}

bool Wire::IsMain(const Lane& lane) const {
  return lane.socket == &group_.peers[static_cast<size_t>(lane.rank)];
}

void Wire::Run(std::vector<Lane>& lanes, const std::string& name, bool watch_others,
               const std::function<void()>& progressed, ExchangeFeed* feed) {
  const std::string numbered = feed == nullptr ? name + " " + std::to_string(sequence_)
                                               : name + "s from " + std::to_string(sequence_ + 1);
  CheckNotAborted(numbered);
  const auto bystanders = watch_others ? BystandersOf(lanes) : std::vector<Bystander>{};
  try {
    RunExchange(
        lanes, bystanders, limits_, numbered,
        [&] {
          CheckHeaders(lanes, numbered);
          progressed();
        },
        feed);
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

void Wire::CheckHeaders(const std::vector<Lane>& lanes, const std::string& name) {
  for (const Lane& lane : lanes) {
    if (!IsMain(lane)) continue;
    auto& [headers, checked] = announced_[static_cast<size_t>(lane.rank)];
    while (checked < headers.size() && headers[checked].place < lane.in.next) {
      const Headers& one = headers[checked++];
      if (one.received == one.sent) continue;
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
    if (!has_lane) bystanders.push_back({peer, &group_.peers[static_cast<size_t>(peer)]});
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
  for (const auto* sockets : {&group_.peers, &group_.results}) {
    for (const Socket& socket : *sockets) {
      if (socket.valid()) socket.Sever();
    }
  }
}

}  // namespace gp::engine
