// The documents that `-o json` prints. Every document carries apiVersion gp/v1 and a kind; numbers
// are numbers, times are RFC 3339 in UTC, absent values are left out. Later versions may add
// fields, but remove and rename none. Pure functions; thread-safe.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "gp/v1/run.pb.h"
#include "gp/v1/run_service.pb.h"

namespace gp::gpctl {

using Json = nlohmann::ordered_json;

// {"apiVersion": "gp/v1", "kind": kind}
Json Document(const std::string& kind);

// The fields of a noun, without apiVersion and kind.
Json RunFields(const v1::Run& run);
Json CheckpointFields(const v1::Checkpoint& checkpoint);
Json EventFields(const v1::RunEvent& event);
Json LogLineFields(const v1::LogLine& line);
// step, tokens, loss, lr, grad_norm, tokens_per_second, mfu, step_seconds, val_loss on evaluated
// steps, and more.
Json MetricFields(const v1::MetricPoint& point);
Json NodeFields(const v1::Node& node);

// A document of `kind` with these fields.
Json With(const std::string& kind, const Json& fields);

// One line for a stream, several indented ones for a single document. Bytes that are not UTF-8 are
// replaced.
std::string OneLine(const Json& json);
std::string Pretty(const Json& json);

}  // namespace gp::gpctl
