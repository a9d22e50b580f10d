#include "worker/trainer/state/loop_state.h"

#include <bit>
#include <map>
#include <nlohmann/json.hpp>

namespace gp::engine {
namespace {

using Json = nlohmann::json;

// JSON has no numbers that are not finite, so a double is written as its bits.
uint64_t BitsOf(double value) { return std::bit_cast<uint64_t>(value); }
double FromBits(const Json& bits) { return std::bit_cast<double>(bits.get<uint64_t>()); }

Json ToJson(const StepResult& result) {
  return {{"step", result.step},
          {"loss", BitsOf(result.loss)},
          {"gradient_norm", BitsOf(result.gradient_norm)},
          {"learning_rate", BitsOf(result.learning_rate)},
          {"skipped", result.skipped},
          {"overflowed", result.overflowed},
          {"last", result.last},
          {"save", result.save},
          {"seconds", BitsOf(result.seconds)}};
}

StepResult ResultOf(const Json& json) {
  StepResult result;
  result.step = json.at("step").get<int64_t>();
  result.loss = FromBits(json.at("loss"));
  result.gradient_norm = FromBits(json.at("gradient_norm"));
  result.learning_rate = FromBits(json.at("learning_rate"));
  result.skipped = json.at("skipped").get<bool>();
  result.overflowed = json.at("overflowed").get<bool>();
  result.last = json.at("last").get<bool>();
  result.save = json.at("save").get<bool>();
  result.seconds = FromBits(json.at("seconds"));
  return result;
}

Json ToJson(const Evaluated& evaluated) {
  Json scores = Json::object();
  for (const auto& [name, score] : evaluated.scores) scores[name] = BitsOf(score);
  Json json = {{"scores", std::move(scores)}};
  if (evaluated.loss) json["loss"] = BitsOf(*evaluated.loss);
  return json;
}

Evaluated EvaluatedOf(const Json& json) {
  Evaluated evaluated;
  for (const auto& [name, score] : json.at("scores").items()) {
    evaluated.scores[name] = FromBits(score);
  }
  if (json.contains("loss")) evaluated.loss = FromBits(json.at("loss"));
  return evaluated;
}

Json ToJson(const CommittedStep& newest) {
  Json json = {{"result", ToJson(newest.result)},
               {"reported", newest.reported},
               {"concluded", newest.concluded}};
  if (newest.evaluated) json["evaluated"] = ToJson(*newest.evaluated);
  return json;
}

CommittedStep CommittedStepOf(const Json& json) {
  CommittedStep newest{.result = ResultOf(json.at("result")),
                       .reported = json.at("reported").get<bool>(),
                       .concluded = json.at("concluded").get<bool>()};
  if (json.contains("evaluated")) newest.evaluated = EvaluatedOf(json.at("evaluated"));
  return newest;
}

}  // namespace

std::string FormatLoopState(const LoopState& state) {
  Json json = {{"step", state.step},
               {"record", formats::TextsOf(state.record)},
               {"consecutive_skips", state.consecutive_skips},
               {"evaluation_owed", state.evaluation_owed},
               {"observed_step", state.observed_step},
               {"calibrated_step", state.calibrated_step}};
  if (state.newest) json["newest"] = ToJson(*state.newest);
  return json.dump();
}

StatusOr<LoopState> ParseLoopState(const std::string& text) {
  try {
    const Json json = Json::parse(text);
    LoopState state;
    state.step = json.at("step").get<int64_t>();
    ASSIGN_OR_RETURN(
        state.record,
        formats::ParseTrainingRecord(json.at("record").get<std::map<std::string, std::string>>()));
    state.consecutive_skips = json.at("consecutive_skips").get<int64_t>();
    state.evaluation_owed = json.at("evaluation_owed").get<bool>();
    state.observed_step = json.at("observed_step").get<int64_t>();
    state.calibrated_step = json.at("calibrated_step").get<int64_t>();
    if (json.contains("newest")) state.newest = CommittedStepOf(json.at("newest"));
    return state;
  } catch (const Json::exception& error) {
    return DataLoss("the state of the training that a peer sent is not readable: {}", error.what());
  }
}

}  // namespace gp::engine
