#include "worker/agent/coordinator_client.h"

#include <algorithm>
#include <random>
#include <utility>
#include <variant>

#include "base/file.h"
#include "base/log.h"
#include "rpc/channel.h"
#include "rpc/server_certificates.h"

namespace gp::agent {
namespace {

constexpr std::chrono::seconds kExplanationTimeout{1};
constexpr size_t kTelemetryItemsPerMessage = 1000;
constexpr size_t kTelemetryBytesPerMessage = 1 << 20;
constexpr size_t kProbeBytesMax = 4096;

std::chrono::nanoseconds ToNanoseconds(const google::protobuf::Duration& duration) {
  return std::chrono::seconds(duration.seconds()) + std::chrono::nanoseconds(duration.nanos());
}

double UnitRandom() {
  static thread_local std::minstd_rand generator(std::random_device{}());
  return std::uniform_real_distribution<double>(0, 1)(generator);
}

// Reads the file that proves that this node and the coordinator share storage.root; empty when it
// cannot be read.
std::string ReadProbe(const std::string& storage_root) {
  return ReadFile(JoinPath(storage_root, ".gp-probe"), kProbeBytesMax).value_or("");
}

std::string EndingOf(const grpc::Status& ended) {
  return ended.error_message().empty() ? "the stream ended" : ended.error_message();
}

}  // namespace

CoordinatorClient::CoordinatorClient(CoordinatorClientOptions options, Inbox& inbox,
                                     AgentMetrics& metrics)
    : options_(std::move(options)),
      inbox_(inbox),
      metrics_(metrics),
      telemetry_(options_.telemetry_items_max),
      connector_([this] { ConnectLoop(); }) {}

CoordinatorClient::~CoordinatorClient() { Stop(std::chrono::nanoseconds(0)); }

uint64_t CoordinatorClient::Report(v1::AgentReport report, bool urgent) {
  MutexLock lock(mutex_);
  report_ = std::move(report);
  report_urgent_ = report_urgent_ || urgent;
  ++report_number_;
  if (urgent) changed_.NotifyAll();
  return report_number_;
}

void CoordinatorClient::NoteTurn() {
  MutexLock lock(mutex_);
  turned_at_ = std::chrono::steady_clock::now();
}

bool CoordinatorClient::LoopTurns(SteadyTime now) const {
  return !turned_at_ || now - *turned_at_ < options_.turn_max;
}

uint64_t CoordinatorClient::ReportedThrough() const {
  MutexLock lock(mutex_);
  return reported_through_;
}

void CoordinatorClient::Tell(v1::TelemetryItem item) {
  MutexLock lock(mutex_);
  const bool first = !telemetry_.has_unsent();
  telemetry_.Add(std::move(item));
  ShowTelemetry();
  if (first) changed_.NotifyAll();
}

void CoordinatorClient::Stop(std::chrono::nanoseconds flush_timeout) {
  const SteadyTime deadline = std::chrono::steady_clock::now() + flush_timeout;
  {
    MutexLock lock(mutex_);
    while (welcomed_ && (reported_through_ < report_number_ || telemetry_.size() > 0)) {
      if (!changed_.WaitUntil(mutex_, deadline)) break;
    }
    stopping_ = true;
    if (context_ != nullptr) context_->TryCancel();
    changed_.NotifyAll();
  }
  if (connector_.joinable()) connector_.join();
}

void CoordinatorClient::ConnectLoop() {
  for (int attempt = 0;; ++attempt) {
    {
      MutexLock lock(mutex_);
      if (stopping_) return;
    }
    if (Converse()) attempt = 0;
    metrics_.SetConnected(false);
    Pause(attempt);
  }
}

void CoordinatorClient::Pause(int attempt) {
  const auto delay = BackoffDelay(options_.backoff, attempt, UnitRandom());
  const SteadyTime deadline = std::chrono::steady_clock::now() + delay;
  MutexLock lock(mutex_);
  while (!stopping_) {
    if (!changed_.WaitUntil(mutex_, deadline)) return;
  }
}

bool CoordinatorClient::Converse() {
  refusal_.clear();
  grpc::ClientContext context;
  const auto stub =
      v1::AgentService::NewStub(rpc::MakeChannel(options_.address, {.tls = options_.tls}));
  const auto stream = stub->Connect(&context);
  const v1::AgentMessage hello = MakeHello();
  {
    MutexLock lock(mutex_);
    if (stopping_) context.TryCancel();
    context_ = &context;
    connected_ = true;
    welcome_deadline_ = std::chrono::steady_clock::now() + options_.welcome_timeout;
  }
  std::jthread writer;
  if (stream->Write(hello)) writer = std::jthread([&] { WriteLoop(*stream); });
  v1::CoordinatorMessage message;
  bool heard = true;
  while (heard && stream->Read(&message)) heard = Hear(message);
  bool welcomed = false;
  {
    MutexLock lock(mutex_);
    welcomed = welcomed_;
  }
  EndConnection(/*cancel=*/!heard);
  if (writer.joinable()) writer.join();
  const grpc::Status status = stream->Finish();
  {
    MutexLock lock(mutex_);
    context_ = nullptr;
    if (stopping_) return welcomed;
  }
  Complain(status);
  return welcomed;
}

// Why the connection ended. gRPC does not say what is wrong with a certificate, so with TLS the
// certificates are checked separately.
std::string CoordinatorClient::WhyAway(const grpc::Status& ended) const {
  if (options_.tls && ended.error_code() == grpc::StatusCode::UNAVAILABLE) {
    const Status explained = rpc::ExplainCertificates(options_.address, *options_.tls,
                                                      SystemClock().WallNow(), kExplanationTimeout);
    if (!explained.ok()) return Message(explained);
  }
  return EndingOf(ended);
}

// A stream that the coordinator ended is not cancelled, because then its reason would be lost.
void CoordinatorClient::EndConnection(bool cancel) {
  MutexLock lock(mutex_);
  connected_ = false;
  welcomed_ = false;
  if (cancel) context_->TryCancel();
  changed_.NotifyAll();
}

// Logs a reason once, not at every attempt.
void CoordinatorClient::Complain(const grpc::Status& ended) {
  const std::string complaint = refusal_.empty() ? EndingOf(ended) : refusal_;
  if (complaint == last_complaint_) return;
  LogWarning("coordinator is unreachable; trainers continue",
             {{"coordinator", options_.address},
              {"reason", refusal_.empty() ? WhyAway(ended) : refusal_}});
  last_complaint_ = complaint;
}

v1::AgentMessage CoordinatorClient::MakeHello() {
  v1::AgentMessage message;
  v1::AgentHello& hello = *message.mutable_hello();
  hello = options_.hello;
  hello.set_storage_probe(ReadProbe(hello.storage_root()));
  MutexLock lock(mutex_);
  hello.set_coordinator_generation_max(generation_max_);
  *hello.mutable_ranks() = report_.ranks();
  return message;
}

bool CoordinatorClient::Hear(const v1::CoordinatorMessage& message) {
  switch (message.message_case()) {
    case v1::CoordinatorMessage::kWelcome:
      return HearWelcome(message.welcome());
    case v1::CoordinatorMessage::kRefused:
      refusal_ = "refused: " + message.refused().reason();
      return false;
    case v1::CoordinatorMessage::kDesired:
      return inbox_.Post(message.desired());
    case v1::CoordinatorMessage::kTelemetryAck: {
      MutexLock lock(mutex_);
      telemetry_.Acknowledge(message.telemetry_ack().through_sequence());
      SetWindow(message.telemetry_ack().window_bytes());
      ShowTelemetry();
      changed_.NotifyAll();
      return true;
    }
    default:
      return true;  // from a newer coordinator
  }
}

bool CoordinatorClient::HearWelcome(const v1::Welcome& welcome) {
  const uint64_t generation = welcome.coordinator_generation();
  {
    MutexLock lock(mutex_);
    if (generation < generation_max_) {
      refusal_ = fmt::format(
          "a stale coordinator answered: generation {}, seen before: {}; stop it, or restart this "
          "agent if the old state was removed on purpose",
          generation, generation_max_);
      return false;
    }
    generation_max_ = generation;
    if (const auto interval = ToNanoseconds(welcome.report_interval()); interval.count() > 0) {
      report_interval_ = interval;
    }
    telemetry_.Rewind();
    SetWindow(welcome.telemetry_window_bytes());
    welcomed_ = true;
    // The Hello may already be out of date: send the newest report at once.
    report_urgent_ = report_number_ > 0;
    report_due_ = std::chrono::steady_clock::now() + report_interval_;
    changed_.NotifyAll();
  }
  last_complaint_.clear();
  metrics_.SetConnected(true);
  LogInfo("connected to coordinator", {{"coordinator", options_.address},
                                       {"generation", generation},
                                       {"version", welcome.version()}});
  return inbox_.Post(Connected{welcome});
}

void CoordinatorClient::WriteLoop(Stream& stream) {
  v1::AgentMessage message;
  uint64_t report_number = 0;
  while (NextMessage(message, report_number)) {
    if (!stream.Write(message)) return;  // the stream has ended, which the reader sees, too
    if (message.has_report()) NoteReported(report_number);
  }
  MutexLock lock(mutex_);
  if (connected_ && context_ != nullptr) context_->TryCancel();  // no welcome came
}

void CoordinatorClient::NoteReported(uint64_t report_number) {
  {
    MutexLock lock(mutex_);
    reported_through_ = report_number;
    changed_.NotifyAll();
  }
  inbox_.Post(ReportWritten{});
}

bool CoordinatorClient::NextMessage(v1::AgentMessage& message, uint64_t& report_number) {
  MutexLock lock(mutex_);
  while (connected_ && !stopping_) {
    const SteadyTime now = std::chrono::steady_clock::now();
    if (!welcomed_ && now >= welcome_deadline_) return false;
    report_number = report_number_;
    if (welcomed_ && FillMessage(message, now)) return true;
    changed_.WaitUntil(mutex_, NextWake(now));
  }
  return false;
}

bool CoordinatorClient::FillMessage(v1::AgentMessage& message, SteadyTime now) {
  message.Clear();
  if (now >= report_due_ && !LoopTurns(now)) report_due_ = now + report_interval_;
  const bool first_telemetry = report_urgent_ && CanSendTelemetry() && !telemetry_went_first_;
  if (!first_telemetry && (report_urgent_ || now >= report_due_)) {
    *message.mutable_report() = report_;
    report_urgent_ = false;
    telemetry_went_first_ = false;
    report_due_ = now + report_interval_;
    return true;
  }
  if (first_telemetry || (CanSendTelemetry() && now >= telemetry_due_)) {
    telemetry_went_first_ = first_telemetry;
    *message.mutable_telemetry() = TakeTelemetry();
    if (!telemetry_.has_unsent()) telemetry_due_ = now + options_.telemetry_interval;
    return true;
  }
  return false;
}

bool CoordinatorClient::CanSendTelemetry() const {
  return telemetry_.has_unsent() && telemetry_.sent_bytes() < window_bytes_;
}

v1::Telemetry CoordinatorClient::TakeTelemetry() {
  const size_t room = window_bytes_ - telemetry_.sent_bytes();
  return telemetry_.Take(kTelemetryItemsPerMessage, std::min(kTelemetryBytesPerMessage, room));
}

void CoordinatorClient::ShowTelemetry() {
  const TelemetryQueue::Dropped dropped = telemetry_.dropped();
  metrics_.SetTelemetry(telemetry_.size(), dropped.points, dropped.lines);
}

void CoordinatorClient::SetWindow(uint64_t window_bytes) {
  window_bytes_ = window_bytes > 0 ? window_bytes : kTelemetryWindowBytes;
}

CoordinatorClient::SteadyTime CoordinatorClient::NextWake(SteadyTime now) const {
  if (!welcomed_) return welcome_deadline_;
  if (CanSendTelemetry()) return std::min(report_due_, std::max(now, telemetry_due_));
  return report_due_;
}

}  // namespace gp::agent
