#include "client/gateway/models/model_pool.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "base/log.h"

namespace gp::gateway {
namespace {

// Texts sent to a sampler in addition to one per stream, so that a stream that finishes a text can
// start the next one at once.
constexpr int64_t kTextsAhead = 2;
// How long the older checkpoint of a moving name keeps answering while the newer one has not begun
// to load.
constexpr std::chrono::seconds kSwapPatience{2};
// No further texts are sent to a sampler while this many bytes are not yet written to its link.
constexpr size_t kUnsentBytesMax = 4 << 20;
// A model without requests is removed, and its failure count with it, this long after its last
// failure.
constexpr std::chrono::seconds kFailureCooldown{60};
// After this many failed loads in a row the waiting requests fail.
constexpr int kLoadsMax = 3;

double Gibibytes(uint64_t bytes) { return static_cast<double>(bytes) / (1 << 30); }

int SecondsUntil(std::chrono::steady_clock::time_point time) {
  const auto left = std::chrono::duration<double>(time - std::chrono::steady_clock::now());
  return std::max(1, static_cast<int>(std::ceil(left.count())));
}

}  // namespace

std::string_view Name(ModelState state) {
  switch (state) {
    case ModelState::kIdle:
      return "idle";
    case ModelState::kLoading:
      return "loading";
    case ModelState::kReady:
      return "ready";
    case ModelState::kFailed:
      return "failed";
  }
  return "";
}

// A checkpoint, its sampler and its requests. The sampler's phases are kNone -> kLoading -> kReady
// -> kLeaving -> kNone. A sampler that ends by itself returns to kNone from any phase.
struct ModelPool::Model {
  enum class Phase { kNone, kLoading, kReady, kLeaving };
  struct Running {
    std::shared_ptr<TextRequest> request;
    size_t index = 0;
  };

  SharedFacts facts;
  std::string name;
  uint64_t memory_bytes = 0;
  Phase phase = Phase::kNone;
  std::unique_ptr<SamplerProcess> process;
  FairQueue queue;
  std::map<uint64_t, Running> running;  // by text number
  int64_t streams = 0;
  bool prepared = false;  // load it even if no request waits
  bool yields = false;    // takes no new texts; stops when the running ones are done
  uint64_t last_use = 0;
  Time phase_since;
  Time last_heard;
  Time waits_since;  // when it began to wait for memory
  bool waits_for_room = false;
  int failures = 0;  // failed loads in a row
  Time not_before;   // the sampler is not started again before this time
  Status problem;    // why the last start failed; OK if it did not

