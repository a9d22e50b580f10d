// Makes gp-peer-bench small enough for the emulation: models of every name are tiny, and the linker
// wraps its main() with one that limits sequences and steps. A peer still gets the requested sizes.
#include <spawn.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "plan/model_shape.h"

#define NamedModelShape ReleasedModelShape
#include "plan/named_model_shapes.cc"
#undef NamedModelShape

namespace gp::runspec {

std::optional<ModelShape> NamedModelShape(const std::string& name) {
  if (!ReleasedModelShape(name).has_value()) return std::nullopt;
  return ModelShape{.layers = 1,
                    .heads = 2,
                    .channels = 16,
                    .context = 16,
                    .vocabulary = 60,
                    .vocabulary_padded = 64};
}

}  // namespace gp::runspec

namespace {

using Words = std::vector<std::string>;
using Flags = std::map<std::string, std::string>;

const Flags kOneSequence = {{"--batch", "1"}, {"--sequence", "16"}};
const Flags kFewSteps = {{"--steps", "2"}, {"--warmup", "1"}, {"--block", "1"}};

Flags Join(Flags flags, const std::vector<Flags>& more) {
  for (const Flags& other : more) flags.insert(other.begin(), other.end());
  return flags;
}

// The flags that are set for each command.
const std::map<std::string, Flags> kTiny = {
    {"step", Join({{"--peak-side", "16"}}, {kOneSequence, kFewSteps})},
    {"kernels", Join({{"--peak-side", "32"}, {"--seconds", "0.001"}}, {kOneSequence})},
    {"gradients", kOneSequence},
    {"plan", kOneSequence},
    {"sample", Join({{"--peak-side", "16"},
                     {"--prompt", "4"},
                     {"--tokens", "6"},
                     {"--batch", "2"},
                     {"--sequence", "16"}},
                    {kFewSteps})},
    {"allreduce", Join({{"--size", "4KB"}}, {kFewSteps})},
    {"ladder",
     Join({{"--peak-side", "16"}, {"--steps", "1"}, {"--tokens-max", "32"}}, {kOneSequence})}};

Words asked;  // the arguments as they were given

// Returns the value of a flag in `words`. If the flag is missing, appends it with an empty value.
std::string& Value(const std::string& flag, Words& words) {
  const auto found = std::find(words.begin(), words.end(), flag);
  if (found != words.end()) return found[1];
  words.insert(words.end(), {flag, ""});
  return words.back();
}

std::vector<char*> Pointers(Words& words) {
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  return pointers;
}

// Changes the value of a flag: "--batch=1" becomes "--batch=64".
void Say(const std::string& flag, int64_t value, Words& words) {
  for (std::string& word : words) {
    if (word.starts_with(flag + "=")) word = flag + "=" + std::to_string(value);
  }
}

Words AsAsked(Words words) {
  const auto shape = gp::runspec::ReleasedModelShape(Value("--model", asked));
  Say("--layers", shape->layers, words);
  Say("--heads", shape->heads, words);
  Say("--channels", shape->channels, words);
  Say("--context", shape->context, words);
  Say("--vocabulary", shape->vocabulary_padded, words);
  Say("--sequence", shape->context, words);
  Say("--batch", std::stoll(Value("--batch", asked)), words);
  return words;
}

}  // namespace

extern "C" {

int __real_main(int argc, char** argv);
int __real_posix_spawnp(pid_t* pid, const char* file, const posix_spawn_file_actions_t* actions,
                        const posix_spawnattr_t* attributes, char* const argv[],
                        char* const environment[]);

// Starts a peer of `gp-peer-bench step` with the requested sizes.
int __wrap_posix_spawnp(pid_t* pid, const char* file, const posix_spawn_file_actions_t* actions,
                        const posix_spawnattr_t* attributes, char* const argv[],
                        char* const environment[]) {
  Words words;
  for (; *argv != nullptr; ++argv) words.emplace_back(*argv);
  words = AsAsked(words);
  return __real_posix_spawnp(pid, file, actions, attributes, Pointers(words).data(), environment);
}

int __wrap_main(int argc, char** argv) {
  asked.assign(argv, argv + argc);
  Words words = asked;
  const auto tiny = argc > 1 ? kTiny.find(words[1]) : kTiny.end();
  if (tiny != kTiny.end()) {
    for (const auto& [flag, value] : tiny->second) Value(flag, words) = value;
  }
  return __real_main(static_cast<int>(words.size()), Pointers(words).data());
}
}
