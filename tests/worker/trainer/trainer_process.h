// TrainerProcess: a real gp-trainer, with the test at the other end of its link; and run files for
// it.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/file.h"
#include "contract/channel.h"
#include "lib/base/temporary_directory.h"

namespace gp::engine {

inline std::string TrainerPath() {
  if (const char* another = std::getenv("GP_TRAINER")) return another;
  const char* bin = std::getenv("GP_BIN");
  return std::string(bin == nullptr ? "build/release/bin" : bin) + "/gp-trainer";
}

// The run file of a tiny model with four logical shards, two micro-batches each, and dropout.
inline std::string TinyRunFile(const std::string& text_path, int64_t steps,
                               int64_t checkpoint_every) {
  return fmt::format(R"(apiVersion: gp/v1
name: tiny
model: {{n_layer: 2, n_head: 2, n_embd: 24, n_ctx: 16, dropout: 0.1}}
data: {{text: ["{}"], tokenizer: chars}}
resources: {{workers: 1, max_workers: 4}}
batch: {{micro_batch: 2, sequence: 16, total_tokens: 256}}
optimizer: {{lr: 3e-3}}
schedule: {{decay_steps: 30}}
budget: {{steps: {}}}
eval: {{every: 8, batches: 4}}
sample: {{every: 10, max_tokens: 10}}
checkpoint: {{every: {}, keep_last: 9}}
)",
                     text_path, steps, checkpoint_every);
}

// Multiple-choice questions that use only the characters of TinyText.
inline std::string TinyQuestions(int count) {
  std::string lines;
  for (int i = 0; i < count; ++i) {
    lines += fmt::format(
        R"({{"question": "line {}", "choices": ["of {}", "says {}.", "of"], "label": {}}})", i % 9,
        i % 7, i, i % 3);
    lines += '\n';
  }
  return lines;
}

inline std::string TinyText() {
  std::string text;
  for (int i = 0; i < 200; ++i) {
    text += fmt::format("line {} of {} says {}.\n", i, i * 7 % 31, i * i % 17);
  }
  return text;
}

// The bytes of a text as token ids of two bytes each, like a shard that nanoGPT writes.
inline std::string NanoGptShard(const std::string& text) {
  std::string shard;
  for (const char byte : text) shard += {byte, '\0'};
  return shard;
}

// The run file with `setting`, which it must contain, replaced by `other`.
inline std::string Replaced(std::string file, const std::string& setting,
                            const std::string& other) {
  return file.replace(file.find(setting), setting.size(), other);
}

class TrainerProcess {
 public:
  // Starts the program with `arguments`, and with `environment` ("NAME=VALUE") added to the test's.
  // If `managed`, the test holds the other end of its link. The log goes to the file `log` unless
  // that is empty.
  TrainerProcess(const std::vector<std::string>& arguments, bool managed,
                 std::vector<std::string> environment = {}, const std::string& log = "") {
    auto ends = link::Channel::MakePair();
    EXPECT_TRUE(ends.ok());
    const std::string path = TrainerPath();
    std::vector<char*> argv = {const_cast<char*>(path.c_str())};
    for (const std::string& argument : arguments) {
      argv.push_back(const_cast<char*>(argument.c_str()));
    }
    argv.push_back(nullptr);
    pid_ = fork();
    if (pid_ == 0) {
      if (managed && dup2(ends->second.get(), link::kEngineDescriptor) < 0) _exit(126);
      if (!log.empty()) {
        const int file = open(log.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
        if (file < 0 || dup2(file, STDERR_FILENO) < 0) _exit(126);
      }
      for (std::string& variable : environment) putenv(variable.data());
      execv(path.c_str(), argv.data());
      _exit(127);
    }
    if (managed) channel_ = std::make_unique<link::Channel>(std::move(ends->first), "trainer");
  }

  ~TrainerProcess() {
    if (pid_ > 0 && !exit_) {
      kill(pid_, SIGKILL);
      waitpid(pid_, nullptr, 0);
    }
  }
  TrainerProcess(const TrainerProcess&) = delete;
  TrainerProcess& operator=(const TrainerProcess&) = delete;

  void Send(const link::Message& message) { EXPECT_TRUE(channel_->Send(message).ok()); }

  // The next message of type T; skips others. Fails the test after a minute.
  template <typename T>
  T Await() {
    while (true) {
      const auto message = Next();
      if (!message) {
        ADD_FAILURE() << "the trainer did not send message type " << TypeNumber<T>();
        return T();
      }
      if (const T* wanted = std::get_if<T>(&*message)) return *wanted;
    }
  }

  // Nullopt if the link ended, or if nothing came for a minute.
  std::optional<link::Message> Next() {
    auto message = channel_->Receive(std::chrono::seconds(60));
    if (!message.ok()) return std::nullopt;
    return std::move(*message);
  }

  void CloseLink() { channel_->Shutdown(); }
  void Signal(int number) { kill(pid_, number); }

  // Waits for the end; returns the exit code, or 128 plus the signal.
  int Wait() {
    if (exit_) return *exit_;
    int status = 0;
    EXPECT_EQ(waitpid(pid_, &status, 0), pid_);
    exit_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    return *exit_;
  }

 private:
  template <typename T>
  static size_t TypeNumber() {
    return link::Message(T()).index() + 1;
  }

  pid_t pid_ = -1;
  std::optional<int> exit_;
  std::unique_ptr<link::Channel> channel_;
};

}  // namespace gp::engine
