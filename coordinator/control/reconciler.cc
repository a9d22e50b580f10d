#include "coordinator/control/reconciler.h"

#include "base/check.h"
#include "base/failpoint.h"
#include "base/log.h"
#include "base/random_id.h"
#include "coordinator/state/invariants.h"

namespace gp::coordinator {
namespace {

// Length of a group's nonce, from which GroupKey derives the secret of its ranks.
constexpr size_t kNonceBytes = 32;

Status Refusal() {
  return Unavailable("the coordinator is stopping or too busy; try again with the same request id");
}

}  // namespace

Reconciler::Reconciler(Store& store, Clock& clock, BatchObserver& observer, Cluster cluster,
                       ReconcilerOptions options)
    : store_(store),
      clock_(clock),
      observer_(observer),
      options_(std::move(options)),
      intake_(options_.intake),
      cluster_(std::make_shared<const Cluster>(std::move(cluster))),
      snapshot_(cluster_) {}

Reconciler::~Reconciler() { Stop(); }

void Reconciler::Start() {
  thread_ = std::jthread([this](const std::stop_token& stop) { Loop(stop); });
}

void Reconciler::Stop() {
  intake_.Close();
  thread_.request_stop();
  if (thread_.joinable()) thread_.join();
  for (const Message& message : intake_.Take(SIZE_MAX, std::chrono::seconds(0))) {
    if (message.done) message.done(Refusal());
  }
}

void Reconciler::Loop(const std::stop_token& stop) {
  while (!stop.stop_requested()) RunOnce(options_.tick);
}

void Reconciler::Request(Event event, Done done) {
  Message message{std::move(event), std::move(done)};
  if (!intake_.PostRequest(message)) message.done(Refusal());
}

bool Reconciler::Post(Event event) {
  const bool of_run = IsDurable(event) || std::holds_alternative<CheckpointRead>(event.body);
  if (of_run) return intake_.PostFinding(std::move(event));
  return intake_.PostNode(std::move(event));
}

std::shared_ptr<const Cluster> Reconciler::snapshot() const {
  MutexLock lock(mutex_);
  return snapshot_;
}

Now Reconciler::ReadClock() const {
  return {clock_.Now(), clock_.WallNow(),
          options_.unread ? options_.unread() : std::chrono::nanoseconds(0)};
}

void Reconciler::RunOnce(std::chrono::nanoseconds timeout) {
  const std::vector<Message> messages = intake_.Take(options_.batch_max, timeout);
  Turn turn = Try(messages);
  const Status committed = Commit(turn.batch);
  if (!committed.ok()) return CommitVolatile(messages, committed);
  Publish(turn.batch);
  Failpoint("reconciler.before_answer");
  for (const Answer& answer : turn.answers) answer.done(answer.admission);
}

Reconciler::Turn Reconciler::Try(const std::vector<Message>& messages) const {
  const Now now = ReadClock();
  Batch::Faults faults = cluster_->faulty;
  while (true) {
    Turn turn = Try(messages, now, faults);
    const auto violations = FindViolations(*cluster_, turn.batch.after(), turn.batch.touched());
    for (const Violation& violation : violations) {
      LogError("a run breaks an invariant; it is set aside",
               {{"run", violation.run}, {"rule", violation.rule}});
      const bool first = faults.emplace(violation.run, violation.rule).second;
      GP_CHECK(first, "run '{}' was set aside and still breaks a rule: {}", violation.run,
               violation.rule);
    }
    if (violations.empty()) return turn;
  }
}

Reconciler::Turn Reconciler::Try(const std::vector<Message>& messages, const Now& now,
                                 const Batch::Faults& faults) const {
  Turn turn{Batch(*cluster_, now), {}};
  turn.batch.SetAside(faults);
  for (const Message& message : messages) {
    StatusOr<Admission> admission = turn.batch.AdmitEvent(message.event);
    if (message.done) turn.answers.push_back({message.done, std::move(admission)});
  }
  turn.batch.Plan(options_.policy, [] { return RandomHex(kNonceBytes); });
  return turn;
}

Status Reconciler::Commit(const Batch& batch) {
  if (batch.durable().empty()) return OkStatus();
  const MonotonicTime start = clock_.Now();
  const StatusOr<uint64_t> first = store_.Append(batch.durable());
  if (options_.on_store_write) {
    options_.on_store_write(std::chrono::duration<double>(clock_.Now() - start).count());
  }
  if (first.ok()) {
    GP_CHECK(*first == cluster_->last_sequence + 1, "the store is at {}, the cluster at {}", *first,
             cluster_->last_sequence);
    if (store_is_full_) LogInfo("store writes again");
    store_is_full_ = false;
    return OkStatus();
  }
  if (first.status().code() != StatusCode::kResourceExhausted) {
    if (options_.on_fatal) options_.on_fatal(first.status());
    GP_CHECK(false, "store: {}", gp::Message(first.status()));
  }
  if (!store_is_full_) {
    LogError("store cannot write; requests are refused, training continues",
             {{"error", gp::Message(first.status())}});
  }
  store_is_full_ = true;
  return first.status();
}

void Reconciler::Publish(Batch& batch) {
  PublishedBatch published{.runs = batch.touched(), .nodes = batch.touched_nodes()};
  uint64_t sequence = cluster_->last_sequence;
  for (const Event& event : batch.durable()) published.events.push_back({++sequence, event});
  cluster_ = std::make_shared<const Cluster>(batch.TakeAfter());
  if (!batch.changed()) return;
  {
    MutexLock lock(mutex_);
    snapshot_ = cluster_;
  }
  published.cluster = cluster_;
  observer_.OnBatch(published);
}

void Reconciler::CommitVolatile(const std::vector<Message>& messages, const Status& why) {
  Batch batch(*cluster_, ReadClock());
  std::vector<Answer> answers;
  for (const Message& message : messages) {
    if (message.done) {
      answers.push_back({message.done, why});
    } else if (!IsDurable(message.event)) {
      const Status taken = batch.AdmitEvent(message.event).status();
      GP_CHECK(taken.ok(), "{}", gp::Message(taken));
    }
  }
  Publish(batch);
  for (const Answer& answer : answers) answer.done(answer.admission);
}

}  // namespace gp::coordinator
