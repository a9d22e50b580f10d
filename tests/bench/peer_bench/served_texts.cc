#include "bench/peer_bench/served_texts.h"

#include <chrono>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "base/file.h"
#include "bench/peer_bench/peer_program.h"
#include "bench/peer_bench/sampler_process.h"
#include "bench/peer_bench/server_process.h"
#include "daemon/child_process.h"

namespace gp::engine {
namespace {

constexpr std::chrono::seconds kServerStartMax(120);
constexpr char kLlamaServer[] = ".deps/peers/llama.cpp/bin/llama-server";
constexpr double kTemperature = 0.8;
constexpr int64_t kTopK = 50;
// llama.cpp reserves cache in units of this many tokens.
constexpr int64_t kLlamaContextStep = 256;

nlohmann::json RequestBody(const TextRound& round, int64_t i) {
  return {{"prompt", round.prompts.at(static_cast<size_t>(i))},
          {"max_tokens", round.tokens},
          {"temperature", kTemperature},
          {"top_k", kTopK},
          {"top_p", 1.0},
          {"min_p", 0.0},
          {"seed", i},
          {"ignore_eos", true},
          {"stream", true},
          {"stream_options", {{"include_usage", true}}}};
}

class HttpServer : public TextServer {
 public:
  HttpServer(ServerProcess process, uint16_t port, std::string description, nlohmann::json extra)
      : process_(std::move(process)),
        port_(port),
        description_(std::move(description)),
        extra_(std::move(extra)) {}

  std::string description() const override { return description_; }

  StatusOr<LoadOutcome> Write(const TextRound& round) override {
    const auto body = [&](int64_t i) {
      nlohmann::json request = RequestBody(round, i);
      request.update(extra_);
      return request.dump();
    };
    return RunTextLoad({.port = port_,
                        .streams = round.streams,
                        .texts = std::ssize(round.prompts),
                        .body = body,
                        .probe = round.probe});
  }

  int64_t ResidentBytes() const override { return process_.ResidentBytes(); }
  uint16_t port() const override { return port_; }

 private:
  ServerProcess process_;
  const uint16_t port_;
  const std::string description_;
  const nlohmann::json extra_;  // fields added to every request
};

class LinkedSampler : public TextServer {
 public:
  explicit LinkedSampler(std::unique_ptr<SamplerProcess> process) : process_(std::move(process)) {}

  std::string description() const override {
    const link::ModelReady& ready = process_->ready();
    return fmt::format("gp-sampler over the link, {} on {}, {} streams", ready.precision,
                       ready.device, ready.streams);
  }

  StatusOr<LoadOutcome> Write(const TextRound& round) override {
    std::vector<link::Generate> texts;
    for (const auto& prompt : round.prompts) {
      texts.push_back({.prompt = prompt,
                       .max_tokens = round.tokens,
                       .temperature = kTemperature,
                       .top_k = kTopK,
                       .seed = texts.size(),
                       .ignore_end_of_text = true});
    }
    ASSIGN_OR_RETURN(std::vector<TextTiming> timings,
                     process_->Write(std::move(texts), round.streams));
    return LoadOutcome{.texts = std::move(timings)};
  }

