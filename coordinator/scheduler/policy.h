// Policy: the settings of the scheduler; every duration with its reason. A value.
#pragma once

#include <chrono>

namespace gp::coordinator {

struct Policy {
  // An agent that was silent for this long is lost, and with it the ranks there. Several report
  // intervals, so that one slow moment of a loaded machine costs nobody a restart.
  std::chrono::nanoseconds lease = std::chrono::seconds(10);
  // From placement to every rank being ready: reading and tokenizing data takes the most of it.
  std::chrono::nanoseconds start_timeout = std::chrono::minutes(15);
  // From the sealed final checkpoint to the exit of every rank.
  std::chrono::nanoseconds finish_timeout = std::chrono::seconds(30);
  // From the first rank of a running group that was stopped to the last: they agree on their last
  // step, and rank 0 saves it. Agents bound this for those that they told; a save that takes long
  // is worth more than the time.
  std::chrono::nanoseconds leave_timeout = std::chrono::minutes(5);
  // When a rank only says that it lost a peer, how long to wait for the peer's own report before
  // blaming the messenger.
  std::chrono::nanoseconds blame_delay = std::chrono::seconds(1);
};

}  // namespace gp::coordinator
