#include "client/gpctl/nanogpt/nanogpt_run_file.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <map>
#include <optional>
#include <string_view>

#include "base/file.h"
#include "base/text/excerpt.h"
#include "base/text/safe_text.h"
#include "base/text/utf8.h"
#include "client/gpctl/nanogpt/nanogpt_data.h"
#include "client/gpctl/nanogpt/nanogpt_keys.h"
#include "client/gpctl/render/run_json.h"
#include "client/gpctl/session/session.h"
#include "runspec/field.h"

namespace gp::gpctl {
namespace {

// A key's value, and where it comes from.
struct Given {
  PythonValue value;
  std::string place;  // "config/a.py:3", "--override batch_size"; empty: nanoGPT's default
};

// The values of all keys with nanoGPT's defaults. Collects problems, so that all are reported at
// once.
class Values {
 public:
  Values() {
    for (const auto& [name, value] : NanogptDefaults()) given_[name] = {value, ""};
  }

  void Set(const std::string& name, const PythonValue& value, const std::string& place) {
    given_[name] = {value, place};
  }

  bool Has(const std::string& name) const { return given_.contains(name); }
  bool IsSet(const std::string& name) const { return Has(name) && !given_.at(name).place.empty(); }

  int64_t Whole(const std::string& name) {
    const PythonValue& value = given_.at(name).value;
    if (const auto* whole = std::get_if<int64_t>(&value)) return *whole;
    const auto* real = std::get_if<double>(&value);
    if (real != nullptr && *real == std::floor(*real) && std::abs(*real) < 1e15) {
      return static_cast<int64_t>(*real);
    }
    Report(name, "a whole number");
    return 1;
  }

  double Real(const std::string& name) {
    const PythonValue& value = given_.at(name).value;
    if (const auto* whole = std::get_if<int64_t>(&value)) return static_cast<double>(*whole);
    if (const auto* real = std::get_if<double>(&value)) return *real;
    Report(name, "a number");
    return 1;
  }

  bool Flag(const std::string& name) {
    const PythonValue& value = given_.at(name).value;
    if (const auto* flag = std::get_if<bool>(&value)) return *flag;
    Report(name, "True or False");
    return false;
  }

  std::string Text(const std::string& name) {
    const PythonValue& value = given_.at(name).value;
    const auto* text = std::get_if<std::string>(&value);
    if (text != nullptr && IsUtf8(*text)) return *text;
    Report(name, text == nullptr ? "a string" : "text in UTF-8");
    return "";
  }

  // "config/a.py:3: min_lr is 0.1", or "min_lr is 6e-05 (nanoGPT's default)".
  std::string Describe(const std::string& name) const {
    const Given& given = given_.at(name);
    const std::string is = fmt::format("{} is {}", name, PythonText(given.value));
    return given.place.empty() ? is + " (nanoGPT's default)" : given.place + ": " + is;
  }

  void AddProblem(const std::string& problem) { problems_ += problem + "\n"; }
  const std::string& problems() const { return problems_; }

 private:
  void Report(const std::string& name, const std::string& expected) {
    AddProblem(fmt::format("{}, expected {}", Describe(name), expected));
  }

