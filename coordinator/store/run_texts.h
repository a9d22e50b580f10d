// The run files of ended runs, which only the store holds. Thread-safe; reads the database.
#pragma once

#include <memory>

#include "base/status.h"
#include "coordinator/store/store.h"

namespace gp::coordinator {

// The run with the run files of all its legs; the same object if it has them already. DataLoss when
// the store lacks the record.
StatusOr<std::shared_ptr<const Run>> WithTexts(Store& store, std::shared_ptr<const Run> run);

}  // namespace gp::coordinator
