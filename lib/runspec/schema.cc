#include "runspec/schema.h"

#include <map>
#include <unordered_map>

#include "runspec/schema_table.h"

namespace gp::runspec {

const std::vector<RunField>& Schema() {
  static const std::vector<RunField> kSchema = MakeSchema();
  return kSchema;
}

const Fields& SchemaFields() {
  static const Fields kFields = [] {
    Fields fields;
    for (const RunField& field : Schema()) fields.push_back(&field);
    return fields;
  }();
  return kFields;
}

const RunField* FindField(std::string_view path) {
  static const auto kByPath = [] {
    std::unordered_map<std::string_view, const RunField*> by_path;
    for (const RunField& field : Schema()) by_path.emplace(field.path, &field);
    return by_path;
  }();
  const auto found = kByPath.find(path);
  return found == kByPath.end() ? nullptr : found->second;
}

bool IsGroup(std::string_view path) { return !GroupDoc(path).empty(); }

std::string GroupDoc(std::string_view path) {
  static const std::map<std::string_view, std::string_view> kDocs = {
      {"model", "The GPT-2 model."},
      {"data", "What to train on, and in which order."},
      {"resources", "Where to train."},
      {"batch", "How many tokens a step trains on, and how they are divided."},
      {"optimizer", "How gradients change the weights."},
      {"schedule", "The learning rate over the run."},
      {"budget",
       "When the run ends. Set at least one of these keys; the first limit reached ends "
       "the run."},
      {"engine", "How the step is computed."},
      {"eval", "Loss on the validation split, and questions to the model."},
      {"sample", "Samples that the model generates during training."},
      {"checkpoint", "When checkpoints are saved and which are kept."},
      {"stability", "What happens when a rank dies, or when the loss or a gradient is not finite."},
      {"retries", "How often a run is started again when a trainer fails or a node dies."},
  };
  const auto found = kDocs.find(path);
  return found == kDocs.end() ? "" : std::string(found->second);
}

std::string Expectation(const RunField& field) {
  RunSpec spec;
  return Expectation(field, field.slot(spec));
}

std::string FormatValue(const RunField& field, const RunSpec& spec) {
  RunSpec copy = spec;
  return FormatValue(field, field.slot(copy));
}

}  // namespace gp::runspec