  std::map<std::string, Given> given_;
  std::string problems_;
};

// A line of the run file: "  n_layer: 6  # n_layer".
std::string Line(const std::string& key, const std::string& value, const std::string& from) {
  return fmt::format("  {:<28}  # {}\n", key + ": " + value, from);
}

std::string Line(const std::string& key, int64_t value, const std::string& from) {
  return Line(key, std::to_string(value), from);
}

std::string Line(const std::string& key, double value, const std::string& from) {
  return Line(key, fmt::format("{:.12g}", value), from);
}

std::string Line(const std::string& key, bool value, const std::string& from) {
  return Line(key, std::string(value ? "true" : "false"), from);
}

std::string Line(const std::string& key, const char* value, const std::string& from) {
  return Line(key, std::string(value), from);
}

// REQUIRES: valid UTF-8.
std::string ListOf(const std::string& path) { return Json::array({path}).dump(); }

// Whether a run file, which is text, can hold the path.
bool IsPathOfText(std::string_view path) {
  while (!path.empty()) {
    const auto code_point = TakeCodePoint(path);
    if (!code_point || IsUnsafeToShow(*code_point)) return false;
  }
  return true;
}

constexpr size_t kPathCharactersMax = 200;  // of a message
constexpr char kExpectedPath[] = "expected a path in UTF-8 without control characters";

// Letters, digits and "-_." of the file's name without its ".py".
std::string RunName(const std::string& path) {
  std::string name = BaseNameOf(path);
  if (name.ends_with(".py")) name.resize(name.size() - 3);
  for (char& c : name) {
    const bool good = std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '_';
    if (!good) c = '-';
  }
  name = name.substr(0, 63);
  return name.empty() || name.front() == '-' ? "nanogpt" : name;
}

class Translation {
 public:
  Translation(const NanogptConfig& config, const Console& console)
      : config_(config),
        console_(console),
        path_(AbsolutePath(config.path, console.working_directory)) {}

  StatusOr<NanogptRunFile> Translate() {
    if (!IsPathOfText(config_.path)) {
      return InvalidArgument("--from-nanogpt: '{}': {}; rename it", Excerpt(config_.path),
                             kExpectedPath);
    }
    ReadFile();
    if (made_.settings == 0) {
      return InvalidArgument(
          "{}: sets none of nanoGPT's keys; expected a configuration with lines such as "
          "'batch_size = 12'",
          config_.path);
    }
    ReadOverrides();
    FindData();
    Write();
    if (!values_.problems().empty()) {
      std::string text = values_.problems();
      text.pop_back();
      return InvalidArgument("{}", text);
    }
    return std::move(made_);
  }

 private:
  std::string At(int line) const { return fmt::format("{}:{}", config_.path, line); }

  void ReadFile() {
    const PythonSettings read = ReadPythonSettings(config_.text, NanogptDefaults());
    for (const SkippedStatement& skipped : read.skipped) {
      made_.warnings.push_back(fmt::format("{}: left out: '{}' {}{}", At(skipped.line),
                                           skipped.text, skipped.why,
                                           DefaultInstead(skipped.name)));
    }
    for (const PythonSetting& setting : read.settings) {
      const NanogptKey* key = FindNanogptKey(setting.name);
      if (key != nullptr) {
        Take(*key, setting.value, At(setting.line));
      } else if (!read.read.contains(setting.name)) {
        made_.notes.push_back(fmt::format("{}: {} has no counterpart: nanoGPT has no such key{}",
                                          At(setting.line), setting.name, Nearest(setting.name)));
      }
    }
  }

  // The value of a key whose assignment was left out, whatever an earlier line set.
  static std::string DefaultInstead(const std::string& name) {
    const PythonNames defaults = NanogptDefaults();
    const auto value = defaults.find(name);
    if (value == defaults.end() || FindNanogptKey(name) == nullptr) return "";
    return fmt::format("; {} is nanoGPT's default, {}", name, PythonText(value->second));
  }

  static std::string Nearest(const std::string& name) {
    std::vector<std::string> names;
    for (const NanogptKey& key : NanogptKeys()) names.emplace_back(key.name);
    return DidYouMean(name, names);
  }

  // As nanoGPT's configurator: --key=value, with a value of the type of the default.
  void ReadOverrides() {
    for (const std::string& text : config_.overrides) {
      const size_t equals = text.find('=');
      const size_t first = text.starts_with("--") ? 2 : 0;
      if (equals == std::string::npos || equals <= first) {
        values_.AddProblem(
            fmt::format("--override {}: expected KEY=VALUE, such as batch_size=12", Excerpt(text)));
        continue;
      }
      const std::string name = text.substr(first, equals - first);
      const NanogptKey* key = FindNanogptKey(name);
      if (key == nullptr) {
        values_.AddProblem(
            fmt::format("--override {}: nanoGPT has no such key{}", Excerpt(name), Nearest(name)));
        continue;
      }
      const std::string written = text.substr(equals + 1);
      const auto value = EvaluatePython(written, {});
      Take(*key, value.ok() ? *value : PythonValue(written), "--override " + name);
    }
  }

