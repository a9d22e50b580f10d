#include "client/gpctl/nanogpt/nanogpt_data.h"

#include <filesystem>

#include "base/file.h"
#include "base/text/shell_word.h"

namespace gp::gpctl {
namespace {

constexpr uint64_t kPrepareBytesMax = 1 << 20;

bool IsDirectory(const std::string& path) {
  std::error_code error;
  return std::filesystem::is_directory(path, error);
}

// The folders in which nanoGPT's folder data, or a model, may be: the configuration is in
// nanoGPT/config, and commands are typed in nanoGPT.
std::vector<std::string> Roots(const std::string& config, const std::string& working_directory) {
  const std::string folder = DirectoryOf(config);
  return {DirectoryOf(folder), folder, working_directory};
}

std::string DataFolder(const std::string& config, const std::string& dataset,
                       const std::string& working_directory) {
  std::vector<std::string> folders;
  for (const std::string& root : Roots(config, working_directory)) {
    folders.push_back(AbsolutePath(dataset, JoinPath(root, "data")));
  }
  for (const std::string& folder : folders) {
    if (IsDirectory(folder)) return folder;
  }
  return folders.front();
}

// prepare.py encodes characters, or GPT-2's tokens with tiktoken.
bool IsOfCharacters(const std::string& folder, const std::string& dataset) {
  const auto prepare = ReadFile(JoinPath(folder, "prepare.py"), kPrepareBytesMax);
  if (prepare.ok()) return prepare->find("tiktoken") == std::string::npos;
  return dataset.find("char") != std::string::npos;
}

std::string PrepareCommand(const std::string& folder) {
  const std::string program = JoinPath(folder, "prepare.py");
  if (FileExists(program)) return "python3 " + ShellWord(program);
  return "gpctl data prepare TEXT --format nanogpt --out " + ShellWord(folder);
}

// The folder of a snapshot with a model in the cache of huggingface_hub; empty if there is none.
std::string CachedModel(const std::string& cache, const std::string& repository) {
  const std::string snapshots = JoinPath(JoinPath(cache, repository), "snapshots");
  const auto names = ListDirectory(snapshots);
  if (!names.ok()) return "";
  for (const std::string& name : *names) {
    std::string folder = JoinPath(snapshots, name);
    if (FileExists(JoinPath(folder, "config.json")) &&
        FileExists(JoinPath(folder, "model.safetensors"))) {
      return folder;
    }
  }
  return "";
}

std::string CacheFolder(const Console& console) {
  const std::string home = console.Variable("HF_HOME");
  if (!home.empty()) return JoinPath(home, "hub");
  return JoinPath(console.Variable("HOME"), ".cache/huggingface/hub");
}

}  // namespace

NanogptData FindNanogptData(const std::string& config, const std::string& dataset,
                            const std::string& working_directory) {
  const std::string folder = DataFolder(config, dataset, working_directory);
  const auto has = [&](const char* name) { return FileExists(JoinPath(folder, name)); };
  NanogptData data{.train = JoinPath(folder, "train.bin"),
                   .tokenizer = IsOfCharacters(folder, dataset) ? "chars" : "gpt2",
                   .found = true};
  if (has("train.bin")) {
    data.tokenizer = has("meta.pkl") ? "chars" : "gpt2";
    if (has("val.bin")) {
      data.val = JoinPath(folder, "val.bin");
    } else {
      data.notes.push_back(fmt::format("{} has no val.bin, so there is no validation loss: {}",
                                       folder, PrepareCommand(folder)));
    }
    return data;
  }
  if (has("input.txt")) {
    data.text = JoinPath(folder, "input.txt");
    data.train.clear();
    data.notes.push_back(
        fmt::format("{} has no train.bin; the run reads input.txt there, the last tenth for "
                    "validation, as prepare.py splits it",
                    folder));
    return data;
  }
  data.found = false;
  data.val = JoinPath(folder, "val.bin");
  data.notes.push_back(
      fmt::format("{} has neither train.bin nor input.txt; make them before the "
                  "run: {}",
                  folder, PrepareCommand(folder)));
  return data;
}

NanogptWeights FindNanogptWeights(const std::string& config, const std::string& name,
                                  const Console& console) {
  for (const std::string& root : Roots(config, console.working_directory)) {
    const std::string folder = JoinPath(root, name);
    if (FileExists(JoinPath(folder, "config.json"))) return {.directory = folder, .found = true};
  }
  for (const char* owner : {"models--openai-community--", "models--"}) {
    const std::string cached = CachedModel(CacheFolder(console), owner + name);
    if (!cached.empty()) return {.directory = cached, .found = true};
  }
  const std::string folder = JoinPath(console.working_directory, name);
  return {
      .directory = folder,
      .note = fmt::format(
          "the weights of {0} are not on this machine; download them before the run: python3 -c "
          "\"from transformers import AutoModelForCausalLM as M, AutoTokenizer as T; "
          "n = 'openai-community/{0}'; d = '{1}'; M.from_pretrained(n).save_pretrained(d); "
          "T.from_pretrained(n).save_pretrained(d)\"",
          name, folder)};
}

}  // namespace gp::gpctl
