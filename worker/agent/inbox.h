// Inbox: the messages of other threads to the agent's loop. Many senders, one receiver that polls
// `descriptor()` beside its trainers' descriptors. Thread-safe.
#pragma once

#include <variant>
#include <vector>

#include "base/file.h"
#include "base/mailbox.h"
#include "gp/v1/agent_service.pb.h"
#include "worker/agent/slots.h"

namespace gp::agent {

// A coordinator accepted this agent.
struct Connected {
  v1::Welcome welcome;
};
// A report was written to the stream, so ranks that it reported as ended may be forgotten.
struct ReportWritten {};
// The health of GPU slots has changed. `healths` has all slots that are unhealthy now.
struct SlotsChanged {
  SlotHealths healths;
};
// Stop every trainer, with time to save, and exit. If the agent is stopping already, a hurried
// request kills the trainers.
struct StopRequested {
  bool hurried = false;
};
using InboxItem =
    std::variant<Connected, ReportWritten, SlotsChanged, StopRequested, v1::DesiredState>;

class Inbox {
 public:
  Inbox();

  // False when the inbox stayed full for 5 s, because the receiver hangs.
  bool Post(InboxItem item);

  // Readable while there is something to drain.
  int descriptor() const { return wake_.get(); }
  std::vector<InboxItem> Drain();

 private:
  FileDescriptor wake_;
  Mailbox<InboxItem> items_;
};

}  // namespace gp::agent
