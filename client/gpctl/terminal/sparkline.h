// Sparkline and ProgressBar: a series and a fraction as one line of text. Pure functions;
// thread-safe.
#pragma once

#include <string>
#include <vector>

namespace gp::gpctl {

// `values` squeezed into at most `cells` characters, oldest first; each cell is the mean of its
// values; the last cell is the newest value only. The scale runs from the smallest to the largest
// cell. The full block is not used: it fuses with the row above. A cell with a value that is not
// finite becomes "x". Empty for no values, or fewer than 2 cells.
std::string Sparkline(const std::vector<double>& values, int cells, bool utf8);

// "[███████████████▋                    ]" of `width` columns in all, in eighths of a cell;
// "[#######    ]" in ASCII. `fraction` is clamped to 0..1.
std::string ProgressBar(double fraction, int width, bool utf8);

}  // namespace gp::gpctl