  bool wanted() const { return prepared || !queue.empty(); }
  bool idle() const { return phase == Phase::kReady && queue.empty() && running.empty(); }
  bool failed() const {
    return phase == Phase::kNone && !problem.ok() && std::chrono::steady_clock::now() < not_before;
  }
  void Enter(Phase next) {
    phase = next;
    phase_since = std::chrono::steady_clock::now();
  }
};

ModelPool::ModelPool(http::EventLoop& loop, ModelPoolOptions options)
    : loop_(loop), options_(std::move(options)) {
  tick_ = loop_.Every(options_.tick, [this] { Tick(); });
}

ModelPool::~ModelPool() = default;

ModelPool::Model* ModelPool::Find(const std::string& directory) const {
  const auto found = models_.find(directory);
  return found == models_.end() ? nullptr : found->second.get();
}

ModelPool::Model& ModelPool::ModelOf(const SharedFacts& facts, const std::string& name) {
  auto& model = models_[facts->directory];
  if (!model) model = std::make_unique<Model>();
  model->facts = facts;
  model->name = name;
  return *model;
}

StatusOr<uint64_t> ModelPool::MemoryOf(const CheckpointFacts& facts) const {
  ASSIGN_OR_RETURN(const uint64_t bytes, options_.memory_bytes(facts));
  if (bytes <= options_.memory_bytes_max) return bytes;
  return ResourceExhausted(
      "it needs {:.2f} GiB, but all samplers together may use {:.2f} GiB (sampler.memory_limit)",
      Gibibytes(bytes), Gibibytes(options_.memory_bytes_max));
}

std::optional<http::ApiError> ModelPool::Submit(const SharedFacts& facts, const std::string& name,
                                                const std::shared_ptr<TextRequest>& request) {
  const auto memory_bytes = MemoryOf(*facts);
  if (!memory_bytes.ok()) {
    return http::ApiError{
        .status = 503,
        .message = fmt::format("{} cannot be loaded: {}", name, Message(memory_bytes.status())),
        .code = "no_memory"};
  }
  Model& model = ModelOf(facts, name);
  if (model.failed()) {
    return http::ApiError{
        .status = model.problem.code() == StatusCode::kDataLoss ? 500 : 503,
        .message = fmt::format("{} cannot be loaded: {}", name, Message(model.problem)),
        .code = "model_failed",
        .retry_after = SecondsUntil(model.not_before)};
  }
  // A client may have at most as many waiting requests as there are free places, so that one client
  // cannot fill the queue.
  const size_t waiting = model.queue.requests();
  const size_t own = model.queue.requests_of(request->asker);
  if (waiting >= options_.requests_waiting_max || own >= options_.requests_waiting_max - waiting) {
    return http::ApiError{
        .status = 429,
        .message = fmt::format(
            "{} requests already wait for {}, {} of them from this client; try again later",
            waiting, name, own),
        .code = "queue_full",
        .retry_after = 1};
  }
  model.memory_bytes = *memory_bytes;
  model.last_use = ++uses_;
  request->ticket = ++next_ticket_;
  request->unfinished = request->count;
  request->deadline = loop_.After(options_.request_timeout,
                                  [this, ticket = request->ticket, directory = facts->directory] {
                                    Expire(ticket, directory);
                                  });
  tickets_[request->ticket] = facts->directory;
  model.queue.Push(request);
  if (model.phase == Model::Phase::kReady) {
    Pump(model);
  } else {
    Balance();
  }
  return std::nullopt;
}

void ModelPool::Withdraw(uint64_t ticket) {
  const auto found = tickets_.find(ticket);
  if (found == tickets_.end()) return;
  Model* model = Find(found->second);
  tickets_.erase(found);
  if (model == nullptr) return;
  model->queue.Remove(ticket);
  for (auto running = model->running.begin(); running != model->running.end();) {
    if (running->second.request->ticket != ticket) {
      ++running;
      continue;
    }
    if (model->process) model->process->Send(link::Withdraw{.request = running->first});
    running = model->running.erase(running);
  }
  Pump(*model);
}

void ModelPool::Expire(uint64_t ticket, const std::string& directory) {
  const Model* model = Find(directory);
  if (model == nullptr) return;
  std::shared_ptr<TextRequest> late;
  for (const auto& [number, running] : model->running) {
    if (running.request->ticket == ticket) late = running.request;
  }
  if (!late) late = model->queue.Find(ticket);
  Withdraw(ticket);
  const double seconds = std::chrono::duration<double>(options_.request_timeout).count();
  if (late) {
    late->failed({.status = 504,
                  .message = fmt::format("the text was not finished within {:.4g} s", seconds),
                  .code = "timeout"});
  }
}

std::string ModelPool::Route(const std::string& alias, const std::string& newest) {
  const auto now = std::chrono::steady_clock::now();
  Alias& known = aliases_[alias];
  if (known.awaited != newest) {
    known.awaited = newest;
    known.awaited_since = now;
  }
  const Model* present = Find(known.answering);
  const Model* next = Find(newest);
  const bool can_answer =
      present != nullptr && present->phase == Model::Phase::kReady && !present->yields;
  if (!can_answer || known.answering == newest) return known.answering = newest;
  if (next != nullptr && next->phase == Model::Phase::kReady) return known.answering = newest;
  if (next != nullptr && (next->phase == Model::Phase::kLoading || next->failed())) {
    return known.answering;
  }
  // The newest checkpoint is not loading yet: it was found just now, or it waits for the older one
  // to become idle and free its memory. Keep the older one for a short time only, so that it can
  // become idle.
  if (now - known.awaited_since < kSwapPatience) return known.answering;
  return known.answering = newest;
}

std::optional<std::string> ModelPool::Answering(const std::string& alias) const {
  const auto found = aliases_.find(alias);
  if (found == aliases_.end()) return std::nullopt;
  const Model* model = Find(found->second.answering);
  if (model == nullptr || model->phase != Model::Phase::kReady) return std::nullopt;
  return found->second.answering;
}

std::vector<std::string> ModelPool::Loaded() const {
  std::vector<std::string> directories;
  for (const auto& [directory, model] : models_) {
    if (model->phase != Model::Phase::kNone) directories.push_back(directory);
  }
  return directories;
}

bool ModelPool::Prepare(const SharedFacts& facts, const std::string& name) {
  const auto memory_bytes = MemoryOf(*facts);
  if (!memory_bytes.ok()) return false;
  Model& model = ModelOf(facts, name);
  if (model.phase != Model::Phase::kNone) return true;
  if (model.failed()) return false;
  model.memory_bytes = *memory_bytes;
  model.prepared = true;
  model.last_use = ++uses_;
  Balance();
  return model.phase == Model::Phase::kLoading;
}

uint64_t ModelPool::Used() const {
  uint64_t bytes = 0;
  for (const auto& [directory, model] : models_) {
    if (model->phase != Model::Phase::kNone) bytes += model->memory_bytes;
  }
  return bytes;
}

void ModelPool::Balance() {
  const auto now = std::chrono::steady_clock::now();
  for (const auto& [directory, model] : models_) {
    if (model->phase != Model::Phase::kNone || !model->wanted() || now < model->not_before)
      continue;
    if (MakeRoom(model->memory_bytes, *model)) {
      Begin(*model);
    } else if (!std::exchange(model->waits_for_room, true)) {
      model->waits_since = now;
    }
  }
}

// Returns whether `bytes` fit now. If not, stops idle samplers, and busy ones after yield_after;
// the caller tries again when they have ended, because their memory is in use until then.
bool ModelPool::MakeRoom(uint64_t bytes, const Model& wanted) {
  uint64_t used = Used();
  if (used + bytes <= options_.memory_bytes_max) return true;
  std::vector<Model*> idle;
  std::vector<Model*> busy;
  for (const auto& [directory, model] : models_) {
    if (model->phase == Model::Phase::kLeaving) used -= model->memory_bytes;
    if (model->idle()) idle.push_back(model.get());
    if (model->phase == Model::Phase::kReady && !model->idle()) busy.push_back(model.get());
  }
  const auto by_use = [](const Model* a, const Model* b) { return a->last_use < b->last_use; };
  std::sort(idle.begin(), idle.end(), by_use);
  std::sort(busy.begin(), busy.end(), by_use);
  for (Model* model : idle) {
    if (used + bytes <= options_.memory_bytes_max) return false;
    LogInfo("stopping a sampler", {{"model", model->name}, {"for", wanted.name}});
    model->Enter(Model::Phase::kLeaving);
    model->process->Stop();
    used -= model->memory_bytes;
  }
  const bool patient = !wanted.waits_for_room || wanted.queue.empty() ||
                       std::chrono::steady_clock::now() - wanted.waits_since < options_.yield_after;
  for (Model* model : busy) {
    if (patient || used + bytes <= options_.memory_bytes_max) break;
    model->yields = true;
    used -= model->memory_bytes;
  }
  return false;
}

void ModelPool::Begin(Model& model) {
  const std::string directory = model.facts->directory;
  const link::OpenModel open{.directory = directory,
                             .precision = options_.precision,
                             .threads = options_.threads,
                             .streams = options_.streams,
                             .memory_bytes = model.memory_bytes};
  SamplerEvents events;
  events.ready = [this, &model](const link::ModelReady& ready) {
    LogInfo("model ready", {{"model", model.name},
                            {"streams", ready.streams},
                            {"precision", ready.precision},
                            {"device", ready.device},
                            {"memory_bytes", ready.memory_bytes}});
    if (model.phase != Model::Phase::kLoading) return;
    model.Enter(Model::Phase::kReady);
    model.streams = std::max<int64_t>(1, ready.streams);
    model.prepared = false;
    model.failures = 0;
    model.problem = OkStatus();
    Pump(model);
  };
  events.sent = [this, &model] { Pump(model); };
  events.piece = [this, &model](link::TextPiece piece) { OnPiece(model, std::move(piece)); };
  events.ended = [this, directory](const Status& status) { OnEnded(directory, status); };
  model.waits_for_room = false;
  model.Enter(Model::Phase::kLoading);
  auto process = SamplerProcess::Start(loop_, options_.command, open, std::move(events));
  if (!process.ok()) {
    loop_.Post([this, directory, status = process.status()] { OnEnded(directory, status); });
    return;
  }
  model.process = *std::move(process);
  LogInfo("sampler started", {{"model", model.name}, {"pid", model.process->pid()}});
}

void ModelPool::Pump(Model& model) {
  if (model.phase != Model::Phase::kReady) return;
  if (model.yields && model.running.empty()) {
    model.yields = false;
    model.Enter(Model::Phase::kLeaving);
    model.process->Stop();
    return;
  }
  const auto room = static_cast<size_t>(model.streams + kTextsAhead);
  while (!model.yields && model.running.size() < room &&
         model.process->unsent_bytes() < kUnsentBytesMax) {
    const auto next = model.queue.Pop();
    if (!next) break;
    Write(model, *next);
  }
}

void ModelPool::Write(Model& model, const FairQueue::Waiting& next) {
  if (model.running.empty()) model.last_heard = std::chrono::steady_clock::now();
  link::Generate text = next.request->text(next.index);
  text.request = ++next_text_;
  model.last_use = ++uses_;
  if (model.process->Send(text)) {
    model.running[text.request] = {next.request, next.index};
    return;
  }
  loop_.Post([this, request = next.request] {
    Fail(request, {.status = 400,
                   .message = "the request has too many bytes for the sampler; send shorter stop "
                              "strings or fewer logit_bias entries",
                   .code = "invalid_value"});
  });
}

void ModelPool::OnPiece(Model& model, link::TextPiece piece) {
  model.last_heard = std::chrono::steady_clock::now();
  const auto found = model.running.find(piece.request);
  if (found == model.running.end()) return;  // the text was withdrawn
  const Model::Running running = found->second;
  if (piece.error) {
    const http::ApiError error{.status = 500, .message = *piece.error, .code = "sampler_error"};
    model.running.erase(found);
    Fail(running.request, error);
    return Pump(model);
  }
  if (piece.finish) {
    model.running.erase(found);
    if (--running.request->unfinished == 0) {
      tickets_.erase(running.request->ticket);
      running.request->deadline.reset();
    }
  }
  const bool last = piece.finish.has_value();
  running.request->piece(running.index, std::move(piece));
  if (last) Pump(model);
}

void ModelPool::OnEnded(const std::string& directory, const Status& status) {
  Model& model = *Find(directory);
  const Model::Phase phase = model.phase;
  model.process.reset();
  model.Enter(Model::Phase::kNone);
  if (phase == Model::Phase::kLeaving) return Balance();
  const bool was_ready = phase == Model::Phase::kReady;
  ++restarts_;
  ++model.failures;
  model.prepared = false;
  model.problem = status;
  model.not_before =
      std::chrono::steady_clock::now() + BackoffCeiling(options_.restart, model.failures - 1);
  LogWarning("sampler ended", {{"model", model.name},
                               {"running", model.running.size()},
                               {"waiting", model.queue.requests()},
                               {"failures", model.failures},
                               {"reason", Message(status)}});
  FailRunning(model,
              {.status = 503,
               .message = fmt::format("the sampler of {} ended while it generated the text: {}",
                                      model.name, Message(status)),
               .code = "sampler_ended",
               .retry_after = 1});
  const bool damaged = status.code() == StatusCode::kDataLoss;
  const bool absent =
      status.code() == StatusCode::kNotFound || status.code() == StatusCode::kPermissionDenied;
  if (was_ready) {
    model.problem = OkStatus();
  } else if (damaged || absent || model.failures >= kLoadsMax) {
    FailWaiting(model,
                {.status = damaged ? 500 : 503,
                 .message = fmt::format("{} cannot be loaded: {}", model.name, Message(status)),
                 .code = "model_failed",
                 .retry_after = SecondsUntil(model.not_before)});
  } else {
    model.problem = OkStatus();  // requests that still wait cause another load
  }
}

void ModelPool::FailRunning(Model& model, const http::ApiError& error) {
  const auto running = std::exchange(model.running, {});
  for (const auto& [number, text] : running) Fail(text.request, error);
}

void ModelPool::FailWaiting(Model& model, const http::ApiError& error) {
  for (const auto& request : model.queue.Clear()) Fail(request, error);
}

// Withdraws all texts of the request and reports the error. Does nothing if the request has ended,
// so that `failed` is called at most once.
void ModelPool::Fail(const std::shared_ptr<TextRequest>& request, const http::ApiError& error) {
  if (!tickets_.contains(request->ticket)) return;
  Withdraw(request->ticket);
  request->failed(error);
}

void ModelPool::Tick() {
  const auto now = std::chrono::steady_clock::now();
  for (const auto& [directory, model] : models_) {
    const bool loads = model->phase == Model::Phase::kLoading;
    if (loads && now - model->phase_since > options_.start_timeout && model->process) {
      model->process->Kill("the sampler did not become ready in time");
    }
    const bool writes = model->phase == Model::Phase::kReady && !model->running.empty();
    if (writes && now - model->last_heard > options_.stall_timeout) {
      model->process->Kill("the sampler hung and was killed");
    }
  }
  Balance();
  for (const auto& [directory, model] : models_) {
    if (model->yields) Pump(*model);
  }
  std::erase_if(models_, [&](const auto& entry) {
    const Model& model = *entry.second;
    const bool failed_lately = model.failures > 0 && now - model.not_before < kFailureCooldown;
    return model.phase == Model::Phase::kNone && !model.wanted() && !failed_lately;
  });
}

ModelState ModelPool::StateOf(const std::string& directory) const {
  const Model* model = Find(directory);
  if (model == nullptr) return ModelState::kIdle;
  if (model->failed()) return ModelState::kFailed;
  if (model->phase == Model::Phase::kReady) return ModelState::kReady;
  return model->phase == Model::Phase::kLoading || model->wanted() ? ModelState::kLoading
                                                                   : ModelState::kIdle;
}

std::map<std::string, ModelState> ModelPool::States() const {
  std::map<std::string, ModelState> states;
  for (const auto& [directory, model] : models_) {
    const ModelState state = StateOf(directory);
    if (state != ModelState::kIdle) states.emplace(directory, state);
  }
  return states;
}

std::string ModelPool::ProblemOf(const std::string& directory) const {
  const Model* model = Find(directory);
  return model == nullptr ? "" : Message(model->problem);
}

PoolCounts ModelPool::Counts() const {
  PoolCounts counts{.restarts = restarts_};
  for (const auto& [directory, model] : models_) {
    if (model->phase == Model::Phase::kReady) ++counts.loaded;
    if (model->phase == Model::Phase::kLoading) ++counts.loading;
    counts.texts_running += static_cast<int64_t>(model->running.size());
    counts.requests_waiting += static_cast<int64_t>(model->queue.requests());
  }
  counts.memory_bytes = Used();
  return counts;
}

void ModelPool::FailAll(const http::ApiError& error) {
  for (const auto& [directory, model] : models_) {
    FailWaiting(*model, error);
    std::vector<std::shared_ptr<TextRequest>> requests;
    for (const auto& [number, text] : model->running) requests.push_back(text.request);
    for (const auto& request : requests) Fail(request, error);
  }
}

}  // namespace gp::gateway
