#include "coordinator/state/run_tally.h"

namespace gp::coordinator {
namespace {

size_t FileBytes(const Run& run) {
  return run.submission->source.size() + run.submission->resolved.size();
}

}  // namespace

void RunTally::Replace(const Run* before, const Run& after) {
  if (before != nullptr && !IsTerminal(before->state)) Remove(*before);
  if (!IsTerminal(after.state)) Add(after);
}

RunTally::Count RunTally::Of(const std::string& user) const {
  const auto found = users_.find(user);
  return found == users_.end() ? Count{} : found->second;
}

int RunTally::In(RunState state) const {
  const auto found = states_.find(state);
  return found == states_.end() ? 0 : found->second;
}

void RunTally::Add(const Run& run) {
  Count& user = users_[run.submitted_by];
  ++user.live;
  if (IsWaiting(run.state)) ++user.waiting;
  ++states_[run.state];
  file_bytes_ += FileBytes(run);
}

void RunTally::Remove(const Run& run) {
  const auto user = users_.find(run.submitted_by);
  if (IsWaiting(run.state)) --user->second.waiting;
  if (--user->second.live == 0) users_.erase(user);
  const auto state = states_.find(run.state);
  if (--state->second == 0) states_.erase(state);
  file_bytes_ -= FileBytes(run);
}

}  // namespace gp::coordinator
