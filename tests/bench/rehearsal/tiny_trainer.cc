// The linker puts this before gp-trainer's main: it trains a tiny model, whatever the run file
// describes, so that a run takes seconds under emulation. If total tokens are set, a step has two
// micro-batches.
#include <string>
#include <vector>

namespace {

constexpr const char* kTotalTokens = "batch.total_tokens=";
constexpr const char* kTwoMicroBatches = "batch.total_tokens=32";
constexpr const char* kTiny[] = {
    "model.n_layer=1",   "model.n_head=1",      "model.n_embd=16",
    "model.n_ctx=16",    "model.vocab=257",     "model.pad_vocab_to=64",
    "batch.sequence=16", "batch.micro_batch=1", "eval.batches=1"};

}  // namespace

extern "C" {

int __real_main(int argc, char** argv);

int __wrap_main(int argc, char** argv) {
  std::vector<std::string> words(argv, argv + argc);
  for (std::string& word : words) {
    if (word.starts_with(kTotalTokens)) word = kTwoMicroBatches;
  }
  if (argc > 1 && words[1] == "--spec") {
    for (const char* setting : kTiny) words.insert(words.end(), {"--set", setting});
  }
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  return __real_main(static_cast<int>(words.size()), pointers.data());
}
}
