#include "coordinator/control/intake.h"

#include <utility>

#include "base/check.h"

namespace gp::coordinator {
namespace {

// The node and the stream that an event came from.
struct Speaker {
  NodeId node;
  uint64_t session = 0;
};

Speaker SpeakerOf(const Event& event) {
  if (const auto* said = std::get_if<NodeConnected>(&event.body)) {
    return {said->node, said->session};
  }
  if (const auto* said = std::get_if<NodeReported>(&event.body)) {
    return {said->node, said->session};
  }
  const auto* said = std::get_if<NodeDisconnected>(&event.body);
  GP_CHECK(said != nullptr, "'{}' cannot come from a node", Kind(event));
  return {said->node, said->session};
}

}  // namespace

bool Intake::PostRequest(Message& message) {
  MutexLock lock(mutex_);
  if (closed_ || requests_.size() >= limits_.requests) return false;
  requests_.push_back(std::move(message));
  arrived_.NotifyOne();
  return true;
}

bool Intake::PostNode(Event event) {
  const Speaker speaker = SpeakerOf(event);
  MutexLock lock(mutex_);
  const bool waits = nodes_.contains(speaker.node);
  if (closed_ || (!waits && nodes_.size() >= limits_.nodes)) return false;
  NodeWords& words = nodes_[speaker.node];
  if (!waits) node_order_.push_back(speaker.node);
  if (speaker.session < words.session) return true;  // dropped: the node has a newer stream
  const bool hello = std::holds_alternative<NodeConnected>(event.body);
  if (hello || speaker.session > words.session) words = {.session = speaker.session};
  if (hello) {
    words.connected = std::move(event);
  } else if (std::holds_alternative<NodeReported>(event.body)) {
    words.reported = std::move(event);
  } else {
    words.disconnected = std::move(event);
  }
  arrived_.NotifyOne();
  return true;
}

bool Intake::PostFinding(Event event) {
  MutexLock lock(mutex_);
  if (closed_ || findings_.size() >= limits_.findings) return false;
  findings_.push_back(std::move(event));
  arrived_.NotifyOne();
  return true;
}

std::vector<Intake::Message> Intake::Take(size_t count_max, std::chrono::nanoseconds timeout) {
  const auto deadline = std::chrono::steady_clock::now() + timeout;
  std::vector<Message> messages;
  MutexLock lock(mutex_);
  while (!closed_ && empty()) {
    if (!arrived_.WaitUntil(mutex_, deadline)) break;
  }
  while (!empty() && messages.size() < count_max) {
    if (!nodes_.empty()) TakeNode(messages);
    if (!findings_.empty()) {
      messages.push_back({std::move(findings_.front()), nullptr});
      findings_.pop_front();
    }
    if (!requests_.empty()) {
      messages.push_back(std::move(requests_.front()));
      requests_.pop_front();
    }
  }
  return messages;
}

void Intake::Close() {
  MutexLock lock(mutex_);
  closed_ = true;
  arrived_.NotifyAll();
}

bool Intake::empty() const { return requests_.empty() && nodes_.empty() && findings_.empty(); }

void Intake::TakeNode(std::vector<Message>& messages) {
  const auto found = nodes_.find(node_order_.front());
  NodeWords& words = found->second;
  for (std::optional<Event>* said : {&words.connected, &words.reported, &words.disconnected}) {
    if (*said) messages.push_back({std::move(**said), nullptr});
  }
  nodes_.erase(found);
  node_order_.pop_front();
}

}  // namespace gp::coordinator
