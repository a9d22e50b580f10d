// `gp-peer-bench sample`: writes text with a key-value cache, alone or beside Hugging Face's
// generate.
#include <fmt/format.h>

#include <chrono>
#include <memory>
#include <optional>
#include <random>
#include <vector>

#include "bench/peer_bench/peer_command.h"
#include "bench/peer_bench/peer_program.h"
#include "worker/bench/core_set.h"
#include "worker/bench/model_flags.h"
#include "worker/bench/paired_samples.h"
#include "worker/bench/step_profile.h"
#include "worker/bench/timed_backend.h"
#include "worker/engine/model/gpt2_decoder.h"
#include "worker/sampler/token_generator.h"

namespace gp::engine {
namespace {

struct SampleFlags {
  ModelFlags model;
  int64_t prompt = 16;
  int64_t tokens = 64;
  PairedOptions paired;
  std::string weights = "packed";
  bool profile = false;
  std::string peer;
  std::string python;
};

// Wraps another decoder and times its calls, prompts and single tokens separately. The choice of
// the tokens is not included.
class TimedDecoder final : public Decoder {
 public:
  explicit TimedDecoder(Decoder& inner) : inner_(inner) {}

  int64_t slots() const override { return inner_.slots(); }
  int64_t length_max() const override { return inner_.length_max(); }
  int64_t vocabulary() const override { return inner_.vocabulary(); }
  int64_t length(int64_t slot) const override { return inner_.length(slot); }
  int64_t likely_count() const override { return inner_.likely_count(); }
  void Clear(int64_t slot) override { inner_.Clear(slot); }
  void Append(std::span<const SlotTokens> added, std::span<float> logits) override {
    const auto start = Clock::now();
    inner_.Append(added, logits);
    const std::chrono::duration<double, std::milli> elapsed = Clock::now() - start;
    (added[0].tokens.size() > 1 ? prompt_ms : step_ms).push_back(elapsed.count());
  }

  std::vector<double> prompt_ms;
  std::vector<double> step_ms;  // one token for each text

 private:
  using Clock = std::chrono::steady_clock;
  Decoder& inner_;
};

// A model with random weights that writes one text in each slot.
class SampleBench {
 public:
  // With a `backend`, the decoder packs its own copy of the weights there. If it is null, the
  // decoder reads a model's live weights.
  SampleBench(const SampleFlags& flags, const ModelOptions& options,
              std::unique_ptr<Backend> backend)
      : flags_(flags), slots_(flags.model.batch), backend_(std::move(backend)) {
    const DecoderOptions sizes{options.shape, slots_,
                               std::min(options.sequence, options.shape.context)};
    if (backend_ != nullptr) {
      decoder_ = std::make_unique<Gpt2Decoder>(sizes, ComputeTypeOf(options), *backend_);
      SetParameters(*MakeModel(options));
    } else {
      model_ = MakeModel(options);
      const std::span<const uint16_t> copy = model_->working_copy();
      decoder_ = std::make_unique<Gpt2Decoder>(
          sizes,
          DecoderWeights{model_->parameters().data(), copy.empty() ? nullptr : copy.data(),
                         model_->compute_type()},
          model_->backend());
    }
    timed_.emplace(*decoder_);
    std::mt19937 random(1);
    prompt_.resize(static_cast<size_t>(flags.prompt));
    for (int32_t& id : prompt_) {
      id = static_cast<int32_t>(random() % static_cast<uint64_t>(options.shape.vocabulary));
    }
  }

  // Continues a prompt in every slot; returns milliseconds.
  double Once() {
    std::vector<Generation> generations;
    for (int64_t i = 0; i < slots_; ++i) {
      generations.push_back({.prompt = prompt_,
                             .max_tokens = flags_.tokens,
                             .seed = 1337,
                             .sample = static_cast<uint64_t>(i)});
    }
    const auto start = std::chrono::steady_clock::now();
    GenerateTokens(*timed_, generations, timed_->vocabulary());
    const auto elapsed = std::chrono::steady_clock::now() - start;
    return std::chrono::duration<double, std::milli>(elapsed).count();
  }

  // Appends one more token in every slot, the same for all. Call AppendPrompts first.
  void AppendTokens() { Append(std::span(prompt_).first(1)); }
  void AppendPrompts() {
    for (int64_t i = 0; i < slots_; ++i) decoder_->Clear(i);
    Append(prompt_);
  }

  const char* kernels() { return backend_ ? backend_->name() : model_->backend().name(); }
  const TimedDecoder& times() const { return *timed_; }

