// Points of a run as CSV (RFC 4180, with \n). Pure functions; thread-safe.
#pragma once

#include <string>
#include <vector>

#include "gp/v1/run.pb.h"

namespace gp::gpctl {

// The scores that the run has, and those that its run file makes it record later, in order of their
// names: the title line of a run that is followed has a column for each.
std::vector<std::string> ScoreColumns(const v1::Run& run);

// The line of titles: the keys of `gpctl metrics -o json`, a column phase_NAME for each phase of a
// step, `time`, and the scores.
std::string MetricsCsvTitles(const std::vector<std::string>& scores);

// One point. A value that the point lacks, or that is unknown, is empty; a number that is not
// finite is nan, inf or -inf.
std::string MetricsCsvLine(const v1::MetricPoint& point, const std::vector<std::string>& scores);

}  // namespace gp::gpctl
