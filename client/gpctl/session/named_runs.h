// The runs that a command about several runs names, and their recorded curves. Used by the
// command's thread.
#pragma once

#include <string>
#include <vector>

#include "client/gpctl/session/session.h"

namespace gp::gpctl {

struct NamedRun {
  v1::Run run;
  std::string label;  // its name; with its id when another one of the runs has the same name
};

// In the order of the references. A run that is named twice is found once, with a warning. NotFound
// for an unknown run.
StatusOr<std::vector<NamedRun>> FindRuns(const std::vector<std::string>& references,
                                         Session& session);

// What a curve can show: the measurements of a step, then the scores of these runs.
std::vector<std::string> CurveFields(const std::vector<NamedRun>& runs);

// InvalidArgument, with the nearest field and all that there are, if `field` is none of these.
Status CheckField(const std::string& field, const std::vector<NamedRun>& runs);

// Why a run has no points: "tiny has no points yet: it has been running for 12s and has not
// finished a step". `now`: seconds since 1970.
std::string NoPointsText(const NamedRun& named, double now);

}  // namespace gp::gpctl
