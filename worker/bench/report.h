// The output of the benches with -o json: a document with apiVersion gp/v1 and a kind, to which
// fields are only added. Pure functions; thread-safe.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "worker/bench/sample_summary.h"

namespace gp::engine {

using Json = nlohmann::ordered_json;

// {"apiVersion": "gp/v1", "kind": kind}
Json MakeDocument(const std::string& kind);

// {"median": …, "quartile_1": …, "quartile_3": …}
Json ToJson(const SampleSummary& summary);

// Formats an object from ToJson: "812.3 (801.0 to 823.9)".
std::string SpreadText(const Json& summary, int decimals = 1);

// Prints the document to stdout, indented.
void PrintJson(const Json& document);

}  // namespace gp::engine
