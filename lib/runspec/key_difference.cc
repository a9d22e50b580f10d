#include "runspec/key_difference.h"

#include "runspec/schema.h"

namespace gp::runspec {

std::vector<KeyDifference> DifferingKeys(const RunSpec& before, const RunSpec& after) {
  std::vector<KeyDifference> differences;
  for (const RunField& field : Schema()) {
    if (field.path == "name" || field.path == "preset") continue;
    KeyDifference one{field.path, FormatValue(field, before), FormatValue(field, after)};
    if (one.before != one.after) differences.push_back(std::move(one));
  }
  return differences;
}

}  // namespace gp::runspec
