// ModelService: everything about models behind one door: names, what was read of checkpoints, and
// the samplers. It keeps the catalogue fresh, and loads a newer checkpoint of a name that is in use
// before anybody asks for it. Used in the loop.
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
#include "http/work_pool.h"

namespace gp::gateway {

// A model that a request can be answered from.
struct ResolvedModel {
  SharedFacts facts;
  std::string name;  // "demo@2000"
};

class ModelService {
 public:
  ModelService(http::EventLoop& loop, http::WorkPool& work, ModelPoolOptions options,
               std::vector<NamedDirectory> directories, std::chrono::nanoseconds scan_period);

  // All runs that the coordinator knows now.
  void UpdateRuns(std::vector<ServedRun> runs) { catalogue_.UpdateRuns(std::move(runs)); }

  // Finds the checkpoint that `id` stands for and reads it unless it is known. Calls back, at once
  // or later.
  using Done = std::function<void(const std::variant<ResolvedModel, http::ApiError>&)>;
  void Resolve(const std::string& id, Done done);

  const Catalogue& catalogue() const { return catalogue_; }
  ModelPool& pool() { return pool_; }
  const CheckpointShelf& shelf() const { return shelf_; }
  // Whether the directories were looked at once.
  bool scanned() const { return scanned_; }

 private:
  void Scan();
  void OnChange();

  http::WorkPool& work_;
  const std::vector<NamedDirectory> directories_;
  Catalogue catalogue_;
  CheckpointShelf shelf_;
  ModelPool pool_;
  bool scanning_ = false;
  bool scanned_ = false;
  std::unique_ptr<http::Timer> scan_timer_;
};

}  // namespace gp::gateway
