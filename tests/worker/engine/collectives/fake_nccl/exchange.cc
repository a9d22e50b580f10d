#include "worker/engine/collectives/fake_nccl/exchange.h"

#include <string>

namespace gp::fake_nccl {
namespace {

std::string Text(const Label& label) {
  return "operation " + std::to_string(label.operation) + " number " +
         std::to_string(label.number) + " of " + std::to_string(label.bytes) + " bytes";
}

}  // namespace

Exchange::Exchange(Clique& clique, const std::vector<Message>& messages) : clique_(clique) {
  for (const Message& message : messages) {
    Lane& lane = lanes_[{message.peer, message.outgoing}];
    Label& label = lane.labels.emplace_back(message.outgoing ? message.label : Label());
    lane.pieces.push_back(
        {std::as_writable_bytes(std::span(&label, 1)), message.label, /*is_label=*/true});
    lane.pieces.push_back({message.bytes, {}, /*is_label=*/false});
  }
}

bool Exchange::Advance() {
  bool moved = false;
  for (auto lane = lanes_.begin(); lane != lanes_.end();) {
    const auto [peer, outgoing] = lane->first;
    moved = Advance(peer, outgoing, lane->second) || moved;
    lane = lane->second.pieces.empty() ? lanes_.erase(lane) : std::next(lane);
  }
  return moved;
}

bool Exchange::Advance(int peer, bool outgoing, Lane& lane) {
  bool moved = false;
  while (!lane.pieces.empty()) {
    Piece& piece = lane.pieces.front();
    const size_t count =
        outgoing ? clique_.Send(peer, piece.bytes) : clique_.Receive(peer, piece.bytes);
    moved = moved || count > 0;
    piece.bytes = piece.bytes.subspan(count);
    if (!piece.bytes.empty()) return moved;
    if (piece.is_label) {
      if (!outgoing && lane.labels.front() != piece.expected) {
        throw ExchangeError(false, "rank " + std::to_string(peer) + " is in " +
                                       Text(lane.labels.front()) + ", this rank in " +
                                       Text(piece.expected));
      }
      lane.labels.pop_front();
    }
    lane.pieces.pop_front();
  }
  return moved;
}

void Exchange::CheckPeers() const {
  for (const auto& [place, lane] : lanes_) {
    const int peer = place.first;
    const Presence presence = clique_.PresenceOf(peer);
    if (presence == Presence::kHere) continue;
    throw ExchangeError(true, std::string("connection closed by remote peer: rank ") +
                                  std::to_string(peer) +
                                  (presence == Presence::kKilled ? " was killed" : " has left"));
  }
}

}  // namespace gp::fake_nccl