  void Take(const NanogptKey& key, const PythonValue& value, const std::string& place) {
    ++made_.settings;
    values_.Set(key.name, value, place);
    // False is the default of the run file, so nothing is written.
    const auto* flag = std::get_if<bool>(&value);
    const bool off = flag != nullptr && !*flag;
    if (key.reason != nullptr && !off) {
      made_.notes.push_back(
          fmt::format("{}: {} has no counterpart: {}", place, key.name, key.reason));
    }
  }

  void FindData() {
    const std::string dataset = values_.Text("dataset");
    if (!IsPathOfText(dataset)) {
      values_.AddProblem(fmt::format("{}, {}", values_.Describe("dataset"), kExpectedPath));
      return;
    }
    data_ = FindNanogptData(path_, dataset, console_.working_directory);
    if (!CheckPath("the data", data_.text.empty() ? data_.train : data_.text)) data_ = {};
  }

  // The folders that lead to a path may be the problem, too.
  bool CheckPath(const char* what, const std::string& path) {
    if (IsPathOfText(path)) return true;
    values_.AddProblem(fmt::format("{} would be '{}', {}; move the folder", what,
                                   Excerpt(path, kPathCharactersMax), kExpectedPath));
    return false;
  }

  void Write() {
    std::string& text = made_.text;
    text = fmt::format(
        "# From nanoGPT's {}. A key that is not set there has the default of nanoGPT's train.py.\n"
        "# Every key: gpctl explain run. Check this file: gpctl validate FILE\n"
        "apiVersion: gp/v1\n"
        "name: {}\n",
        BaseNameOf(config_.path), runspec::YamlScalar(RunName(config_.path)));
    WriteLabels();
    WriteModel();
    WriteData();
    WriteResources();
    WriteBatch();
    WriteOptimizer();
    WriteSchedule();
    WriteRest();
  }

  void WriteLabels() {
    if (!values_.IsSet("wandb_project")) return;
    made_.text += "labels:\n" + Line("project", runspec::YamlScalar(values_.Text("wandb_project")),
                                     "wandb_project; gpctl list --label project=…");
  }

  // The model's shape, or the pretrained model that has one.
  void WriteModel() {
    const std::string from = values_.Text("init_from");
    if (from == "resume") {
      made_.warnings.push_back(fmt::format(
          "{}; gp resumes a run by itself; to begin with nanoGPT's weights, convert ckpt.pt "
          "(docs/formats/nanogpt-model.md), gpctl import it, and set init_from",
          values_.Describe("init_from")));
    } else if (from != "scratch" && WritePretrained(from)) {
      return;
    }
    made_.text += "model:\n" + Line("n_layer", values_.Whole("n_layer"), "n_layer") +
                  Line("n_head", values_.Whole("n_head"), "n_head") +
                  Line("n_embd", values_.Whole("n_embd"), "n_embd") +
                  Line("n_ctx", values_.Whole("block_size"), "block_size") +
                  Line("bias", values_.Flag("bias"), "bias") +
                  Line("dropout", values_.Real("dropout"), "dropout") +
                  Line("gelu", "erf", "nanoGPT's activation is the exact one");
    if (data_.tokenizer != "gpt2") return;
    made_.text +=
        Line("pad_vocab_to", int64_t{64}, "nanoGPT rounds GPT-2's 50,257 ids up to 50,304");
  }

