// A daemon's settings file, an environment and a flag. Accepted values are within their ranges, and
// the settings are equal after being written and read again.
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "daemon/setting.h"
#include "daemon/settings_reader.h"

namespace {

using namespace gp;
using namespace gp::daemon;

// One setting of each kind.
struct Example {
  std::string listen = "127.0.0.1:1";
  std::string dir;
  bool insecure = false;
  int slots = 3;
  int64_t bytes = 70'000;
  double share = 0.5;
  std::chrono::nanoseconds lease = std::chrono::seconds(10);
  std::vector<std::string> words = {"a"};

  bool operator==(const Example&) const = default;
};

Settings Table(Example& example) {
  return {
      {.field = {.path = "server.listen", .doc = "Where it listens."},
       .slot = &example.listen,
       .flag = "--listen",
       .check = CheckListenAddress},
      {.field = {.path = "state.dir", .doc = "Where it keeps what it knows."},
       .slot = &example.dir,
       .required = true},
      {.field = {.path = "network.insecure", .doc = "Whether anybody may do anything."},
       .slot = &example.insecure,
       .flag = "--insecure"},
      {.field = {.path = "node.slots", .doc = "How many.", .min = 0, .max = 9},
       .slot = &example.slots},
      {.field = {.path = "logs.bytes_max", .doc = "How large.", .min = 65536},
       .slot = &example.bytes},
      {.field = {.path = "node.share", .doc = "How much.", .min = 0, .max = 1},
       .slot = &example.share},
      {.field = {.path = "agents.lease", .doc = "How long.", .min = 0.5}, .slot = &example.lease},
      {.field = {.path = "node.words", .doc = "Which."}, .slot = &example.words}};
}

void CheckRanges(const Example& example) {
  GP_CHECK(CheckListenAddress(example.listen).ok());
  GP_CHECK(example.slots >= 0 && example.slots <= 9 && example.bytes >= 65536);
  GP_CHECK(example.share >= 0 && example.share <= 1);
  GP_CHECK(example.lease >= std::chrono::milliseconds(500));
}

std::string Written(Example& example) {
  std::string text = "apiVersion: gp/v1\n";
  for (const Setting& setting : Table(example)) {
    const size_t dot = setting.field.path.find('.');
    text += setting.field.path.substr(0, dot) + ": {" + setting.field.path.substr(dot + 1) + ": " +
            runspec::FormatValue(setting.field, setting.slot) + "}\n";
  }
  return text;
}

// One text for each group, because a file contains each group once.
void CheckSame(Example& example) {
  Example again;
  for (const Setting& setting : Table(example)) {
    const size_t dot = setting.field.path.find('.');
    const std::string text = "apiVersion: gp/v1\n" + setting.field.path.substr(0, dot) + ": {" +
                             setting.field.path.substr(dot + 1) + ": " +
                             runspec::FormatValue(setting.field, setting.slot) + "}\n";
    const auto problems = ReadSettingsFile(text, "again.yaml", Table(again));
    GP_CHECK(problems.empty(), "{}{}", text, RenderProblems(problems));
  }
  GP_CHECK(again == example, "{}", Written(example));
}

void TryFile(std::string_view text) {
  Example example;
  const auto problems = ReadSettingsFile(text, "d.yaml", Table(example));
  GP_CHECK(problems.size() <= ConfigProblems::kListedMax + 1);
  for (const ConfigProblem& problem : problems) GP_CHECK(!problem.message.empty());
  if (!problems.empty()) return;
  CheckRanges(example);
  CheckSame(example);
}

void TryTexts(std::string_view text) {
  for (size_t i = 0; i < 8; ++i) {
    Example example;
    const Settings table = Table(example);
    if (ReadSettingText(text, "--flag", table[i]).empty()) CheckRanges(example);
    Example other;
    std::vector<ConfigProblem> warnings;
    const std::string variable = VariableOf("gp-example", table[i].field.path);
    const auto problems =
        ReadSettingsEnvironment({variable + "=" + std::string(text), std::string(text)},
                                "gp-example", Table(other), warnings);
    if (problems.empty()) CheckRanges(other);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  TryFile(text);
  TryTexts(text);
  return 0;
}
