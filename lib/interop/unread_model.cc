#include "interop/unread_model.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <optional>
#include <string_view>
#include <system_error>
#include <vector>

#include "base/file.h"
#include "base/text/shell_word.h"
#include "formats/file_kind.h"
#include "formats/random_access_file.h"

namespace gp::interop {
namespace {

constexpr char kAdapterName[] = "adapter_config.json";
constexpr char kExpected[] = "a model's directory or a model file of llm.c";
constexpr std::string_view kTrainerPrefix = "checkpoint-";

// Weights in a form that gp does not read, recognised by the file's name.
struct UnreadForm {
  std::string_view prefix, suffix;  // of the file's name
  std::string_view what;            // "a pickle, which can run any program when it is read"
  std::string_view way;             // {} is the directory, in Python's quotes
};

constexpr std::string_view kPickled = "a pickle, which can run any program when it is read";
constexpr std::string_view kTorchSaved =
    "a file of torch.save, which can run any program when it is read";
constexpr std::string_view kSavePretrained =
    "write them as safetensors first: "
    "GPT2LMHeadModel.from_pretrained({}).save_pretrained('NEW')";
constexpr std::string_view kTorchLines =
    "docs/formats/nanogpt-model.md shows how to write the weights as safetensors";

// In the order of the search: the first form that matches a file counts.
constexpr UnreadForm kForms[] = {
    {"pytorch_model", ".bin", kPickled, kSavePretrained},
    {"tf_model", ".h5", "weights of TensorFlow",
     "write them as safetensors with transformers 4: "
     "GPT2LMHeadModel.from_pretrained({}, from_tf=True).save_pretrained('NEW')"},
    {"flax_model", ".msgpack", "weights of Flax",
     "write them as safetensors with transformers 4: "
     "GPT2LMHeadModel.from_pretrained({}, from_flax=True).save_pretrained('NEW')"},
    {"model.ckpt.", "", "a checkpoint of TensorFlow",
     "use the Hugging Face format of the same model"},
    {"", ".pt", kTorchSaved, kTorchLines},
    {"", ".pth", kTorchSaved, kTorchLines},
    {"", ".ckpt", kTorchSaved, kTorchLines},
    {"", ".gguf", "a GGUF file", "use the model that it was converted from"},
    {"", ".onnx", "an ONNX graph", "use the model that it was converted from"},
    {"", ".h5", "weights of Keras", "use the model that they were converted from"},
    {"", ".msgpack", "weights of Flax", "use the model that they were converted from"}};

// Files that a Trainer and Lightning save beside the weights.
bool IsTrainingState(std::string_view name) {
  return name == "optimizer.pt" || name == "optimizer.bin" || name == "scheduler.pt" ||
         name == "scaler.pt" || name == "training_args.bin" || name == "trainer_state.json" ||
         name.starts_with("rng_state");
}

const UnreadForm* FormOf(std::string_view name) {
  if (IsTrainingState(name)) return nullptr;
  for (const UnreadForm& form : kForms) {
    if (name.starts_with(form.prefix) && name.ends_with(form.suffix)) return &form;
  }
  return nullptr;
}

// Quotes `text` as a Python string: '/models/gpt2'.
std::string PythonText(const std::string& text) {
  std::string quoted = "'";
  for (const char c : text) {
    if (c == '\'' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted + "'";
}

std::string WayOf(const UnreadForm& form, const std::string& directory) {
  std::string way(form.way);
  const size_t at = way.find("{}");
  return at == std::string::npos ? way : way.replace(at, 2, PythonText(directory));
}

// Whether the end of a zip archive is missing. A complete one ends with a record of its directory,
// in the last 64 KiB and 22 bytes.
bool IsZipCutShort(const formats::RandomAccessFile& file) {
  constexpr uint64_t kEndBytesMax = (64 << 10) + 22;
  std::string begin(std::min<uint64_t>(4, file.size_bytes()), '\0');
  std::string end(std::min(kEndBytesMax, file.size_bytes()), '\0');
  if (!file.Read(0, begin).ok() || begin != "PK\x03\x04") return false;
  return file.Read(file.size_bytes() - end.size(), end).ok() &&
         end.find("PK\x05\x06") == std::string::npos;
}

// An error for a damaged or misnamed file of that form; OK otherwise.
Status RefuseDamaged(const std::string& path, const UnreadForm& form) {
  ASSIGN_OR_RETURN(const auto file, formats::RandomAccessFile::Open(path));
  if (file.size_bytes() == 0) return InvalidArgument("{} is empty; copy the file again", path);
  if (IsZipCutShort(file)) {
    return InvalidArgument(
        "{} is {}, but the end of its archive is missing; copy the file again; {}", path, form.what,
        WayOf(form, DirectoryOf(path)));
  }
  std::string begin(std::min<uint64_t>(formats::kKindBytes, file.size_bytes()), '\0');
  RETURN_IF_ERROR(file.Read(0, begin));
  const formats::FileKind* const kind = formats::RecogniseKind(begin);
  // A Git LFS pointer or a compressed file gets the hint for that instead.
  const bool other = kind != nullptr && (kind->what.starts_with("a Git LFS pointer") ||
                                         kind->what.starts_with("compressed by"));
  return other ? formats::RefuseOtherKinds(file, kExpected) : OkStatus();
}

// The N in "checkpoint-N".
std::optional<int64_t> TrainerStep(std::string_view name) {
  if (!name.starts_with(kTrainerPrefix)) return std::nullopt;
  name.remove_prefix(kTrainerPrefix.size());
  int64_t step = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), step);
  const bool whole = error == std::errc() && end == name.data() + name.size();
  return whole ? std::optional(step) : std::nullopt;
}

Status RefuseTrainerFolder(const std::string& directory, const std::vector<std::string>& names) {
  std::optional<int64_t> newest;
  for (const std::string& name : names) newest = std::max(newest, TrainerStep(name));
  if (!newest) return OkStatus();
  const std::string checkpoint = fmt::format("{}{}", kTrainerPrefix, *newest);
  return FailedPrecondition(
      "{} is the output folder of a Trainer of transformers; name one of its checkpoints: {}",
      directory, ShellWord(JoinPath(directory, checkpoint)));
}

// Refuses a model's folder in the cache of huggingface_hub, which keeps the model in
// snapshots/COMMIT.
Status RefuseHubCache(const std::string& directory) {
  const std::string snapshots = JoinPath(directory, "snapshots");
  const auto commits = ListDirectory(snapshots);
  if (!commits.ok() || commits->empty()) return OkStatus();
  return FailedPrecondition(
      "{} is a model's folder in the cache of huggingface_hub; name one of its snapshots: {}",
      directory, ShellWord(JoinPath(snapshots, commits->front())));
}

Status RefuseWeights(const std::string& directory, const std::vector<std::string>& names) {
  for (const UnreadForm& form : kForms) {
    for (const std::string& name : names) {
      if (FormOf(name) != &form) continue;
      RETURN_IF_ERROR(RefuseDamaged(JoinPath(directory, name), form));
      return FailedPrecondition("{} holds its weights as {}, {}; {}", directory, name, form.what,
                                WayOf(form, directory));
    }
  }
  return OkStatus();
}

bool Holds(const std::vector<std::string>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// Refuses weights that gp could read, but that lack the file with their sizes, or have another file
// name.
Status RefuseBareSafetensors(const std::string& directory, const std::vector<std::string>& names) {
  if (Holds(names, "model.safetensors") || Holds(names, "model.safetensors.index.json")) {
    return FailedPrecondition(
        "{} holds weights in safetensors without a config.json (Hugging Face) or model_args.json "
        "(nanoGPT), which gives their sizes; copy it from the source of the weights",
        directory);
  }
  const auto found = std::find_if(names.begin(), names.end(), [](const std::string& name) {
    return name.ends_with(".safetensors");
  });
  if (found == names.end()) return OkStatus();
  return FailedPrecondition(
      "{} holds {}, but weights are read from model.safetensors, or from the files that "
      "model.safetensors.index.json lists; rename it, or copy the index from the source of the "
      "weights",
      directory, *found);
}

Status RefuseTrainingState(const std::string& directory, const std::vector<std::string>& names) {
  const auto found = std::find_if(names.begin(), names.end(), IsTrainingState);
  if (found == names.end()) return OkStatus();
  return FailedPrecondition(
      "{} holds training state ({}) but no model weights; copy model.safetensors and config.json "
      "of the same training there",
      directory, *found);
}

Status RefuseUnreadDirectory(const std::string& directory) {
  RETURN_IF_ERROR(RefuseAdapter(directory));
  ASSIGN_OR_RETURN(const std::vector<std::string> names, ListDirectory(directory));
  RETURN_IF_ERROR(RefuseWeights(directory, names));
  RETURN_IF_ERROR(RefuseBareSafetensors(directory, names));
  RETURN_IF_ERROR(RefuseTrainerFolder(directory, names));
  RETURN_IF_ERROR(RefuseHubCache(directory));
  return RefuseTrainingState(directory, names);
}

// A file that forms a model only together with others of its directory.
bool IsPartOfDirectory(const std::string& name) {
  return name.ends_with(".safetensors") || name == "config.json" || name == "model_args.json" ||
         name == "manifest.json" || name == "model.safetensors.index.json";
}

Status RefuseUnreadFile(const std::string& path) {
  if (const UnreadForm* const form = FormOf(BaseNameOf(path)); form != nullptr) {
    RETURN_IF_ERROR(RefuseDamaged(path, *form));
    return InvalidArgument("{} is {}, expected {}; {}", path, form->what, kExpected,
                           WayOf(*form, DirectoryOf(path)));
  }
  if (IsPartOfDirectory(BaseNameOf(path))) {
    return InvalidArgument("{} is a file of a model, expected {}; name the directory: {}", path,
                           kExpected, ShellWord(DirectoryOf(path)));
  }
  ASSIGN_OR_RETURN(const auto file, formats::RandomAccessFile::Open(path));
  return formats::RefuseOtherKinds(file, kExpected);
}

}  // namespace

Status RefuseAdapter(const std::string& directory) {
  if (!FileExists(JoinPath(directory, kAdapterName))) return OkStatus();
  return FailedPrecondition(
      "{} holds an adapter of peft ({}), which changes another model; write the merged model: "
      "AutoPeftModelForCausalLM.from_pretrained({}).merge_and_unload().save_pretrained('NEW')",
      directory, kAdapterName, PythonText(directory));
}

Status RefuseUnread(const std::string& path) {
  std::error_code error;
  return std::filesystem::is_directory(path, error) ? RefuseUnreadDirectory(path)
                                                    : RefuseUnreadFile(path);
}

}  // namespace gp::interop
