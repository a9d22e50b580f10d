// Charts for tests, without random numbers. Pure functions; thread-safe.
#pragma once

#include <cmath>

#include "client/gpctl/plot/chart.h"

namespace gp::gpctl {

// A loss of `steps` steps that falls from about 11 to `last`, with some noise.
inline Curve SampleCurve(const std::string& label, int color, int steps, double last) {
  Curve curve{.label = label, .color = color};
  for (int step = 1; step <= steps; ++step) {
    curve.x.push_back(step);
    const double noise = 0.08 * std::sin(step * 0.9 * (color + 1)) * std::cos(step * 0.37);
    curve.y.push_back(last + (11 - last) * std::exp(-step / (0.1 * steps)) + noise);
  }
  return curve;
}

// Three runs whose lines end close to each other.
inline Chart SampleLossChart(int steps = 2000) {
  Chart chart{.title = "loss (nats per token)"};
  chart.curves = {SampleCurve("base", 0, steps, 3.2), SampleCurve("lr-9e-4", 1, steps, 3.15),
                  SampleCurve("a-run-with-a-long-name-that-does-not-fit", 2, steps * 3 / 4, 3.4)};
  return chart;
}

// One run's learning rate over tokens: warm-up and cosine.
inline Chart SampleRateChart(int steps = 1000) {
  Chart chart{.title = "lr", .x_axis = AxisKind::kTokens};
  Curve curve{.label = "lr"};
  const double warmup = 0.1 * steps;
  for (int step = 1; step <= steps; ++step) {
    curve.x.push_back(step * 524'288.0);
    const double decay = 0.5 * (1 + std::cos(3.14159265 * (step - warmup) / (steps - warmup)));
    curve.y.push_back(step <= warmup ? 6e-4 * step / warmup : 6e-5 + 5.4e-4 * decay);
  }
  chart.curves.push_back(std::move(curve));
  return chart;
}

// Training and validation loss on a logarithmic axis over time, with values that are not finite.
inline Chart SampleGapChart() {
  Chart chart{.title = "loss, val_loss (nats per token)", .x_axis = AxisKind::kTime, .log = true};
  Curve loss = SampleCurve("loss", 0, 120, 3.2);
  for (double& x : loss.x) x *= 10;
  for (int i = 70; i < 76; ++i) loss.y[i] = i < 74 ? NAN : INFINITY;
  Curve validation{.label = "val_loss", .color = 0, .stroke = Stroke::kDashed};
  for (int step = 100; step <= 1200; step += 100) {
    validation.x.push_back(step);
    validation.y.push_back(3.3 + 8 * std::exp(-step / 150.0));
  }
  chart.curves = {std::move(loss), std::move(validation)};
  return chart;
}

}  // namespace gp::gpctl
