// Values of curves at a common place of their x axis, in steps, tokens or time. Pure functions;
// thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "client/gpctl/plot/axis.h"
#include "gp/v1/run_service.pb.h"

namespace gp::gpctl {

// The x of point `index`.
double PlaceOf(const v1::CurvePoints& curve, int index, AxisKind kind);

// The largest x that every curve reaches; nullopt if one has no points.
std::optional<double> CommonEnd(const std::vector<const v1::CurvePoints*>& curves, AxisKind kind);

// The largest step at which every curve has a point; nullopt if there is none.
std::optional<int64_t> CommonStep(const std::vector<const v1::CurvePoints*>& curves);

// The value at `place`, between two points in a straight line; nullopt outside the curve.
std::optional<double> ValueAt(const v1::CurvePoints& curve, double place, AxisKind kind);

// The mean of the last `count` values up to `place`, which smooths the noise of single steps;
// nullopt if there are none. NaN if one of them is not finite.
std::optional<double> MeanBefore(const v1::CurvePoints& curve, double place, AxisKind kind,
                                 int count);

}  // namespace gp::gpctl
