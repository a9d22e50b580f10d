// Places of labels that name lines at their ends. Pure functions; thread-safe.
#pragma once

#include <vector>

namespace gp::gpctl {

// Moves the places, in any order, so that any two are at least `distance` apart and all are between
// `top` and `bottom`; each stays as near to where it was as the others allow. If there is not
// enough room, they are spread evenly and closer together.
std::vector<double> SpreadPlaces(std::vector<double> places, double distance, double top,
                                 double bottom);

}  // namespace gp::gpctl