 private:
  std::unique_ptr<SamplerProcess> process_;
};

StatusOr<std::string> OwnProgram(const std::string& name) {
  if (auto found = FindAboveProgram(name)) return *found;
  return NotFound("{} was not found beside gp-peer-bench; build it", name);
}

Status ConvertForLlama(const ServedModel& model, const std::string& python,
                       const std::string& output) {
  const auto script = FindAboveProgram("tests/bench/peers/llama_model.py");
  if (!script)
    return NotFound("tests/bench/peers/llama_model.py was not found above gp-peer-bench");
  const std::string interpreter =
      python.empty() ? FindAboveProgram(".deps/peers/bin/python").value_or("/usr/bin/python3")
                     : python;
  ASSIGN_OR_RETURN(const pid_t pid,
                   daemon::StartChild({.program = interpreter,
                                       .arguments = {*script, model.checkpoint, output, "--type",
                                                     model.precision == "bf16" ? "bf16" : "f32"},
                                       .confined = true}));
  if (daemon::AwaitExit(pid) == 0) return OkStatus();
  return FailedPrecondition("the weights could not be converted for llama.cpp; why is above");
}

}  // namespace

StatusOr<std::unique_ptr<TextServer>> StartGateway(const ServedModel& model) {
  ASSIGN_OR_RETURN(const std::string program, OwnProgram("gp-gateway"));
  const std::string address = JoinPath(model.scratch, "gateway.json");
  const std::vector<std::string> arguments = {"--model",          "bench=" + model.checkpoint,
                                              "--listen",         "127.0.0.1:0",
                                              "--metrics-listen", "127.0.0.1:0",
                                              "--address-file",   address,
                                              "--precision",      model.precision,
                                              "--threads",        fmt::format("{}", model.threads),
                                              "--streams",        fmt::format("{}", model.streams)};
  ASSIGN_OR_RETURN(
      ServerProcess process,
      ServerProcess::Start(program, arguments, JoinPath(model.scratch, "gateway.log")));
  ASSIGN_OR_RETURN(const uint16_t port, process.AwaitAddressFile(address, kServerStartMax));
  RETURN_IF_ERROR(process.AwaitHealthy(port, "/health", kServerStartMax));
  return std::make_unique<HttpServer>(std::move(process), port, "gp-gateway",
                                      nlohmann::json::object());
}

StatusOr<std::unique_ptr<TextServer>> StartLlamaServer(const ServedModel& model,
                                                       const std::string& python) {
  const auto program = FindAboveProgram(kLlamaServer);
  if (!program) return NotFound("{} is missing; run scripts/bootstrap --peers", kLlamaServer);
  const std::string weights = JoinPath(model.scratch, "llama.gguf");
  RETURN_IF_ERROR(ConvertForLlama(model, python, weights));
  ASSIGN_OR_RETURN(const uint16_t port, FindFreePort());
  const int64_t text_context =
      (model.text_tokens + kLlamaContextStep - 1) / kLlamaContextStep * kLlamaContextStep;
  const std::string threads = fmt::format("{}", model.threads);
  const std::vector<std::string> arguments = {
      "--model",         weights,
      "--host",          "127.0.0.1",
      "--port",          fmt::format("{}", port),
      "--threads",       threads,
      "--threads-batch", threads,
      "--parallel",      fmt::format("{}", model.streams),
      "--ctx-size",      fmt::format("{}", text_context * model.streams),
      "--offline"};
  ASSIGN_OR_RETURN(ServerProcess process,
                   ServerProcess::Start(*program, arguments, JoinPath(model.scratch, "llama.log")));
  RETURN_IF_ERROR(process.AwaitHealthy(port, "/health", kServerStartMax));
  // Without this, llama-server's prompt cache would skip the reading of prompts that an earlier
  // round already sent.
  return std::make_unique<HttpServer>(std::move(process), port,
                                      fmt::format("llama-server, {} threads", model.threads),
                                      nlohmann::json{{"cache_prompt", false}});
}

StatusOr<std::unique_ptr<TextServer>> StartSampler(const ServedModel& model) {
  ASSIGN_OR_RETURN(const std::string program, OwnProgram("gp-sampler"));
  ASSIGN_OR_RETURN(std::unique_ptr<SamplerProcess> process,
                   SamplerProcess::Start(program, {.directory = model.checkpoint,
                                                   .precision = model.precision,
                                                   .threads = model.threads,
                                                   .streams = model.streams,
                                                   .memory_bytes = uint64_t{1} << 33}));
  return std::make_unique<LinkedSampler>(std::move(process));
}

}  // namespace gp::engine
