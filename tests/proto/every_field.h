// Helpers for tests of converters: fill a protobuf message so that every field has a distinct
// value, and list unset fields. Both walk the descriptor, so they also cover fields added later.
// Pure functions.
#pragma once

#include <google/protobuf/message.h>

#include <string>
#include <vector>

namespace gp::testing {

// Sets every field, including nested messages, to a unique value; repeated fields and maps get two
// elements. In a oneof the last field is set. Times are whole microseconds.
void SetEveryField(google::protobuf::Message& message);

// The paths of fields without a value or with the default value, such as "progress.phases.other",
// in the order of the descriptor. A repeated field counts as set if it has elements; its elements
// are checked too.
std::vector<std::string> UnsetFields(const google::protobuf::Message& message);

}  // namespace gp::testing
