// TestEpoch: the ranks of one epoch of a run as real trainer processes, which a test drives over
// their links like an agent and a coordinator.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "contract/messages.h"
#include "runspec/run_file.h"
#include "worker/trainer/trainer_process.h"

namespace gp::engine {

// A rank's log goes to the test's standard error, or to the file TestEpoch::Log(rank).
enum class LogTo { kStandardError, kFile };

// The ranks of one epoch of a run.
class TestEpoch {
 public:
  // `variables` are added to the environment of the ranks.
  TestEpoch(const TemporaryDirectory& directory, int world_size, uint64_t epoch,
            std::optional<contract::ResumePoint> resume = {},
            const std::vector<std::string>& variables = {}, LogTo log_to = LogTo::kStandardError)
      : directory_(directory), epoch_(epoch), resume_(std::move(resume)) {
    for (size_t rank = 0; rank < static_cast<size_t>(world_size); ++rank) {
      std::vector<std::string> environment;
      if (rank < variables.size()) environment.push_back(variables[rank]);
      const std::string log = log_to == LogTo::kFile ? Log(rank) : "";
      ranks.push_back(std::make_unique<TrainerProcess>(std::vector<std::string>{"--link"}, true,
                                                       std::move(environment), log));
    }
  }

  // The file with a rank's log, if LogTo::kFile.
  std::string Log(size_t rank) const { return directory_.File(fmt::format("rank-{}.log", rank)); }

  // Brings the ranks from Hello to Ready.
  void Form(const std::string& run_file) {
    Start(run_file);
    Configure();
    for (auto& rank : ranks) EXPECT_EQ(rank->Await<link::Ready>().epoch, epoch_);
  }

  void Configure() {
    link::Configure configure{.epoch = epoch_, .secret = "secret"};
    for (auto& rank : ranks) {
      offers.push_back(rank->Await<link::Listening>());
      configure.addresses.push_back(offers.back().address);
    }
    configure.nccl_id = offers[0].nccl_id;
    if (decide) decide(offers, configure);
    for (size_t r = 0; r < ranks.size(); ++r) {
      configure.rank = static_cast<int>(r);
      ranks[r]->Send(configure);
    }
  }

  void Start(const std::string& run_file) {
    const auto loaded = runspec::LoadRunFile(run_file, "run.yaml");
    ASSERT_TRUE(loaded.spec.has_value());
    for (size_t r = 0; r < ranks.size(); ++r) {
      const std::string incarnation = fmt::format("i{}", r);
      ranks[r]->Send(link::Hello{.version = "test", .incarnation = incarnation});
      EXPECT_EQ(ranks[r]->Await<link::Hello>().incarnation, incarnation);
      ranks[r]->Send(link::Start{.run_id = "run",
                                 .run_name = "tiny",
                                 .epoch = epoch_,
                                 .rank = static_cast<int>(r),
                                 .world_size = static_cast<int>(ranks.size()),
                                 .resolved = runspec::ResolvedYaml(*loaded.spec),
                                 .run_directory = directory_.File("run"),
                                 .data_address = "127.0.0.1",
                                 .resume = resumes.contains(r) ? resumes.at(r) : resume_,
                                 .threads = threads,
                                 .logical_shards = 4,
                                 .begun = begun,
                                 .isa = isa});
    }
  }

  void Go() {
    for (auto& rank : ranks) rank->Send(link::Go{.epoch = epoch_});
  }

  // Sends the stop to all ranks. They are paused meanwhile, so that none acts before all have it: a
  // rank that loses a peer waits only half a second for its own stop.
  void Stop(const link::Stop& stop) {
    for (auto& rank : ranks) rank->Signal(SIGSTOP);
    for (auto& rank : ranks) rank->Send(stop);
    for (auto& rank : ranks) rank->Signal(SIGCONT);
  }

  // Seals every checkpoint that a rank writes; returns them once all ranks have exited with status
  // 0. Passes other messages to `hear`, if given. Each rank has its own reading thread, because a
  // trainer blocks while its messages are not read.
  std::vector<link::CheckpointReport> Finish(
      const std::function<void(size_t rank, const link::Message&)>& hear = {}) {
    std::vector<link::CheckpointReport> written;
    std::mutex mutex;  // guards `written` and `hear`
    std::vector<std::jthread> listeners;
    for (size_t r = 0; r < ranks.size(); ++r) {
      listeners.emplace_back([&, r] {
        while (const auto message = ranks[r]->Next()) {
          const std::lock_guard lock(mutex);
          if (const auto* checkpoint = std::get_if<link::CheckpointReport>(&*message)) {
            written.push_back(*checkpoint);
            ranks[r]->Send(link::SealResult{.step = checkpoint->step, .sealed = true});
          } else if (hear) {
            hear(r, *message);
          }
        }
      });
    }
    listeners.clear();
    for (auto& rank : ranks) EXPECT_EQ(rank->Wait(), 0);
    return written;
  }

  std::vector<std::unique_ptr<TrainerProcess>> ranks;
  std::string isa;  // chosen in an earlier epoch
  int threads = 1;
  bool begun = false;  // the run has trained before
  // For ranks that resume from a different checkpoint.
  std::map<size_t, contract::ResumePoint> resumes;
  std::vector<link::Listening> offers;
  std::function<void(const std::vector<link::Listening>&, link::Configure&)> decide;

 private:
  const TemporaryDirectory& directory_;
  const uint64_t epoch_;
  const std::optional<contract::ResumePoint> resume_;
};

// The content of the weights file in a checkpoint's directory.
inline std::string ModelBytes(const std::string& checkpoint) {
  const auto bytes = ReadFile(JoinPath(checkpoint, "model.safetensors"));
  EXPECT_TRUE(bytes.ok()) << bytes.status();
  return bytes.ok() ? *bytes : "";
}

// The number of steps of TrainWhole, and the first epoch of a test.
inline constexpr int64_t kTinySteps = 16;
inline constexpr uint64_t kTinyEpoch = 4;

// Trains TinyRunFile completely, with a checkpoint every six steps; returns the checkpoints.
inline std::vector<link::CheckpointReport> TrainWhole(const TemporaryDirectory& directory,
                                                      int world_size, int64_t steps = kTinySteps) {
  const std::string text = directory.Write("text.txt", TinyText());
  TestEpoch epoch(directory, world_size, kTinyEpoch);
  epoch.Form(TinyRunFile(text, steps, 6));
  epoch.Go();
  return epoch.Finish();
}

inline contract::ResumePoint PointOf(const link::CheckpointReport& written) {
  return {written.step, written.directory, written.manifest_digest};
}

}  // namespace gp::engine
