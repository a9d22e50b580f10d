#include "client/gateway/models/model_service.h"

#include <utility>

namespace gp::gateway {
namespace {

http::ApiError UnreadableModel(const std::string& name, const Status& status) {
  http::ApiError error{.status = 500,
                       .message = fmt::format("{} cannot be read: {}", name, Message(status)),
                       .code = "model_failed"};
  if (status.code() == StatusCode::kNotFound) {  // deleted since the name was resolved
    error.status = 404;
    error.param = "model";
    error.code = "model_not_found";
  } else if (status.code() == StatusCode::kUnavailable) {
    error.status = 503;
    error.retry_after = 1;
  }
  return error;
}

}  // namespace

http::ApiError NoSuchModel(const Status& why) {
  if (why.code() == StatusCode::kUnavailable) {
    return {.status = 503, .message = Message(why), .code = "models_unknown", .retry_after = 1};
  }
  return {.status = 404, .message = Message(why), .param = "model", .code = "model_not_found"};
}

ModelService::ModelService(http::EventLoop& loop, http::OffloadPool& work,
                           ModelServiceOptions options)
    : loop_(loop),
      work_(work),
      directories_(std::move(options.directories)),
      patience_(options.patience),
      explain_(std::move(options.explain)),
      shelf_(work),
      pool_(loop, std::move(options.pool)),
      scanned_(directories_.empty()),
      has_runs_(!options.has_coordinator) {
  catalogue_.OnChange([this] { OnChange(); });
  // Reserve the directories' names before their first scan, so that no run gets one of them.
  std::vector<ServedRun> unread;
  for (const NamedDirectory& named : directories_) unread.push_back({.name = named.name});
  catalogue_.UpdateDirectories(std::move(unread));
  if (directories_.empty()) return;
  Scan();
  scan_timer_ = loop.Every(options.scan_period, [this] { Scan(); });
}

void ModelService::UpdateRuns(std::vector<ServedRun> runs, bool complete) {
  has_runs_ = has_runs_ || complete;
  catalogue_.UpdateRuns(std::move(runs), complete);
  RunWaiting(/*late=*/false);
}

Status ModelService::AllKnown() const {
  if (!scanned_) {
    return Unavailable("the directories of models are still being read; try again in a second");
  }
  if (!has_runs_) {
    return Unavailable(
        "the coordinator has not listed its runs yet, so their models are not known; try again in "
        "a second");
  }
  return OkStatus();
}

StatusOr<NamedModel> ModelService::Find(const std::string& id) const {
  StatusOr<NamedModel> found = catalogue_.Find(id);
  if (!found.ok() || id.empty()) RETURN_IF_ERROR(AllKnown());
  return found;
}

void ModelService::Refuse(const std::string& id, const Status& why,
                          std::function<void(const http::ApiError&)> then) const {
  const std::string root = id.substr(0, id.rfind('@'));
  const bool is_explained = root.empty() || catalogue_.Find(root).ok();
  if (why.code() != StatusCode::kNotFound || !explain_ || is_explained) {
    return then(NoSuchModel(why));
  }
  explain_(root, [why, then = std::move(then)](const Status& because) {
    then(NoSuchModel(because.ok() ? why : because));
  });
}

bool ModelService::IsKnown(const std::string& id) const {
  return AllKnown().ok() || (!id.empty() && catalogue_.Find(id).ok());
}

void ModelService::WhenKnown(const std::string& id, std::function<void()> call) {
  if (IsKnown(id)) return call();
  waiting_.push_back({id, std::move(call)});
  if (patience_timer_) return;
  patience_timer_ = loop_.After(patience_, [this] { RunWaiting(/*late=*/true); });
}

void ModelService::RunWaiting(bool late) {
  std::vector<Waiting> ready;
  std::erase_if(waiting_, [&](Waiting& waiting) {
    if (!late && !IsKnown(waiting.id)) return false;
    ready.push_back(std::move(waiting));
    return true;
  });
  if (waiting_.empty()) patience_timer_.reset();
  for (const Waiting& waiting : ready) waiting.call();
}

void ModelService::Scan() {
  if (scanning_) return;
  auto found = std::make_shared<std::vector<ServedRun>>();
  const auto work = [found, directories = directories_] {
    for (const NamedDirectory& named : directories) found->push_back(ScanDirectory(named));
  };
  const auto done = [this, found] {
    scanning_ = false;
    scanned_ = true;
    catalogue_.UpdateDirectories(std::move(*found));
    RunWaiting(/*late=*/false);
  };
  scanning_ = work_.Submit(work, done);
}

// Forgets the facts of deleted checkpoints, unless a sampler still answers from them, and loads
// models in advance.
void ModelService::OnChange() {
  const std::vector<NamedModel> all = catalogue_.List();
  std::vector<std::string> directories = pool_.Loaded();
  for (const NamedModel& named : all) directories.push_back(named.checkpoint.directory);
  shelf_.Retain(directories);
  for (const NamedModel& named : all) {
    const std::string directory = named.checkpoint.directory;
    const auto answering = named.moves ? pool_.Answering(named.id) : std::nullopt;
    const bool swaps = answering && *answering != directory;
    shelf_.Want(directory, [this, swaps, name = named.resolved](const auto& facts) {
      if (facts.ok() && swaps) pool_.Prepare(*facts, name);
    });
  }
}

void ModelService::Resolve(const std::string& id, Done done) {
  WhenKnown(id, [this, id, done = std::move(done)] { ResolveNow(id, done); });
}

void ModelService::ResolveNow(const std::string& id, Done done) {
  const auto found = Find(id);
  if (!found.ok()) return Refuse(id, found.status(), std::move(done));
  const std::string newest = found->checkpoint.directory;
  // All moving names of a run's newest checkpoint share one route, and so do those of its best one.
  const std::string alias = found->root + (found->kind == NameKind::kBest ? "@best" : "");
  const std::string directory = found->moves ? pool_.Route(alias, newest) : newest;
  shelf_.Want(directory, [done = std::move(done), root = found->root,
                          name = found->resolved](const StatusOr<SharedFacts>& facts) {
    if (!facts.ok()) return done(UnreadableModel(name, facts.status()));
    done(ResolvedModel{*facts, fmt::format("{}@{}", root, (*facts)->manifest.step)});
  });
}

}  // namespace gp::gateway
