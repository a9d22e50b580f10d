// Goal: every member of every message is in the payload, under the key that other versions use. New
// members must be added here.
#include "contract/messages.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "contract/codec.h"

namespace gp::link {
namespace {

template <typename... Members>
size_t Count(const Members&...) {
  return sizeof...(Members);
}

// The overload for a message fails to compile when a member is added to it: then give the member a
// key in contract/codec.cc and a value below, and name it here.
size_t MemberCount(const Hello& m) {
  const auto& [protocol, protocol_min, version, incarnation] = m;
  return Count(protocol, protocol_min, version, incarnation);
}
size_t MemberCount(const contract::ResumePoint& m) {
  const auto& [step, directory, digest] = m;
  return Count(step, directory, digest);
}
size_t MemberCount(const Start& m) {
  const auto& [id, name, epoch, rank, size, resolved, directory, address, resume, threads, shards,
               begun, begins_leg, passes_over, isa, kernels] = m;
  return Count(id, name, epoch, rank, size, resolved, directory, address, resume, threads, shards,
               begun, begins_leg, passes_over, isa, kernels);
}
size_t MemberCount(const Configure& m) {
  const auto& [epoch, rank, addresses, secret, isa, kernels, nccl_id, encrypted] = m;
  return Count(epoch, rank, addresses, secret, isa, kernels, nccl_id, encrypted);
}
size_t MemberCount(const Go& m) {
  const auto& [epoch] = m;
  return Count(epoch);
}
size_t MemberCount(const Stop& m) {
  const auto& [reason, save_within_ms] = m;
  return Count(reason, save_within_ms);
}
size_t MemberCount(const SealResult& m) {
  const auto& [step, sealed, reason] = m;
  return Count(step, sealed, reason);
}
size_t MemberCount(const Listening& m) {
  const auto& [address, levels, kernels, nccl_id] = m;
  return Count(address, levels, kernels, nccl_id);
}
size_t MemberCount(const Ready& m) {
  const auto& [epoch, step] = m;
  return Count(epoch, step);
}
size_t MemberCount(const contract::StepPhases& m) {
  const auto& [wait, forward, backward, exposed, optimizer, other] = m;
  return Count(wait, forward, backward, exposed, optimizer, other);
}
size_t MemberCount(const contract::TrainingPoint& m) {
  const auto& [step, tokens, loss, rate, norm, speed, mfu, seconds, validation, scores, epoch,
               skipped, spike, phases, peak, source, wait, target, warning, at] = m;
  return Count(step, tokens, loss, rate, norm, speed, mfu, seconds, validation, scores, epoch,
               skipped, spike, phases, peak, source, wait, target, warning, at);
}
size_t MemberCount(const RankNumbers& m) {
  const auto& [failed, reduce_seconds, reduce_bytes, ready, read] = m;
  return Count(failed, reduce_seconds, reduce_bytes, ready, read);
}
size_t MemberCount(const StepReport& m) { return MemberCount(m.point) + MemberCount(m.rank); }
size_t MemberCount(const contract::WrittenCheckpoint& m) {
  const auto& [step, directory, digest, size, validation, final, end_reason] = m;
  return Count(step, directory, digest, size, validation, final, end_reason);
}
size_t MemberCount(const CheckpointReport& m) {
  return MemberCount(static_cast<const contract::WrittenCheckpoint&>(m)) +
         Count(m.epoch, m.held_up_seconds);
}
size_t MemberCount(const Finished& m) {
  const auto& [epoch, step] = m;
  return Count(epoch, step);
}
size_t MemberCount(const Failed& m) {
  const auto& [cause, message] = m;
  return Count(cause, message);
}
size_t MemberCount(const Stopped& m) {
  const auto& [epoch, step, reason] = m;
  return Count(epoch, step, reason);
}
size_t MemberCount(const Waiting& m) {
  const auto& [epoch, reason] = m;
  return Count(epoch, reason);
}
size_t MemberCount(const Beat& m) {
  const auto& [phase, count, waits_for, peer, longest] = m;
  return Count(phase, count, waits_for, peer, longest);
}
size_t MemberCount(const Held& m) {
  const auto& [epoch, committed, prepared, reason] = m;
  return Count(epoch, committed, prepared, reason);
}
size_t MemberCount(const OpenModel& m) {
  const auto& [directory, precision, threads, streams, memory_bytes] = m;
  return Count(directory, precision, threads, streams, memory_bytes);
}
size_t MemberCount(const Generate& m) {
  const auto& [request, prompt, max_tokens, temperature, top_k, top_p, min_p, presence, frequency,
               bias, seed, sample, stop, logprobs, score_prompt, ignore_end, continues] = m;
  return Count(request, prompt, max_tokens, temperature, top_k, top_p, min_p, presence, frequency,
               bias, seed, sample, stop, logprobs, score_prompt, ignore_end, continues);
}
size_t MemberCount(const Withdraw& m) {
  const auto& [request] = m;
  return Count(request);
}
size_t MemberCount(const ModelReady& m) {
  const auto& [step, precision, device, streams, context, vocabulary, memory_bytes, reproducible] =
      m;
  return Count(step, precision, device, streams, context, vocabulary, memory_bytes, reproducible);
}
size_t MemberCount(const TokenScore& m) {
  const auto& [logprob, top, top_logprobs] = m;
  return Count(logprob, top, top_logprobs);
}
size_t MemberCount(const TextPiece& m) {
  const auto& [request, text, tokens, scores, prompt_scores, finish, error] = m;
  return Count(request, text, tokens, scores, prompt_scores, finish, error);
}
size_t MemberCount(const Generated& m) {
  const auto& [pieces] = m;
  return Count(pieces);
}

Start FullStart() {
  Start m;
  m.run_id = "run id";
  m.run_name = "run name";
  m.epoch = 3;
  m.rank = 1;
  m.world_size = 2;
  m.resolved = "resolved";
  m.run_directory = "run directory";
  m.data_address = "data address";
  m.resume = contract::ResumePoint{250, "directory", "digest"};
  m.threads = 5;
  m.logical_shards = 8;
  m.begun = true;
  m.begins_leg = true;
  m.passes_over = 260;
  m.isa = "avx2";
  m.kernels = {{"avx2", "choices"}};
  return m;
}

StepReport FullReport() {
  StepReport m;
  m.point.epoch = 3;
  m.point.step = 12;
  m.point.tokens = 4096;
  m.point.loss = 4.5;
  m.point.learning_rate = 0.25;
  m.point.gradient_norm = 1.5;
  m.point.step_seconds = 0.75;
  m.point.tokens_per_second = 1024.5;
  m.point.mfu = 0.5;
  m.point.phases = {1.25, 2.25, 3.25, 4.25, 5.25, 6.25};
  m.point.validation_loss = 7.5;
  m.point.skipped = true;
  m.point.spike = true;
  m.point.at_us = 1790000000000000;
  m.point.target_steps = 2000;
  m.point.peak_flops = 8.5;
  m.point.peak_source = "measured";
  m.point.processor_wait = 0.125;
  m.point.warning = "look here";
  m.point.scores = {{"quiz/completion/acc", 0.25}, {"val_bpb", 2.5}};
  m.rank.failed_saves = 2;
  m.rank.allreduce_seconds = 0.5;
  m.rank.allreduce_bytes = 4096;
  m.rank.batches_ready = 1;
  m.rank.data_read_bytes = 512;
  return m;
}

Generate FullGenerate() {
  Generate m;
  m.request = 7;
  m.prompt = {15496, 995};
  m.max_tokens = 20;
  m.temperature = 0.75;
  m.top_k = 40;
  m.top_p = 0.5;
  m.min_p = 0.25;
  m.presence_penalty = 1.5;
  m.frequency_penalty = -1.5;
  m.logit_bias = {{50256, -100}};
  m.seed = 1337;
  m.sample = 3;
  m.stop = {"stop"};
  m.logprobs = 2;
  m.score_prompt = true;
  m.ignore_end_of_text = true;
  m.continues_prompt = true;
  return m;
}

TextPiece FullPiece() {
  const TokenScore score{-0.5, {11}, {-0.25}};
  return {7, "text", {995}, {score}, {score}, "length", "why"};
}

struct Case {
  Message message;
  const char* payload;
};

const std::vector<Case>& Cases() {
  static const std::vector<Case> cases = {
      {Hello{2, 1, "0.1.0", "c0ffee"},
       R"({"protocol": 2, "protocol_min": 1, "version": "0.1.0", "incarnation": "c0ffee"})"},
      {FullStart(),
       R"({"run_id": "run id", "run_name": "run name", "epoch": 3, "rank": 1, "world_size": 2,
           "resolved": "resolved", "run_directory": "run directory",
           "data_address": "data address",
           "resume": {"step": 250, "directory": "directory", "manifest_digest": "digest"},
           "threads": 5, "logical_shards": 8, "begun": true, "begins_leg": true,
           "passes_over": 260,
           "isa": "avx2", "kernels": {"avx2": "choices"}})"},
      {Configure{3, 1, {"h:1", "h:2"}, "secret", "avx2", {{{"avx2", "choices"}}}, "00ff", true},
       R"({"epoch": 3, "rank": 1, "addresses": ["h:1", "h:2"], "secret": "secret", "isa": "avx2",
           "kernels": {"avx2": "choices"}, "nccl_id": "00ff", "encrypted": true})"},
      {Go{3}, R"({"epoch": 3})"},
      {Stop{"cancelled", 30000}, R"({"reason": "cancelled", "save_within_ms": 30000})"},
      {SealResult{250, true, "why"}, R"({"step": 250, "sealed": true, "reason": "why"})"},
      {Listening{"h:1", {{"avx512", "avx2"}}, {{{"avx2", "choices"}}}, "00ff"},
       R"({"address": "h:1", "isa_levels": ["avx512", "avx2"], "kernels": {"avx2": "choices"},
           "nccl_id": "00ff"})"},
      {Ready{3, 250}, R"({"epoch": 3, "step": 250})"},
      {FullReport(),
       R"({"epoch": 3, "step": 12, "tokens": 4096, "loss": 4.5, "learning_rate": 0.25,
           "gradient_norm": 1.5, "step_seconds": 0.75, "tokens_per_second": 1024.5, "mfu": 0.5,
           "phases": {"data_wait": 1.25, "forward": 2.25, "backward": 3.25,
                      "allreduce_exposed": 4.25, "optimizer": 5.25, "other": 6.25},
           "validation_loss": 7.5, "skipped": true, "spike": true, "at_us": 1790000000000000,
           "target_steps": 2000, "peak_flops": 8.5, "peak_source": "measured",
           "processor_wait": 0.125, "warning": "look here", "scores": {"quiz/completion/acc": 0.25, "val_bpb": 2.5},
           "failed_saves": 2, "allreduce_seconds": 0.5, "allreduce_bytes": 4096,
           "batches_ready": 1, "data_read_bytes": 512})"},
      {CheckpointReport{{250, "directory", "digest", 1048576, 1.5, true, "stopped early"}, 3, 0.25},
       R"({"epoch": 3, "step": 250, "directory": "directory", "manifest_digest": "digest",
           "size_bytes": 1048576, "validation_loss": 1.5, "final": true,
           "end_reason": "stopped early", "held_up_seconds": 0.25})"},
      {Finished{3, 2000}, R"({"epoch": 3, "step": 2000})"},
      {Failed{contract::ExitCause::kStorage, "disk full"},
       R"({"cause": 7, "message": "disk full"})"},
      {Stopped{3, 12, "SIGTERM"}, R"({"epoch": 3, "step": 12, "reason": "SIGTERM"})"},
      {Waiting{3, "no room"}, R"({"epoch": 3, "reason": "no room"})"},
      {OpenModel{"directory", "bf16", 2, 8, 1048576},
       R"({"directory": "directory", "precision": "bf16", "threads": 2, "streams": 8,
           "memory_bytes": 1048576})"},
      {FullGenerate(),
       R"({"request": 7, "prompt": [15496, 995], "max_tokens": 20, "temperature": 0.75,
           "top_k": 40, "top_p": 0.5, "min_p": 0.25, "presence_penalty": 1.5,
           "frequency_penalty": -1.5, "logit_bias": {"50256": -100.0}, "seed": 1337, "sample": 3,
           "stop": ["stop"], "logprobs": 2, "score_prompt": true, "ignore_end_of_text": true,
           "continues_prompt": true})"},
      {Withdraw{7}, R"({"request": 7})"},
      {ModelReady{250, "bf16", "cpu avx2", 8, 1024, 50257, 4096, true},
       R"({"step": 250, "precision": "bf16", "device": "cpu avx2", "streams": 8, "context": 1024,
           "vocabulary": 50257, "memory_bytes": 4096, "reproducible": true})"},
      {Generated{{FullPiece()}},
       R"({"pieces": [{"request": 7, "text": "text", "tokens": [995],
           "scores": [{"logprob": -0.5, "top": [11], "top_logprobs": [-0.25]}],
           "prompt_scores": [{"logprob": -0.5, "top": [11], "top_logprobs": [-0.25]}],
           "finish": "length", "error": "why"}]})"},
      {Beat{2, 77, 1, 3, 250},
       R"({"phase": 2, "count": 77, "waits_for": 1, "peer": 3, "longest_ms": 250})"},
      {Held{3, 12, true, "rank 1 closed"},
       R"({"epoch": 3, "committed": 12, "prepared": true, "reason": "rank 1 closed"})"}};
  return cases;
}

