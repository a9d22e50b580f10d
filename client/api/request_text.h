// Checks the texts of a request before it is sent. Protobuf sends only UTF-8: for anything else it
// writes a line to standard error, and the service says that the request cannot be parsed. Pure
// functions; thread-safe.
#pragma once

#include <google/protobuf/message.h>

#include "base/status.h"

namespace gp::client {

// InvalidArgument, with the name of the field, when a text of `request` is not UTF-8, however deep
// it is.
Status CheckTexts(const google::protobuf::Message& request);

}  // namespace gp::client