  // False, and a problem, for a name that nanoGPT does not know.
  bool WritePretrained(const std::string& name) {
    constexpr std::string_view kNames[] = {"gpt2", "gpt2-medium", "gpt2-large", "gpt2-xl"};
    if (std::find(std::begin(kNames), std::end(kNames), name) == std::end(kNames)) {
      values_.AddProblem(fmt::format(
          "{}, expected 'scratch', 'resume', 'gpt2', 'gpt2-medium', 'gpt2-large' or 'gpt2-xl'",
          values_.Describe("init_from")));
      return false;
    }
    pretrained_ = true;
    const NanogptWeights weights = FindNanogptWeights(path_, name, console_);
    if (!CheckPath("the weights", weights.directory)) return true;
    if (!weights.found) {
      made_.can_train = false;
      made_.warnings.push_back(weights.note);
    }
    made_.text += fmt::format("init_from: {}  # init_from; it decides the model's shape\n",
                              Json(weights.directory).dump());
    made_.text += "model:\n" + Line("n_ctx", values_.Whole("block_size"), "block_size") +
                  Line("dropout", values_.Real("dropout"), "dropout");
    for (const char* shape : {"n_layer", "n_head", "n_embd", "bias"}) {
      if (!values_.IsSet(shape)) continue;
      made_.notes.push_back(fmt::format("{}; it has no effect, because {} decides it",
                                        values_.Describe(shape), name));
    }
    return true;
  }

  void WriteData() {
    if (!data_.found) made_.can_train = false;
    made_.warnings.insert(made_.warnings.end(), data_.notes.begin(), data_.notes.end());
    std::string& text = made_.text;
    text += "data:\n";
    if (data_.text.empty()) {
      text += Line("train", ListOf(data_.train), "dataset");
      if (!data_.val.empty()) text += Line("val", ListOf(data_.val), "dataset");
    } else {
      text += Line("text", ListOf(data_.text), "dataset") +
              Line("val_fraction", 0.1, "as in its prepare.py");
    }
    // A pretrained model brings its own.
    if (!pretrained_) text += Line("tokenizer", data_.tokenizer, TokenizerReason());
    text += Line("order", "random", "as nanoGPT");
  }

  const char* TokenizerReason() const {
    if (data_.tokenizer == "gpt2") return "nanoGPT's datasets without a meta.pkl use it";
    return data_.text.empty() ? "meta.pkl beside train.bin" : "the characters of the text";
  }

  // nanoGPT's default is cuda. With device: auto, a run does not wait for a GPU that the service
  // does not have.
  std::string Device() {
    const std::string device = values_.Text("device");
    if (device == "cpu") return "cpu";
    if (device == "mps") {
      made_.warnings.push_back(values_.Describe("device") +
                               "; gp computes on CPUs and NVIDIA GPUs: the run uses cpu");
      return "cpu";
    }
    if (!device.starts_with("cuda")) {
      values_.AddProblem(values_.Describe("device") +
                         ", expected 'cpu', 'cuda', 'cuda:N' or 'mps'");
    }
    const bool fp16 = values_.IsSet("dtype") && values_.Text("dtype") == "float16";
    return values_.IsSet("device") || fp16 ? "gpu" : "auto";
  }

  // On a CPU nanoGPT computes in fp32 whatever dtype says. On a GPU it lets products of float32 use
  // TF32.
  std::string Precision(const std::string& device) {
    const std::string dtype = values_.Text("dtype");
    if (dtype != "float32" && dtype != "bfloat16" && dtype != "float16") {
      values_.AddProblem(values_.Describe("dtype") +
                         ", expected 'float32', 'bfloat16' or 'float16'");
    }
    if (device == "cpu") return "fp32";
    if (!values_.IsSet("dtype")) return "auto";
    if (dtype == "float32") return device == "gpu" ? "tf32" : "fp32";
    return dtype == "float16" ? "fp16" : "bf16";
  }

  void WriteResources() {
    const std::string device = Device();
    made_.text += "resources:\n" +
                  Line("workers", int64_t{1}, "ranks; nanoGPT's torchrun --nproc_per_node") +
                  Line("device", device, "device");
    made_.text += fmt::format("precision: {:<19}  # dtype\n", Precision(device));
  }

