// Smoothing and thinning of curves. Pure functions; thread-safe.
#pragma once

#include <cstddef>
#include <vector>

#include "client/gpctl/plot/chart.h"

namespace gp::gpctl {

// Each value becomes the mean of the `window` values around it, fewer at the ends, where the window
// stays symmetric. Values that are not finite stay as they are, and the means ignore them.
std::vector<double> Smoothed(const std::vector<double>& values, int window);

// At most about `points_max` points of the curve: its ends, and of each stretch between them the
// lowest and the highest value, and the first and last that is not finite.
Curve Thinned(Curve curve, size_t points_max);

}  // namespace gp::gpctl
