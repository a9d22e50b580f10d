#include "fakes/fake_trainer_options.h"

#include <cstdlib>

#include "base/yaml_reader.h"

namespace gp::fakes {
namespace {

const YamlNode* FindPath(const YamlNode& root, const std::string& section, const std::string& key) {
  const YamlNode* found = root.Find(section);
  return found == nullptr ? nullptr : found->Find(key);
}

void Read(const YamlNode& root, const char* section, const char* key, int64_t& value) {
  if (const YamlNode* node = FindPath(root, section, key)) value = std::atoll(node->scalar.c_str());
}

void ReadFlag(const YamlNode& root, const char* key, bool& value) {
  if (const YamlNode* node = FindPath(root, "labels", key)) value = node->scalar == "true";
}

}  // namespace

StatusOr<FakeTrainerOptions> ParseFakeTrainerOptions(const std::string& resolved) {
  const auto parsed = ParseYaml(resolved, "resolved.yaml");
  if (const auto* problem = std::get_if<ConfigProblem>(&parsed)) {
    return InvalidArgument("{}", problem->message);
  }
  const auto& root = std::get<YamlNode>(parsed);
  FakeTrainerOptions options;
  Read(root, "budget", "steps", options.steps);
  Read(root, "checkpoint", "every", options.checkpoint_every);
  Read(root, "labels", "fake-step-ms", options.step_ms);
  Read(root, "labels", "fake-fail-at-step", options.fail_at_step);
  Read(root, "labels", "fake-fail-rank", options.fail_rank);
  Read(root, "labels", "fake-fail-epochs", options.fail_epochs);
  Read(root, "labels", "fake-exit-code", options.exit_code);
  if (const YamlNode* node = FindPath(root, "labels", "fake-fail-message")) {
    options.fail_message = node->scalar;
  }
  if (const YamlNode* node = FindPath(root, "labels", "fake-hostile")) {
    options.hostile = node->scalar;
  }
  ReadFlag(root, "fake-ignore-stop", options.ignore_stop);
  ReadFlag(root, "fake-silent", options.silent);
  ReadFlag(root, "fake-hang", options.hang);
  return options;
}

}  // namespace gp::fakes
