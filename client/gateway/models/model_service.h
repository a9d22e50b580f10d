// ModelService: names of models, what was read of their checkpoints, and the samplers. It keeps the
// catalogue fresh, and loads a newer checkpoint of a name that is in use before anybody asks for
// it. Until the directories have been read and the checkpoints of all the coordinator's runs are
// known, requests for unknown names wait, at most `patience`. During this time run names count as
// unknown, because a newer run may have the name; run ids are known as soon as they are listed.
// Used in the loop.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "client/gateway/models/catalogue.h"
#include "client/gateway/models/checkpoint_facts.h"
#include "client/gateway/models/directory_scan.h"
#include "client/gateway/models/model_pool.h"
#include "http/event_loop.h"
#include "http/offload_pool.h"

namespace gp::gateway {

// A model that a request can be answered from.
struct ResolvedModel {
  SharedFacts facts;
  std::string name;  // "demo@2000"
};

struct ModelServiceOptions {
  ModelPoolOptions pool;
  std::vector<NamedDirectory> directories;
  std::chrono::nanoseconds scan_period = std::chrono::seconds(2);  // between two scans of them
  bool has_coordinator = false;  // its runs are models; UpdateRuns will be called
  // Explains why the run with the name or id `name` is not a model: NotFound, or Unavailable if it
  // will be one soon. OK: there is no such run. Unset: the coordinator is not asked.
  using Explained = std::function<void(const Status& why)>;
  std::function<void(const std::string& name, Explained then)> explain;
  // How long requests wait for names that are not known yet, counted from the first one that waits.
  std::chrono::nanoseconds patience = std::chrono::seconds(5);
};

// 503 for Unavailable (not all names are known yet), else 404: `why` is a status of Find or of
// `explain`.
http::ApiError NoSuchModel(const Status& why);

class ModelService {
 public:
  ModelService(http::EventLoop& loop, http::OffloadPool& work, ModelServiceOptions options);

  // Replaces the coordinator's runs. Not `complete`: some are missing, and another call follows.
  void UpdateRuns(std::vector<ServedRun> runs, bool complete);

  // OK when every name is known. Unavailable, with the reason, until the directories have been read
  // and the coordinator's runs were complete once; names that are known already are served
  // meanwhile.
  Status AllKnown() const;
  // Finds the model in the catalogue. Until all names are known, returns Unavailable instead of
  // NotFound, and for an empty `id`.
  StatusOr<NamedModel> Find(const std::string& id) const;
  // Calls `then`, now or later, with the error for a name for which Find returned `why`.
  // Distinguishes runs that exist but are not served from unknown names.
  void Refuse(const std::string& id, const Status& why,
              std::function<void(const http::ApiError&)> then) const;
  // Runs `call`, now or later, when all names are known, or `id` is, or after options.patience. An
  // empty `id` waits for all names: only then is the newest checkpoint known.
  void WhenKnown(const std::string& id, std::function<void()> call);

  // Finds the checkpoint that `id` means (for a moving name: ModelPool::Route) and reads its facts
  // if needed. Calls back, at once or later.
  using Done = std::function<void(const std::variant<ResolvedModel, http::ApiError>&)>;
  void Resolve(const std::string& id, Done done);

  const Catalogue& catalogue() const { return catalogue_; }
  ModelPool& pool() { return pool_; }
  const CheckpointShelf& shelf() const { return shelf_; }

 private:
  struct Waiting {
    std::string id;
    std::function<void()> call;
  };

  void Scan();
  void OnChange();
  void ResolveNow(const std::string& id, Done done);
  bool IsKnown(const std::string& id) const;
  // Runs the calls whose names are known now; all of them when `late`.
  void RunWaiting(bool late);

  http::EventLoop& loop_;
  http::OffloadPool& work_;
  const std::vector<NamedDirectory> directories_;
  const std::chrono::nanoseconds patience_;
  const std::function<void(const std::string&, ModelServiceOptions::Explained)> explain_;
  Catalogue catalogue_;
  CheckpointShelf shelf_;
  ModelPool pool_;
  bool scanning_ = false;
  bool scanned_;   // the directories have been read once
  bool has_runs_;  // true once the coordinator's runs were complete, or if there is no coordinator
  std::vector<Waiting> waiting_;
  std::unique_ptr<http::Timer> patience_timer_;  // set while waiting_ is not empty
  std::unique_ptr<http::Timer> scan_timer_;
};

}  // namespace gp::gateway