nlohmann::json PayloadOf(const Message& message) {
  return nlohmann::json::parse(EncodeFrame(message).substr(kHeaderBytes));
}

TEST(LinkMessages, EveryMessageIsWrittenUnderTheNamesOfTheFormat) {
  ASSERT_EQ(Cases().size(), std::variant_size_v<Message>);
  for (size_t i = 0; i < Cases().size(); ++i) {
    const auto& [message, payload] = Cases()[i];
    ASSERT_EQ(message.index(), i) << "one of each, in the order of their numbers";
    EXPECT_EQ(PayloadOf(message), nlohmann::json::parse(payload));
  }
}

TEST(LinkMessages, EveryMessageIsReadFromTheNamesOfTheFormat) {
  for (const auto& [message, payload] : Cases()) {
    const auto decoded = DecodePayload(TypeOf(message), payload);
    ASSERT_TRUE(decoded.ok()) << decoded.status();
    EXPECT_EQ(PayloadOf(*decoded), nlohmann::json::parse(payload));
  }
}

TEST(LinkMessages, EveryMemberHasAKey) {
  for (const auto& [message, payload] : Cases()) {
    const size_t members = std::visit([](const auto& m) { return MemberCount(m); }, message);
    EXPECT_EQ(nlohmann::json::parse(payload).size(), members) << payload;
  }
  EXPECT_EQ(PayloadOf(FullStart())["resume"].size(), MemberCount(contract::ResumePoint()));
  EXPECT_EQ(PayloadOf(FullReport())["phases"].size(), MemberCount(contract::StepPhases()));
  const auto piece = PayloadOf(Generated{{FullPiece()}})["pieces"][0];
  EXPECT_EQ(piece.size(), MemberCount(TextPiece()));
  EXPECT_EQ(piece["scores"][0].size(), MemberCount(TokenScore()));
}

