#include "client/gateway/models/model_service.h"

#include <utility>

namespace gp::gateway {
namespace {

http::ApiError UnreadableModel(const std::string& name, const Status& status) {
  http::ApiError error{.status = 500,
                       .message = fmt::format("{} cannot be read: {}", name, Message(status)),
                       .code = "model_failed"};
  if (status.code() == StatusCode::kNotFound) {  // deleted a moment ago
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

ModelService::ModelService(http::EventLoop& loop, http::WorkPool& work, ModelPoolOptions options,
                           std::vector<NamedDirectory> directories,
                           std::chrono::nanoseconds scan_period)
    : work_(work),
      directories_(std::move(directories)),
      shelf_(work),
      pool_(loop, std::move(options)),
      scanned_(directories_.empty()) {
  catalogue_.OnChange([this] { OnChange(); });
  if (directories_.empty()) return;
  Scan();
  scan_timer_ = loop.Every(scan_period, [this] { Scan(); });
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
  };
  scanning_ = work_.Submit(work, done);
}

// Forgets the facts of checkpoints that are gone, unless a sampler still answers from them, and
// loads what will be asked for.
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
  const auto found = catalogue_.Find(id);
  if (!found.ok()) {
    return done(http::ApiError{.status = 404,
                               .message = Message(found.status()),
                               .param = "model",
                               .code = "model_not_found"});
  }
  const std::string newest = found->checkpoint.directory;
  // All names of what moves share one way to it.
  const std::string alias = found->root + (found->kind == NameKind::kBest ? "@best" : "");
  const std::string directory = found->moves ? pool_.Route(alias, newest) : newest;
  shelf_.Want(directory, [done = std::move(done), root = found->root,
                          name = found->resolved](const StatusOr<SharedFacts>& facts) {
    if (!facts.ok()) return done(UnreadableModel(name, facts.status()));
    done(ResolvedModel{*facts, fmt::format("{}@{}", root, (*facts)->manifest.step)});
  });
}

}  // namespace gp::gateway
