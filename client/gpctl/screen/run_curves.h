// Charts of a run's curves for a live screen. Pure functions; thread-safe.
#pragma once

#include <vector>

#include "client/gpctl/render/run_model.h"
#include "client/gpctl/render/run_text.h"
#include "client/gpctl/terminal/screen_line.h"

namespace gp::gpctl {

// Which steps are shown. kSettled leaves out the first 4 % of a long enough run, where the loss
// falls so far that later changes would look flat. The title says what is left out.
enum class CurveSpan { kSettled, kLastHalf, kLastTenth, kAll };

// The span that follows; after kAll comes kSettled.
CurveSpan NextSpan(CurveSpan span);

struct CurveStyle {
  TextStyle text;
  CurveSpan span = CurveSpan::kSettled;
};

// Each returns at most `rows` lines of at most `width` columns; none without points.

// Training loss, with a smoothed curve over the single steps if there are many, and validation
// loss.
std::vector<ScreenLine> LossChart(const RunCurves& curves, int width, int rows,
                                  const CurveStyle& style);
std::vector<ScreenLine> SpeedChart(const RunCurves& curves, int width, int rows,
                                   const CurveStyle& style);
std::vector<ScreenLine> GradientNormChart(const RunCurves& curves, int width, int rows,
                                          const CurveStyle& style);
std::vector<ScreenLine> LearningRateChart(const RunCurves& curves, int width, int rows,
                                          const CurveStyle& style);

}  // namespace gp::gpctl