  void WriteBatch() {
    const int64_t sequences = values_.Whole("batch_size");
    const int64_t length = values_.Whole("block_size");
    const int64_t accumulated = values_.Whole("gradient_accumulation_steps");
    int64_t total = 0;
    const bool too_many = __builtin_mul_overflow(sequences, length, &total) ||
                          __builtin_mul_overflow(total, accumulated, &total);
    if (too_many || total <= 0) {
      values_.AddProblem(fmt::format(
          "batch_size * block_size * gradient_accumulation_steps is {} * {} * {}; expected whole "
          "numbers above 0 with a product that fits 64 bits",
          sequences, length, accumulated));
    }
    made_.text += "batch:\n" + Line("micro_batch", sequences, "batch_size") +
                  Line("sequence", length, "block_size") +
                  Line("total_tokens", total,
                       fmt::format("batch_size * block_size * gradient_accumulation_steps ({}), "
                                   "over all ranks",
                                   accumulated));
  }

  void WriteOptimizer() {
    made_.text += "optimizer:\n" + Line("lr", values_.Real("learning_rate"), "learning_rate") +
                  Line("beta1", values_.Real("beta1"), "beta1") +
                  Line("beta2", values_.Real("beta2"), "beta2") +
                  Line("weight_decay", values_.Real("weight_decay"), "weight_decay") +
                  Line("grad_clip", values_.Real("grad_clip"), "grad_clip");
  }

  void WriteSchedule() {
    made_.text += "schedule:\n";
    if (!values_.Flag("decay_lr")) {
      made_.text += Line("kind", "constant", "decay_lr = False: no warm-up either");
      return;
    }
    const double rate = values_.Real("learning_rate");
    const double least = values_.Real("min_lr");
    if (rate > 0 && (least < 0 || least > rate)) {
      values_.AddProblem(fmt::format("{}, but {}: expected at most the learning rate",
                                     values_.Describe("min_lr"),
                                     values_.Describe("learning_rate")));
    }
    made_.text += Line("kind", "cosine", "decay_lr") +
                  Line("warmup_steps", values_.Whole("warmup_iters"), "warmup_iters") +
                  Line("warmup_form", "nanogpt", "(step + 1) / (warmup + 1)") +
                  Line("min_lr_ratio", rate > 0 ? least / rate : 0, "min_lr / learning_rate") +
                  Line("decay_steps", values_.Whole("lr_decay_iters"), "lr_decay_iters");
  }

  void WriteRest() {
    made_.text += "budget:\n" + Line("steps", values_.Whole("max_iters"),
                                     "max_iters; nanoGPT trains one step more");
    made_.text += "eval:\n" + Line("every", values_.Whole("eval_interval"), "eval_interval") +
                  Line("batches", values_.Whole("eval_iters"),
                       "eval_iters; nanoGPT measures the training text as well");
    WriteCheckpoints();
    if (values_.Has("seed")) {
      made_.text += fmt::format("seed: {:<24}  # seed\n", values_.Whole("seed"));
    }
  }

  void WriteCheckpoints() {
    made_.text += "checkpoint:\n";
    // Without a validation split nothing can improve.
    if (values_.Flag("always_save_checkpoint") || (data_.text.empty() && data_.val.empty())) {
      made_.text += Line("every", values_.Whole("eval_interval"), "always_save_checkpoint = True");
    } else {
      made_.text += Line("every", int64_t{0}, "always_save_checkpoint = False") +
                    Line("on_best", true, "RUN@best is what nanoGPT's ckpt.pt would hold");
    }
  }

  const NanogptConfig& config_;
  const Console& console_;
  const std::string path_;
  Values values_;
  NanogptRunFile made_;
  NanogptData data_;
  bool pretrained_ = false;
};

}  // namespace

StatusOr<NanogptRunFile> RunFileOfNanogpt(const NanogptConfig& config, const Console& console) {
  return Translation(config, console).Translate();
}

}  // namespace gp::gpctl
