#include "client/api/parent_text.h"

#include <fmt/format.h>

namespace gp::client {

std::string ParentText(const v1::CheckpointOfRun& parent) {
  return fmt::format("{}@{}", parent.run_name().empty() ? parent.run_id() : parent.run_name(),
                     parent.step());
}

}  // namespace gp::client