TEST(LinkMessages, NumbersComeBackAtTheirEdges) {
  for (const int64_t step : {INT64_MIN, int64_t{-1}, int64_t{0}, INT64_MAX}) {
    const Message sent = Ready{UINT64_MAX, step};
    const auto decoded = DecodePayload(TypeOf(sent), EncodeFrame(sent).substr(kHeaderBytes));
    ASSERT_TRUE(decoded.ok()) << decoded.status();
    EXPECT_EQ(std::get<Ready>(*decoded).step, step);
    EXPECT_EQ(std::get<Ready>(*decoded).epoch, UINT64_MAX);
  }
}

TEST(LinkMessages, EveryExitCauseArrivesAsItselfAndALaterOneAsAnError) {
  constexpr int kLast = static_cast<int>(contract::ExitCause::kDiverged);
  for (int cause = 0; cause <= kLast + 1; ++cause) {
    const auto decoded = DecodePayload(
        TypeOf(Failed{}), R"({"message": "", "cause": )" + std::to_string(cause) + "}");
    ASSERT_TRUE(decoded.ok()) << decoded.status();
    EXPECT_EQ(std::get<Failed>(*decoded).cause, cause <= kLast
                                                    ? static_cast<contract::ExitCause>(cause)
                                                    : contract::ExitCause::kError);
  }
}

}  // namespace
}  // namespace gp::link