 private:
  // Makes the model that has the weights. With micro_batch 1 its activations stay small.
  static std::unique_ptr<LanguageModel> MakeModel(ModelOptions options) {
    options.micro_batch = 1;
    auto model = MakeLanguageModel(options);
    InitializeNormal(1337, *model);
    return model;
  }

  // Copies the model's parameters to the decoder through host memory.
  void SetParameters(LanguageModel& model) {
    std::vector<float> values;
    for (const runspec::ParameterInfo& tensor : model.layout().tensors) {
      values.resize(static_cast<size_t>(tensor.count));
      model.backend().Download(values.data(), model.parameters().data() + tensor.offset,
                               tensor.count * static_cast<int64_t>(sizeof(float)));
      decoder_->SetParameter(tensor.name, values);
    }
  }

  void Append(std::span<const int32_t> tokens) {
    std::vector<SlotTokens> added;
    for (int64_t i = 0; i < slots_; ++i) added.push_back({i, tokens});
    logits_.resize(static_cast<size_t>(slots_ * decoder_->vocabulary()));
    decoder_->Append(added, logits_);
  }

  const SampleFlags flags_;
  const int64_t slots_;
  std::unique_ptr<Backend> backend_;      // the decoder's; null with live weights
  std::unique_ptr<LanguageModel> model_;  // null with packed weights
  std::unique_ptr<Gpt2Decoder> decoder_;
  std::optional<TimedDecoder> timed_;
  std::vector<int32_t> prompt_;
  std::vector<float> logits_;
};

// Times the operations of one decoding step, each between two marks of the backend.
Json ProfileTokens(const SampleFlags& flags, const ModelOptions& options) {
  if (flags.weights != "packed") {
    throw std::invalid_argument("--profile times a decoder with weights of its own: packed");
  }
  auto timed = std::make_unique<TimedBackend>(MakeBackend(WithoutTraining(options)).backend);
  TimedBackend& backend = *timed;
  SampleBench bench(flags, options, std::move(timed));
  bench.AppendPrompts();
  const auto count = static_cast<int>(std::min(flags.tokens, options.sequence - flags.prompt) - 1);
  bench.AppendTokens();
  backend.TakeTimes();
  for (int i = 0; i < count; ++i) bench.AppendTokens();
  return OperationsJson(backend.TakeTimes(), count);
}

// The lower bound of a step's time: all matrices are read once at the measured bandwidth, and
// multiplied with one row for each text at the measured peak.
Json MakeRoofline(const SampleFlags& flags, const ModelOptions& options, double step_ms) {
  const runspec::ModelShape& shape = options.shape;
  const double weights = static_cast<double>(shape.layers * 12 * shape.channels * shape.channels +
                                             shape.vocabulary_padded * shape.channels);
  const int64_t texts = flags.model.batch;
  const double flops = MeasureFlops(options, flags.model.peak_side);
  const double bandwidth = MeasureReadBandwidth(options, flags.model.peak_side);
  const double read_ms =
      1e3 * weights * static_cast<double>(BytesOf(ComputeTypeOf(options))) / bandwidth;
  const double multiply_ms = 1e3 * 2 * weights * static_cast<double>(texts) / flops;
  const double least_ms = std::max(read_ms, multiply_ms);
  return {{"flops_per_second", flops},
          {"bytes_per_second", bandwidth},
          {"read_ms", read_ms},
          {"multiply_ms", multiply_ms},
          {"tokens_per_second", 1e3 * static_cast<double>(texts) / least_ms},
          {"share", least_ms / step_ms}};
}

Json MakeReport(const SampleFlags& flags, const ModelOptions& options, SampleBench& bench,
                const PairedSamples& samples) {
  const SampleSummary ms = Summarize(samples.ours_ms);
  const SampleSummary step = Summarize(bench.times().step_ms);
  const auto texts = static_cast<double>(flags.model.batch);
  const auto written = static_cast<double>(flags.tokens) * texts;
  Json report = MakeDocument("SampleBench");
  report.update({{"model", flags.model.model},
                 {"batch", flags.model.batch},
                 {"prompt", flags.prompt},
                 {"tokens", flags.tokens},
                 {"precision", PrecisionName(options)},
                 {"threads", options.threads},
                 {"kernels", bench.kernels()},
                 {"weights", flags.weights},
                 {"ms", ToJson(ms)},
                 {"tokens_per_second", 1e3 * written / ms.median},
                 {"prompt_ms", ToJson(Summarize(bench.times().prompt_ms))},
                 {"step_ms", ToJson(step)},
                 {"step_tokens_per_second", 1e3 * texts / step.median},
                 {"roofline", MakeRoofline(flags, options, step.median)}});
  return report;
}

void PrintSample(const Json& r) {
  fmt::print("model {}, {} texts of {} tokens after {}, {}, {} threads, {} kernels\n",
             r["model"].get<std::string>(), r["batch"].get<int64_t>(), r["tokens"].get<int64_t>(),
             r["prompt"].get<int64_t>(), r["precision"].get<std::string>(), r["threads"].get<int>(),
             r["kernels"].get<std::string>());
  fmt::print("texts      {} ms   median and quartiles\n", SpreadText(r["ms"]));
  fmt::print("rate       {:.1f} tokens/s, prompts and the choice of tokens included\n",
             r["tokens_per_second"].get<double>());
  fmt::print("prompts    {} ms\n", SpreadText(r["prompt_ms"]));
  fmt::print("step       {} ms   one token of each text: {:.1f} tokens/s\n",
             SpreadText(r["step_ms"]), r["step_tokens_per_second"].get<double>());
  const Json& roofline = r["roofline"];
  fmt::print(
      "roofline   {:.1f} tokens/s, of which {:.0f}%: reading {:.2f} ms at {:.1f} GB/s, multiplying "
      "{:.2f} ms at {:.0f} GFLOP/s\n",
      roofline["tokens_per_second"].get<double>(), 100 * roofline["share"].get<double>(),
      roofline["read_ms"].get<double>(), 1e-9 * roofline["bytes_per_second"].get<double>(),
      roofline["multiply_ms"].get<double>(), 1e-9 * roofline["flops_per_second"].get<double>());
  if (r.contains("peer")) PrintPeer(r["peer"]);
  if (r.contains("operations")) PrintProfile(r["operations"]);
}

Status RunSample(const SampleFlags& flags) {
  const ModelOptions options = MakeModelOptions(flags.model);
  if (flags.prompt + flags.tokens > options.sequence) {
    throw std::invalid_argument(
        fmt::format("{} tokens after a prompt of {} do not fit --sequence {}", flags.tokens,
                    flags.prompt, options.sequence));
  }
  UseCores(options.threads);
  std::optional<PeerProcess> peer;
  if (!flags.peer.empty()) {
    PeerProgram program{"hf_generate.py", flags.python, PeerArguments(options)};
    program.arguments.push_back(fmt::format("--prompt={}", flags.prompt));
    program.arguments.push_back(fmt::format("--tokens={}", flags.tokens));
    ASSIGN_OR_RETURN(PeerProcess started, StartPeer(program));
    peer.emplace(std::move(started));
  }
  const Json operations = flags.profile ? ProfileTokens(flags, options) : Json();
  std::unique_ptr<Backend> packed;
  if (flags.weights == "packed") packed = MakeBackend(WithoutTraining(options)).backend;
  SampleBench bench(flags, options, std::move(packed));
  ASSIGN_OR_RETURN(const PairedSamples samples,
                   MeasurePaired(
                       flags.paired, [&] { return bench.Once(); }, peer ? &*peer : nullptr));
  Json report = MakeReport(flags, options, bench, samples);
  if (peer) report["peer"] = PeerJson(flags.peer, *peer, samples);
  if (flags.profile) report["operations"] = operations;
  flags.model.json() ? PrintJson(report) : PrintSample(report);
  return OkStatus();
}

}  // namespace

BenchRun AddSampleCommand(const Command& app) {
  auto flags = std::make_shared<SampleFlags>();
  flags->model.batch = 1;
  AddModelFlags(app, flags->model);
  AddEngineFlags(app, flags->model);
  app.Option("--prompt", flags->prompt, "tokens that are there already").Positive().ShowDefault();
  app.Option("--tokens", flags->tokens, "tokens to write after each prompt")
      .Positive()
      .ShowDefault();
  app.Option("--weights", flags->weights, "packed, a sampler's own, or live, a training model's")
      .OneOf({"packed", "live"})
      .ShowDefault();
  AddPairedFlags(app, flags->paired);
  app.Option("--peer", flags->peer, "also run this peer, in alternating blocks").OneOf({"hf"});
  app.Option("--python", flags->python, "Python with the peer's packages");
  app.Switch("--profile", flags->profile, "also time each operation of a step separately");
  return [flags] { return RunSample(*flags); };
}

}  // namespace gp::engine
