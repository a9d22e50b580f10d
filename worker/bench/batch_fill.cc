#include "worker/bench/batch_fill.h"

#include <chrono>
#include <vector>

#include "base/check.h"
#include "worker/bench/sample_summary.h"
#include "worker/data/batch_source.h"

namespace gp::engine {

double MeasureBatchFill(int64_t sequences, int64_t length) {
  constexpr int kFills = 50;
  const auto source_tokens = MakeMemoryTokens(std::vector<int32_t>(size_t{1} << 20));
  runspec::RunSpec spec;
  spec.batch.micro_batch = sequences;
  spec.batch.sequence = length;
  const auto source = BatchSource::Make(*source_tokens, spec, runspec::BatchPlan{});
  GP_CHECK(source.ok(), "{}", Message(source.status()));
  std::vector<int32_t> tokens(static_cast<size_t>(sequences * length));
  std::vector<int32_t> targets(tokens.size());
  std::vector<double> samples;
  for (int step = 0; step < kFills; ++step) {
    const auto start = std::chrono::steady_clock::now();
    GP_CHECK(source->Fill(step, 0, 0, tokens, targets).ok());
    const auto elapsed = std::chrono::steady_clock::now() - start;
    samples.push_back(std::chrono::duration<double, std::milli>(elapsed).count());
  }
  return Summarize(samples).median;
}

}  // namespace gp::engine
