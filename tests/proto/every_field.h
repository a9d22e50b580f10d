// What tests of converters need: a protobuf message in which every field has a value of its own,
// and the fields that a message leaves out. Both walk the descriptor, so a field that is added
// later is in them. Pure functions.
#pragma once

#include <google/protobuf/message.h>

#include <string>
#include <vector>

namespace gp::testing {

// Sets every field, those of nested messages too, to a value that occurs once; repeated fields and
// maps get two elements. Of a oneof the last field is set. Times are whole microseconds.
void SetEveryField(google::protobuf::Message& message);

// "progress.phases.other": the fields that have no value or the default one, by name in the order
// of the descriptor. A repeated field counts as set when it has elements, and so does each of them
// by itself.
std::vector<std::string> UnsetFields(const google::protobuf::Message& message);

}  // namespace gp::testing
