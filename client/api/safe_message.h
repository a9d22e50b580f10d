// Cleans what a service sent before it is shown: a coordinator passes on names, reasons and log
// lines that users, agents and trainers wrote. Pure functions; thread-safe.
#pragma once

#include <google/protobuf/message.h>

namespace gp::client {

// Replaces characters that are unsafe to show (base/text/safe_text.h), and bytes that are not
// UTF-8, by U+FFFD in every string field of `message`, however deep. Line feeds and tabs stay,
// except in fields of one line: names, ids, kinds, actors, versions, devices, label keys.
void MakeSafeToShow(google::protobuf::Message& message);

}  // namespace gp::client
