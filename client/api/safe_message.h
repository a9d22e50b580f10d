// Cleans what a service sent before it is shown: a coordinator passes on names, reasons and log
// lines that users, agents and trainers wrote. Pure functions; thread-safe.
#pragma once

#include <google/protobuf/message.h>

namespace gp::client {

// Replaces in every text of `message`, however deep, what is unsafe to show (base/text/safe_text.h)
// by U+FFFD. Line feeds and tabs stay, but for names and ids, which are one line.
void MakeSafeToShow(google::protobuf::Message& message);

}  // namespace gp::client
