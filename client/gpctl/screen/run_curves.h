// Charts of a run's curves for a live screen. Pure functions; thread-safe.
#pragma once

#include <vector>

#include "client/gpctl/render/run_model.h"
#include "client/gpctl/render/run_text.h"
#include "client/gpctl/terminal/screen_line.h"

namespace gp::gpctl {

// Training loss, smoothed above its single steps if there are many, and validation loss.
std::vector<ScreenLine> LossChart(const RunCurves& curves, int width, int rows,
                                  const TextStyle& style);
std::vector<ScreenLine> SpeedChart(const RunCurves& curves, int width, int rows,
                                   const TextStyle& style);
std::vector<ScreenLine> GradientNormChart(const RunCurves& curves, int width, int rows,
                                          const TextStyle& style);
std::vector<ScreenLine> LearningRateChart(const RunCurves& curves, int width, int rows,
                                          const TextStyle& style);

}  // namespace gp::gpctl
