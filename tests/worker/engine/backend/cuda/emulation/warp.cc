#include "worker/engine/backend/cuda/emulation/warp.h"

#include <bit>
#include <cstring>

namespace gp::cuda_emulation {
namespace {

bool AreOneCall(const WarpCall& a, const WarpCall& b) {
  return a.operation == b.operation && a.place.line == b.place.line &&
         (a.place.file == b.place.file || std::strcmp(a.place.file, b.place.file) == 0);
}

bool IsShuffle(WarpOperation operation) {
  return operation == WarpOperation::kShuffle || operation == WarpOperation::kShuffleUp ||
         operation == WarpOperation::kShuffleDown || operation == WarpOperation::kShuffleXor;
}

std::string PlaceName(const Place& place) {
  return std::string(place.file) + ":" + std::to_string(place.line);
}

}  // namespace

// Why `lane` cannot join the waiting lane `other`; empty if it can.
std::string Warp::Conflict(int lane, const WarpCall& call, int other) const {
  const WarpCall& theirs = CallOf(other);
  const bool wait_for_each_other = (theirs.mask >> lane & call.mask >> other & 1u) != 0;
  if (!wait_for_each_other) return "";
  if (theirs.mask != call.mask) return "lanes wait for each other with different masks";
  if (AreOneCall(theirs, call)) return "";
  return "lane " + std::to_string(other) + " of the mask waits at " + PlaceName(theirs.place);
}

std::string Warp::Arrive(int lane, const WarpCall& call) {
  if ((call.mask >> lane & 1u) == 0) return "a lane calls with a mask that does not contain it";
  if (call.width < 1 || call.width > 32 || !std::has_single_bit(unsigned(call.width))) {
    return "the width of a shuffle must be 1, 2, 4, 8, 16 or 32";
  }
  if (waiting_ == 0) has_one_mask_ = true;
  const int any = std::countr_zero(waiting_);
  if (waiting_ != 0 && CallOf(any).mask != call.mask) has_one_mask_ = false;
  // Lanes that wait with the same mask are known to agree, so comparing with one of them is enough.
  const unsigned int compared = has_one_mask_ ? waiting_ & -waiting_ : waiting_;
  for (unsigned int rest = compared; rest != 0; rest &= rest - 1) {
    std::string conflict = Conflict(lane, call, std::countr_zero(rest));
    if (!conflict.empty()) return conflict;
  }
  calls_[static_cast<size_t>(lane)] = call;
  waiting_ |= 1u << lane;
  return "";
}

bool Warp::IsComplete(int lane) const {
  const unsigned int mask = CallOf(lane).mask;
  return (waiting_ & mask) == mask;
}

// The lane whose value `lane` reads: itself if the source would be outside its segment.
int Warp::SourceOf(int lane) const {
  const WarpCall& call = CallOf(lane);
  const int first = lane & ~(call.width - 1);
  const int last = first + call.width - 1;
  switch (call.operation) {
    case WarpOperation::kShuffle:
      return first + (call.argument & (call.width - 1));
    case WarpOperation::kShuffleUp:
      return lane - call.argument < first ? lane : lane - call.argument;
    case WarpOperation::kShuffleDown:
      return lane + call.argument > last ? lane : lane + call.argument;
    default:
      return (lane ^ call.argument) > last ? lane : lane ^ call.argument;
  }
}

uint64_t Warp::LanesThatMatch(int lane) const {
  const WarpCall& call = CallOf(lane);
  uint64_t lanes = 0;
  for (int other = 0; other < 32; ++other) {
    if ((call.mask >> other & 1u) == 0) continue;
    const uint64_t value = CallOf(other).value;
    const bool is_in = call.operation == WarpOperation::kBallot ? value != 0 : value == call.value;
    if (is_in) lanes |= uint64_t{1} << other;
  }
  return lanes;
}

std::string Warp::Finish(int lane) {
  const unsigned int mask = CallOf(lane).mask;
  waiting_ &= ~mask;
  for (int each = 0; each < 32; ++each) {
    if ((mask >> each & 1u) == 0) continue;
    uint64_t& result = results_[static_cast<size_t>(each)];
    if (IsShuffle(CallOf(each).operation)) {
      const int source = SourceOf(each);
      if (source < 0 || source > 31 || (mask >> source & 1u) == 0) {
        return "lane " + std::to_string(each) + " reads lane " + std::to_string(source) +
               ", which is not in the mask";
      }
      result = CallOf(source).value;
    } else if (CallOf(each).operation != WarpOperation::kSync) {
      result = LanesThatMatch(each);
    }
  }
  return "";
}

}  // namespace gp::cuda_emulation
