#include "client/api/student_quantile.h"

#include <utility>

namespace gp::client {

double StudentQuantile(int64_t degrees_of_freedom) {
  static constexpr std::pair<int64_t, double> kQuantiles[] = {
      {1, 12.71},  {2, 4.303},  {3, 3.182}, {4, 2.776},  {5, 2.571},   {6, 2.447},
      {7, 2.365},  {8, 2.306},  {9, 2.262}, {10, 2.228}, {12, 2.179},  {15, 2.131},
      {20, 2.086}, {30, 2.042}, {60, 2.0},  {120, 1.98}, {1000, 1.962}};
  double quantile = kQuantiles[0].second;
  for (const auto& [degrees, value] : kQuantiles) {
    if (degrees_of_freedom >= degrees) quantile = value;
  }
  return quantile;
}

}  // namespace gp::client
