// RunList: one page of the runs that match a query. Unfinished runs come from the cluster, ended
// ones from the store's index (Store::ListEnded), so that a page does not visit all ended runs.
// Thread-safe.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "coordinator/service/run_cursor.h"
#include "coordinator/state/cluster.h"
#include "coordinator/store/store.h"

namespace gp::coordinator {

struct RunPage {
  std::vector<std::shared_ptr<const Run>> runs;
  std::string next_page_token;   // empty: this is the last page
  std::optional<int64_t> total;  // runs that matched at the first page, if counted
};

class RunList {
 public:
  // REQUIRES: the cluster is a published one, so everything in it is durable in the store. All
  // three outlive this object.
  RunList(const Cluster& cluster, Store& store, const RunQuery& query)
      : cluster_(cluster), store_(store), query_(query) {}

  // At most `limit` runs: the groups in order, newest submit first in each. `page_token`: of the
  // page before, or empty. InvalidArgument when it does not belong to this query, or is newer than
  // the cluster.
  StatusOr<RunPage> Page(const std::string& page_token, size_t limit) const;

 private:
  using Runs = std::vector<std::shared_ptr<const Run>>;

  StatusOr<RunCursor> Begin(const std::string& page_token) const;
  std::optional<int64_t> Count() const;
  bool Wants(RunGroup group) const;
  // The next runs of the cursor's group, `count` at most.
  StatusOr<Runs> Next(const RunCursor& cursor, size_t count) const;
  StatusOr<Runs> NextEnded(const RunCursor& cursor, size_t count) const;
  Runs NextLive(const RunCursor& cursor, size_t count) const;
  // The runs of the group that were live at the first page and have ended since.
  StatusOr<Runs> NextEndedSince(const RunCursor& cursor, size_t count) const;

  const Cluster& cluster_;
  Store& store_;
  const RunQuery& query_;
};

}  // namespace gp::coordinator
