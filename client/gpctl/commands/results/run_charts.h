// Charts of the recorded curves of runs. Used by the command's thread.
#pragma once

#include <string>
#include <vector>

#include "client/gpctl/plot/chart.h"
#include "client/gpctl/session/named_runs.h"

namespace gp::gpctl {

struct ChartRequest {
  AxisKind x = AxisKind::kSteps;
  std::vector<std::vector<std::string>> panels;  // the fields of each panel
  int smooth = 1;      // steps of the moving mean; 1: none. Evaluations are not smoothed
  bool log = false;    // the y axes
  int points_max = 0;  // about as many points of each curve
};

struct RunCharts {
  std::vector<Chart> panels;       // at least one, all with the same x axis
  std::vector<std::string> notes;  // what is not drawn, and why
};

// The most fields of a panel whose curves can be told apart, by color and stroke.
size_t FieldsMax(size_t runs);

// "loss+val_loss,lr" as [[loss, val_loss], [lr]]. InvalidArgument for an unknown or an empty field,
// and for more than FieldsMax() in a panel.
StatusOr<std::vector<std::vector<std::string>>> ParsePanels(const std::vector<std::string>& words,
                                                            const std::vector<NamedRun>& runs);

// FailedPrecondition if no run has points to draw, with the reason.
StatusOr<RunCharts> FetchCharts(const std::vector<NamedRun>& runs, const ChartRequest& request,
                                Session& session);

// Whether points of the field come from evaluations, not from every step.
bool IsEvaluated(const std::string& field);

}  // namespace gp::gpctl
