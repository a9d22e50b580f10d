// Passes over the logits of a whole vocabulary, some 50,000 for each drawn token, in vector
// arithmetic that every processor rounds in the same way. Pure functions; thread-safe.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace gp::engine {

// The largest logit. Ignores NaNs; -infinity when there is nothing else.
float LargestLogit(std::span<const float> logits);

// Ids of the `count` largest logits, descending; of equal ones the lower id is kept and comes
// first. All of them if there are no more than `count`. REQUIRES: no logit is NaN.
std::vector<int32_t> LikeliestIds(std::span<const float> logits, int64_t count);

// exp((logit - shift) * factor) for each logit, with a relative error of at most 3e-7; 0 if the
// exponent is at most -87 (a value below 1.7e-38). REQUIRES: no exponent is above 0.
void Exponentials(std::span<const float> logits, float shift, float factor,
                  std::span<float> results);

// The sum of exp(logit - shift). REQUIRES: no exponent is above 0.
double SumOfExponentials(std::span<const float> logits, float shift);

}  // namespace gp::engine
