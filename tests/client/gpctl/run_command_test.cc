// The commands for run files, watching, sampling and the doctor, and the demo's text.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>
#include <zlib.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "client/fake_run_service.h"
#include "client/gpctl/demo/demo_text.h"
#include "client/gpctl/doctor/machine_checks.h"
#include "client/gpctl/gpctl_runner.h"
#include "lib/base/temporary_directory.h"
#include "lib/formats/sample_checkpoint.h"
#include "runspec/run_file.h"

namespace gp::testing {
namespace {

using namespace std::string_literals;
using nlohmann::json;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

class RunCommandTest : public ::testing::Test {
 protected:
  RunCommandTest() { gpctl_.environment["GPCTL_SERVER"] = service_.address(); }

  Outcome Run(const std::vector<std::string>& arguments) { return gpctl_.Run(arguments); }

  void WriteFile(const std::string& name, const std::string& text) {
    std::ofstream(gpctl_.home() + "/" + name) << text;
  }

  void WriteProgram(const std::string& name, const std::string& body) {
    WriteFile(name, "#!/bin/sh\n" + body);
    std::filesystem::permissions(gpctl_.home() + "/" + name, std::filesystem::perms::owner_all);
  }

  // Writes a text that is long enough for training and validation.
  void WriteText() {
    std::string text;
    for (int i = 0; i < 20'000; ++i) text += "some text\n";
    WriteFile("in.txt", text);
  }

  // Writes a valid run file.
  void WriteRunFile() {
    WriteText();
    ASSERT_EQ(Run({"init", "run.yaml", "--preset", "tiny", "--text", "in.txt", "--force"}).code, 0);
  }

  std::vector<std::string> Submit(std::vector<std::string> more = {}) {
    std::vector<std::string> arguments = {"submit",           "run.yaml", "--set",
                                          "data.text=in.txt", "--set",    "budget.steps=20"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return arguments;
  }

  FakeRunService service_;
  GpctlRunner gpctl_;
};

TEST_F(RunCommandTest, SubmitSendsTheFileWithAbsoluteOverrides) {
  WriteRunFile();
  const Outcome outcome = Run(Submit({"--name", "mine", "--request-id", "r1"}));
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("Submitted mine (abcdefgh01)"));
  const v1::SubmitRequest request = service_.last_submit();
  EXPECT_EQ(request.request_id(), "r1");
  EXPECT_EQ(request.base_directory(), gpctl_.home());
  EXPECT_EQ(request.overrides(0), "data.text=[\"" + gpctl_.home() + "/in.txt\"]");
  EXPECT_EQ(request.overrides(1), "budget.steps=20");
}

TEST_F(RunCommandTest, SubmitSendsTheAbsolutePathOfATokenizer) {
  WriteRunFile();
  WriteFile("mine.json", R"({"kind":"bytes"})");
  const Outcome outcome = Run(Submit({"--set", "data.tokenizer=mine.json"}));
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const v1::SubmitRequest request = service_.last_submit();
  EXPECT_THAT(request.overrides(), Contains("data.tokenizer=" + gpctl_.home() + "/mine.json"));
  const Outcome damaged = Run(Submit({"--set", "data.tokenizer=in.txt"}));
  EXPECT_EQ(damaged.code, 2);
  EXPECT_THAT(damaged.err, HasSubstr("data.tokenizer: " + gpctl_.home() + "/in.txt: this is no"));
}

// Case runs-and-service/47: a user who is not told of a change makes it twice.
TEST_F(RunCommandTest, WhatWasChangedIsSaidWhenTheOutputCannotBeWritten) {
  WriteRunFile();
  service_.AddRun(MakeRun("a", "aaaaaaaa01", v1::RUN_STATE_RUNNING));
  for (const int error : {ENOSPC, EPIPE}) {
    for (const char* format : {"text", "json"}) {
      gpctl_.output_error = error;
      const Outcome submitted = Run(Submit({"-o", format}));
      EXPECT_EQ(submitted.code, 1);
      EXPECT_THAT(submitted.err, HasSubstr("abcdefgh01")) << format;
      const Outcome cancelled = Run({"cancel", "a", "-o", format});
      EXPECT_EQ(cancelled.code, 1);
      EXPECT_THAT(cancelled.err, HasSubstr("aaaaaaaa01")) << format;
      const Outcome generated = Run({"data", "generate", "made.txt", "--bytes", "1kB", "--force"});
      EXPECT_EQ(generated.code, 1);
      EXPECT_THAT(generated.err, HasSubstr("made.txt")) << format;
    }
  }
}

TEST_F(RunCommandTest, SubmitMakesUpARequestId) {
  WriteRunFile();
  ASSERT_EQ(Run(Submit()).code, 0);
  EXPECT_GE(service_.last_submit().request_id().size(), 16u);
}

// The error names the option --name, not the run file's key.
TEST_F(RunCommandTest, ANameThatCannotBeIsRefusedByItsOption) {
  WriteRunFile();
  const auto output = Run({"submit", "run.yaml", "--name", "a/b"});
  EXPECT_EQ(output.code, 2);
  EXPECT_THAT(output.err, HasSubstr("error: --name: 'a/b' cannot be a run's name"));
}

TEST_F(RunCommandTest, EveryProblemOfARunFileIsLocatedAndNothingIsSubmitted) {
  WriteFile("bad.yaml",
            "apiVersion: gp/v1\nname: x\noptimiser:\n  lr: 1\nbatch: {micro_batch: many}\n");
  for (const char* command : {"submit", "validate"}) {
    const Outcome outcome = Run({command, "bad.yaml"});
    EXPECT_EQ(outcome.code, 2);
    EXPECT_THAT(outcome.err, HasSubstr("bad.yaml:3:1"));
    EXPECT_THAT(outcome.err, HasSubstr("did you mean 'optimizer'"));
    EXPECT_THAT(outcome.err, HasSubstr("bad.yaml:5:"));
  }
  EXPECT_EQ(service_.last_submit().source(), "");
  const json document = json::parse(Run({"validate", "bad.yaml", "-o", "json"}).out);
  EXPECT_EQ(document["valid"], false);
  EXPECT_GE(document["problems"].size(), 2u);
  EXPECT_EQ(Run({"submit", "missing.yaml"}).code, 2);
}

TEST_F(RunCommandTest, ValidateShowsThePlan) {
  WriteRunFile();
  const Outcome outcome =
      Run({"validate", "run.yaml", "--set", "data.text=in.txt", "--set", "budget.steps=20"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("20 steps"));
  EXPECT_THAT(outcome.out, HasSubstr("tokens per step"));
}

// Before, 'validate' accepted such files, and 'submit' failed with an error message of protobuf.
TEST_F(RunCommandTest, ARunFileInAnotherEncodingIsRefusedByEveryCommand) {
  WriteRunFile();
  const std::string text = *ReadFile(gpctl_.home() + "/run.yaml");
  std::string wide;
  for (const char c : text) wide += {c, '\0'};
  WriteFile("marked.yaml", "\xff\xfe" + wide);
  WriteFile("wide.yaml", wide);
  WriteFile("latin.yaml", text + "# caf\xe9\n");
  const std::string way = "expected a run file; convert it: iconv -f UTF-16";
  for (const char* command : {"validate", "submit"}) {
    for (const auto& [name, words] : {std::pair{"marked.yaml", way + " -t UTF-8 marked.yaml"},
                                      std::pair{"wide.yaml", way + "LE -t UTF-8 wide.yaml"},
                                      std::pair{"latin.yaml", "iconv -f ENCODING -t UTF-8"s}}) {
      const Outcome refused = Run({command, name});
      EXPECT_EQ(refused.code, 2) << command << " " << name;
      EXPECT_THAT(refused.err, HasSubstr(words));
    }
  }
}

TEST_F(RunCommandTest, ValidateOpensTheData) {
  WriteRunFile();
  std::filesystem::remove(gpctl_.home() + "/in.txt");
  const std::vector<std::string> arguments = {"validate",         "run.yaml", "--set",
                                              "data.text=in.txt", "--set",    "budget.steps=20"};
  // Workers of a service on TCP may have files that are not here.
  EXPECT_THAT(Run(arguments).err,
              HasSubstr("in.txt does not exist; put it there or mount its file"));
  WriteFile("in.txt", std::string(50'000, 'x'));
  const Outcome outcome = Run(arguments);
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("1 file (text): 45,000 tokens to train on, 5,000 for"));
  EXPECT_THAT(outcome.out, HasSubstr(" passes over the data"));
  EXPECT_THAT(outcome.out, HasSubstr("20 steps of"));
  EXPECT_THAT(outcome.out, HasSubstr("(forecast: "));
  const json document = json::parse(Run({"validate", "run.yaml", "--set", "data.text=in.txt",
                                         "--set", "budget.steps=20", "-o", "json"})
                                        .out);
  EXPECT_EQ(document["data"]["train_tokens"], 45'000);
  EXPECT_GT(document["plan"]["time_forecast"]["seconds"], 0.0);
}

TEST_F(RunCommandTest, DataThatCannotTrainIsRefusedByValidateAndSubmitInTheSameWords) {
  WriteRunFile();
  WriteFile("in.bz2", "BZh91AY&SY packed");
  for (const char* command : {"validate", "submit"}) {
    const Outcome outcome =
        Run({command, "run.yaml", "--set", "data.text=in.bz2", "--set", "budget.steps=20"});
    EXPECT_EQ(outcome.code, 2) << command;
    EXPECT_THAT(outcome.err, HasSubstr("run.yaml: data.text: " + gpctl_.home() +
                                       "/in.bz2 is compressed by bzip2, expected text"));
  }
  EXPECT_EQ(service_.last_submit().source(), "");
}

TEST_F(RunCommandTest, DataThatIsMissingIsRefusedWhereNobodyElseCouldHaveIt) {
  WriteRunFile();
  std::filesystem::remove(gpctl_.home() + "/in.txt");
  for (const char* server : {"unix:/nonexistent/gp.sock", ""}) {
    gpctl_.environment["GPCTL_SERVER"] = server;
    const Outcome outcome =
        Run({"validate", "run.yaml", "--set", "data.text=in.txt", "--set", "budget.steps=20"});
    EXPECT_EQ(outcome.code, 2) << server;
    EXPECT_THAT(outcome.err, HasSubstr("in.txt does not exist; put it there or mount its file"));
  }
}

TEST_F(RunCommandTest, DryRunAndConflictsAndServerErrors) {
  WriteRunFile();
  EXPECT_THAT(Run(Submit({"--dry-run"})).err, HasSubstr("Nothing was submitted"));
  EXPECT_TRUE(service_.last_submit().dry_run());
  service_.SetSubmitError(
      {grpc::StatusCode::ALREADY_EXISTS, "request id r1 was used for run other"});
  EXPECT_EQ(Run(Submit()).code, 5);
  service_.SetSubmitError({grpc::StatusCode::PERMISSION_DENIED, "viewers may not submit"});
  EXPECT_EQ(Run(Submit()).code, 4);
  service_.SetSubmitError({grpc::StatusCode::INVALID_ARGUMENT, "run.yaml:3:1: no such data"});
  EXPECT_EQ(Run(Submit()).code, 2);
}

TEST_F(RunCommandTest, SubmitWaitTellsHowTheRunEnded) {
  WriteRunFile();
  const auto end = [this](v1::RunState state) {
    service_.SetWatch({MakeRun("submitted", "abcdefgh01", v1::RUN_STATE_RUNNING),
                       MakeRun("submitted", "abcdefgh01", state)});
    return Run(Submit({"--wait"})).code;
  };
  EXPECT_EQ(end(v1::RUN_STATE_SUCCEEDED), 0);
  EXPECT_EQ(end(v1::RUN_STATE_FAILED), 7);
  EXPECT_EQ(end(v1::RUN_STATE_CANCELLED), 8);
  EXPECT_EQ(Run(Submit({"--wait", "--detach"})).code, 2);
}

TEST_F(RunCommandTest, InitAndExplain) {
  EXPECT_THAT(Run({"init", "--list"}).out, HasSubstr("gpt2-124m"));
  for (const char* preset : {"tiny", "shakespeare-char", "gpt2-124m"}) {
    ASSERT_EQ(Run({"init", "p.yaml", "--force", "--preset", preset}).code, 0);
    // In order, a micro-batch of the preset needs more text than this.
    const Outcome checked = Run({"validate", "p.yaml", "--set", "data.order=random"});
    EXPECT_EQ(checked.code, 0) << preset << ": " << checked.err;
  }
  EXPECT_EQ(Run({"init", "--preset", "gpt2-124"}).code, 2);
  EXPECT_THAT(Run({"init", "--preset", "gpt2-124"}).err, HasSubstr("did you mean"));
  EXPECT_EQ(Run({"init", "a.yaml"}).code, 0);
  EXPECT_EQ(Run({"init", "a.yaml"}).code, 5);
  EXPECT_EQ(Run({"init", "-"}).out, Run({"init"}).out);
  EXPECT_FALSE(FileExists(gpctl_.home() + "/-"));
  EXPECT_THAT(Run({"explain", "optimizer.lr"}).out, HasSubstr("lr"));
  EXPECT_EQ(Run({"explain", "optimizer.lrr"}).code, 2);
  EXPECT_TRUE(json::accept(Run({"explain", "--json-schema"}).out));
}

TEST_F(RunCommandTest, InitNamesTheTextByItsWholePath) {
  WriteFile("my text.txt", "text");
  ASSERT_EQ(Run({"init", "run.yaml", "--text", "my text.txt"}).code, 0);
  EXPECT_THAT(*ReadFile(gpctl_.home() + "/run.yaml"),
              HasSubstr("text: [\"" + gpctl_.home() + "/my text.txt\"]"));
  const Outcome missing = Run({"init", "--text", "missing.txt"});
  EXPECT_EQ(missing.code, 3);
  EXPECT_THAT(missing.err, HasSubstr(gpctl_.home() + "/missing.txt"));
}

TEST_F(RunCommandTest, InitTakesAFolderOrAPatternThatTrains) {
  std::string text;
  while (text.size() < 300'000) text += fmt::format("line {}\n", text.size());
  for (const char* name : {"books/a.txt", "books/b.txt", "lib [1]/a.txt", "notes/a.md"}) {
    ASSERT_TRUE(MakeDirectories(DirectoryOf(gpctl_.home() + "/" + name)).ok());
    WriteFile(name, text);
  }
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"books", "/books/*.txt"},       {"books/", "/books/*.txt"},
      {"books/*.txt", "/books/*.txt"}, {"books/[ab].txt", "/books/[ab].txt"},
      {"lib [1]", "/lib [1]/*.txt"},   {"lib [1]/a.txt", "/lib [1]/a.txt"},
      {"notes/*.md", "/notes/*.md"}};
  for (const auto& [named, written] : cases) {
    const Outcome made = Run({"init", "r.yaml", "--force", "--text", named});
    ASSERT_EQ(made.code, 0) << named << made.err;
    EXPECT_THAT(*ReadFile(gpctl_.home() + "/r.yaml"),
                HasSubstr("text: [\"" + gpctl_.home() + written + "\"]"));
    const Outcome checked = Run({"validate", "r.yaml"});
    EXPECT_EQ(checked.code, 0) << named << checked.err;
  }
  const std::string home = gpctl_.home();
  EXPECT_THAT(Run({"init", "--text", "notes"}).err,
              HasSubstr("notes is a folder without .txt or .jsonl files in it; name its files, for "
                        "example --text '" +
                        home + "/notes/*.md'"));
  EXPECT_THAT(Run({"init", "--text", "books"}).err, Not(HasSubstr("left out")));
  for (const char* name : {"books/more/c.txt", "books/README.md", "books/.hidden"}) {
    ASSERT_TRUE(MakeDirectories(DirectoryOf(home + "/" + name)).ok());
    WriteFile(name, text);
  }
  EXPECT_THAT(
      Run({"init", "--text", "books"}).err,
      HasSubstr("note: 1 folder and 1 other file in " + home + "/books are left out; --text '" +
                home + "/books/**/*.txt' also reads the files in its folders"));
  EXPECT_THAT(Run({"init", "--text", "none/*.txt"}).err, HasSubstr("no file matches"));
}

TEST_F(RunCommandTest, InitTakesSeveralTexts) {
  std::string text, lines;
  while (text.size() < 300'000) text += fmt::format("line {}\n", text.size());
  for (int i = 0; i < 3000; ++i) lines += fmt::format("{{\"text\": \"document {}\"}}\n", i);
  ASSERT_TRUE(MakeDirectories(gpctl_.home() + "/books").ok());
  for (const char* name : {"a.txt", "books/b.txt"}) WriteFile(name, text);
  WriteFile("c.jsonl", lines);
  WriteFile("lines.txt", lines);
  std::string tokens;
  for (int i = 0; i < 10'000; ++i) tokens += {static_cast<char>(i % 251), static_cast<char>(i % 7)};
  WriteFile("t.bin", tokens);
  const auto init = [&](const std::string& first, const std::string& second) {
    return Run({"init", "r.yaml", "--force", "--text", first, "--text", second});
  };
  const auto named = [&](const std::string& first, const std::string& second) {
    return json({gpctl_.home() + first, gpctl_.home() + second}).dump();
  };
  const std::vector<std::array<std::string, 3>> cases = {{"a.txt", "books", "/books/*.txt"},
                                                         {"a.txt", "c.jsonl", "/c.jsonl"}};
  for (const auto& [first, second, written] : cases) {
    const Outcome made = init(first, second);
    ASSERT_EQ(made.code, 0) << made.err;
    EXPECT_THAT(*ReadFile(gpctl_.home() + "/r.yaml"), HasSubstr(named("/a.txt", written)));
    const Outcome checked = Run({"validate", "r.yaml"});
    EXPECT_EQ(checked.code, 0) << checked.err;
  }
  EXPECT_THAT(init("a.txt", "t.bin").err, HasSubstr("t.bin holds tokens, but the earlier --text "
                                                    "holds text; use files of one kind"));
  EXPECT_THAT(init("a.txt", "lines.txt").err, HasSubstr("lines.txt holds lines of JSON, but the"));
  EXPECT_THAT(init("books", "books/b.txt").err, HasSubstr("b.txt is given twice"));
  EXPECT_THAT(init("a.txt", "none.txt").err, HasSubstr("none.txt does not exist"));
}

// A shell expands --text *.txt to several paths. Before, with --force, the run file replaced the
// second text.
TEST_F(RunCommandTest, InitReplacesNothingButRunFiles) {
  WriteText();
  WriteFile("b.txt", "a text\n");
  for (const char* force : {"--force", "--no-color"}) {
    const Outcome refused = Run({"init", "b.txt", "--text", "in.txt", force});
    EXPECT_EQ(refused.code, 5);
    EXPECT_THAT(refused.err, HasSubstr("b.txt exists already and is not a run file; --text takes "
                                       "one path: repeat it"));
  }
  ASSERT_EQ(Run({"init", "run.conf", "--text", "in.txt"}).code, 0);
  EXPECT_EQ(Run({"init", "run.conf", "--text", "in.txt", "--force"}).code, 0);
  EXPECT_EQ(*ReadFile(gpctl_.home() + "/b.txt"), "a text\n");
  EXPECT_THAT(Run({"init", gpctl_.home(), "--text", "in.txt", "--force"}).err,
              HasSubstr(gpctl_.home() + " is a directory; name a file in it"));
  EXPECT_THAT(Run({"init", "none/r.yaml", "--text", "in.txt"}).err,
              HasSubstr("create " + gpctl_.home() + "/none/r.yaml: No such file"));
}

// Before, a relative path in a run file that is read from a descriptor was searched in /dev.
TEST_F(RunCommandTest, PathsOfARunFileFromADescriptorAreThoseOfTheWorkingDirectory) {
  WriteText();
  WriteFile("run.yaml", "name: a\npreset: tiny\ndata:\n  text: in.txt\n");
  const FileDescriptor file(open((gpctl_.home() + "/run.yaml").c_str(), O_RDONLY));
  ASSERT_TRUE(file.valid());
  for (const char* folder : {"/dev/fd/", "/proc/self/fd/"}) {
    const Outcome outcome = Run({"validate", folder + std::to_string(file.get())});
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_THAT(outcome.out, HasSubstr(gpctl_.home() + "/in.txt"));
  }
}

TEST_F(RunCommandTest, PathsOfARunFileInAFolderOfDevAreBesideIt) {
  if (access("/dev/shm", W_OK) != 0) GTEST_SKIP() << "/dev/shm cannot be written";
  const TemporaryDirectory shared("/dev/shm");
  ASSERT_TRUE(WriteFileAtomically(shared.File("in.txt"), std::string(300'000, 'a') + "\n").ok());
  ASSERT_TRUE(
      WriteFileAtomically(shared.File("run.yaml"), "name: a\npreset: tiny\ndata:\n  text: in.txt\n")
          .ok());
  const Outcome outcome = Run({"validate", shared.File("run.yaml")});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr(shared.File("in.txt")));
}

TEST_F(RunCommandTest, InitNamesLinesOfJsonWhereTheyAreRead) {
  std::string lines, text;
  for (int i = 0; i < 3000; ++i) lines += fmt::format("{{\"text\": \"document {}\"}}\n", i);
  while (text.size() < 300'000) text += fmt::format("line {}\n", text.size());
  for (const char* name :
       {"a.jsonl", "a.ndjson", "l/a.jsonl", "l/b.jsonl", "m/a.jsonl", "lines.txt"}) {
    ASSERT_TRUE(MakeDirectories(DirectoryOf(gpctl_.home() + "/" + name)).ok());
    WriteFile(name, lines);
  }
  WriteFile("m/b.txt", text);
  const std::vector<std::pair<std::string, std::vector<std::string>>> cases = {
      {"a.jsonl", {"/a.jsonl"}}, {"a.ndjson", {"/a.ndjson"}},       {"l", {"/l/*.jsonl"}},
      {"l/*", {"/l/*"}},         {"m", {"/m/*.txt", "/m/*.jsonl"}}, {"lines.txt", {"/lines.txt"}}};
  for (const auto& [named, written] : cases) {
    for (const char* preset : {"tiny", "shakespeare-char", "gpt2-124m"}) {
      const Outcome made = Run({"init", "r.yaml", "--force", "--preset", preset, "--text", named});
      ASSERT_EQ(made.code, 0) << named << made.err;
      EXPECT_THAT(made.err, Not(HasSubstr("warning"))) << named;
      std::vector<std::string> files;
      for (const std::string& file : written) files.push_back(gpctl_.home() + file);
      const std::string run_file = *ReadFile(gpctl_.home() + "/r.yaml");
      EXPECT_THAT(run_file, HasSubstr("stream: " + json(files).dump()));
      EXPECT_EQ(run_file.find("format: jsonl") != std::string::npos, named == "lines.txt");
      const Outcome checked = Run({"validate", "r.yaml"});
      EXPECT_EQ(checked.code, 0) << named << " " << preset << ": " << checked.err;
    }
  }
}

std::string Words(const std::vector<int64_t>& words, size_t width) {
  std::string bytes;
  for (const int64_t word : words) {
    for (size_t i = 0; i < width; ++i) bytes.push_back(static_cast<char>(word >> 8 * i));
  }
  return bytes;
}

std::string Npy(const std::string& data, const std::string& type, size_t count) {
  std::string header =
      fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({},), }}", type, count);
  header.append(118 - header.size() - 1, ' ');
  return "\x93NUMPY" + std::string("\1\0\x76\0", 4) + header + "\n" + data;
}

TEST_F(RunCommandTest, InitNamesTokensWhereTheyAreRead) {
  std::vector<int64_t> ids, characters;
  for (int64_t i = 0; i < 20'000; ++i) {
    ids.push_back(i * i * 7919 % 50'257);
    characters.push_back(i * i % 97);
  }
  const std::string llmc_header = Words({20240520, 1, 20'000}, 4);
  const struct {
    std::string name, bytes, tokenizer;
  } cases[] = {{"raw.bin", Words(ids, 2), "gpt2"},
               {"raw.tokens", Words(ids, 2), "gpt2"},
               {"ids.npy", Npy(Words(ids, 2), "<u2", ids.size()), "gpt2"},
               {"wide.npy", Npy(Words(ids, 4), "<u4", ids.size()), "gpt2"},
               {"llmc.bin", llmc_header + std::string(1024 - 12, '\0') + Words(ids, 2), "gpt2"},
               {"bytes.bin", Words(characters, 2), "bytes"},
               {"named.txt", Words(ids, 2), "gpt2"}};
  for (const auto& [name, bytes, tokenizer] : cases) {
    WriteFile(name, bytes);
    for (const char* preset : {"tiny", "shakespeare-char"}) {
      const Outcome made = Run({"init", "r.yaml", "--force", "--preset", preset, "--text", name});
      ASSERT_EQ(made.code, 0) << name << made.err;
      EXPECT_THAT(made.err, HasSubstr("data.tokenizer: " + tokenizer + " is a guess"));
      EXPECT_THAT(*ReadFile(gpctl_.home() + "/r.yaml"),
                  HasSubstr(fmt::format("train: [\"{}/{}\"]", gpctl_.home(), name)));
      const Outcome checked = Run({"validate", "r.yaml"});
      EXPECT_EQ(checked.code, 0) << name << " " << preset << ": " << checked.err;
    }
  }
}

TEST_F(RunCommandTest, InitRefusesWhatARunCouldNotTrainOn) {
  std::string wide_text, list = "[1";
  for (int i = 0; i < 2000; ++i) {
    wide_text += std::string("a\0 \0b\0\n\0c\0d\0", 12);
    list += fmt::format(",{}", i);
  }
  std::vector<int64_t> ids;
  for (int64_t i = 0; i < 20'000; ++i) ids.push_back(i * i * 7919 % 50'257);
  const struct {
    std::string name, bytes, words;
  } cases[] = {
      {"a.txt", wide_text, "looks like text in UTF-16LE; convert it: iconv -f UTF-16LE -t UTF-8 "},
      {"b.txt", "\xff\xfe" + wide_text, "is text in UTF-16, expected text"},
      {"c.json", list + "]", "expected lines of JSON; tokens belong in data.train"},
      {"c.txt", list + "]", "looks like a list of numbers in JSON"},
      {"d.txt", "[\"first text\", \"second text\"]", "jq -c '.[] | {text: .}' "},
      {"e.bin", Words(ids, 4), "looks like tokens of 4 bytes"},
      {"f.npy", Npy(Words(ids, 8), "<i8", ids.size()), "NumPy type '<i8' (int64)"},
      {"g.txt", "(lp0\nVa text\np1\na.", "is a pickle, expected text"},
      {"h.txt", std::string("PK\3\4\x14\0", 6), "is a zip archive"},
      {"i.txt", "\xcf\xf0\xe8\xe2\xe5\xf2 \xec\xe8\xf0\n", "that are not UTF-8"},
  };
  for (const auto& [name, bytes, words] : cases) {
    WriteFile(name, bytes);
    const Outcome made = Run({"init", "r.yaml", "--text", name});
    EXPECT_EQ(made.code, 2) << name << made.err;
    EXPECT_THAT(made.err, HasSubstr(words)) << name;
    EXPECT_FALSE(FileExists(gpctl_.home() + "/r.yaml")) << name;
  }
  ASSERT_TRUE(MakeDirectories(gpctl_.home() + "/mixed").ok());
  WriteFile("mixed/a", "some text\n");
  WriteFile("mixed/b", "{\"text\": \"some\"}\n");
  EXPECT_THAT(Run({"init", "--text", "mixed/*"}).err, HasSubstr("names text and lines of JSON"));
  WriteFile("mixed/b", Words(ids, 2));
  EXPECT_THAT(Run({"init", "--text", "mixed/*"}).err, HasSubstr("names text and tokens"));
}

TEST_F(RunCommandTest, InitWarnsOfLinesWithoutTheTextsField) {
  WriteFile("a.jsonl", "{\"content\": \"a document\"}\n");
  const Outcome made = Run({"init", "r.yaml", "--text", "a.jsonl"});
  EXPECT_EQ(made.code, 0) << made.err;
  EXPECT_THAT(made.err, HasSubstr("a.jsonl:1: "));
  EXPECT_THAT(made.err, HasSubstr("data.text_field"));
}

TEST_F(RunCommandTest, StatusPrintsTheResolvedRunFile) {
  v1::Run run = MakeRun("a", "aaaaaaaa01", v1::RUN_STATE_RUNNING);
  run.set_resolved("apiVersion: gp/v1\nname: a\n");
  service_.AddRun(run);
  EXPECT_EQ(Run({"status", "a", "--run-file"}).out, run.resolved());
}

TEST_F(RunCommandTest, InitUnpacksTextForTrainersThatReadPlainFiles) {
  std::string text;
  while (text.size() < 30'000) text += fmt::format("line {}\n", text.size());
  const std::string packed = gpctl_.home() + "/book.txt.gz";
  gzFile file = gzopen(packed.c_str(), "wb");
  ASSERT_EQ(gzwrite(file, text.data(), static_cast<unsigned>(text.size())),
            static_cast<int>(text.size()));
  gzclose(file);
  const Outcome outcome = Run({"init", "--text", "book.txt.gz", "--state-dir", "state"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const std::string unpacked = gpctl_.home() + "/state/text/book.txt";
  EXPECT_THAT(outcome.out, HasSubstr("text: [\"" + unpacked + "\"]"));
  EXPECT_EQ(*ReadFile(unpacked), text);
}

v1::Node NodeWithSlots(int free, int busy) {
  v1::Node node;
  node.set_connected(true);
  for (int i = 0; i < free + busy; ++i) {
    v1::Slot& slot = *node.add_slots();
    slot.set_slot_id(fmt::format("cpu-{}", i));
    slot.set_device("cpu");
    if (i >= free) slot.set_run_id("another001");
  }
  return node;
}

TEST_F(RunCommandTest, InitTakesEveryFreeSlotOfTheService) {
  WriteFile("in.txt", "text");
  service_.AddNode(NodeWithSlots(3, 2));
  EXPECT_THAT(Run({"init", "--text", "in.txt"}).out, HasSubstr("workers: 3 "));
}

TEST_F(RunCommandTest, InitTakesNoMoreRanksThanTheBatchHasPartsFor) {
  WriteText();
  service_.AddNode(NodeWithSlots(1000, 0));
  ASSERT_EQ(Run({"init", "p.yaml", "--preset", "gpt2-124m", "--text", "in.txt"}).code, 0);
  // In order, a micro-batch of the preset needs more text than this.
  const Outcome checked = Run({"validate", "p.yaml", "--set", "data.order=random"});
  EXPECT_EQ(checked.code, 0) << checked.err;
}

TEST_F(RunCommandTest, SubmitTellsWhichSlotsStayIdle) {
  WriteRunFile();
  service_.AddNode(NodeWithSlots(2, 1));
  EXPECT_THAT(Run(Submit({"--set", "resources.workers=1"})).err,
              HasSubstr("1 of 2 free slots, each with its own cores; --set resources.workers=2"));
  EXPECT_THAT(Run(Submit({"--set", "resources.workers=2"})).err, Not(HasSubstr("slots")));
}

TEST_F(RunCommandTest, WatchPrintsLinesWithoutATerminal) {
  service_.AddRun(MakeRun("a", "aaaaaaaa01", v1::RUN_STATE_RUNNING));
  service_.SetWatch({MakeRun("a", "aaaaaaaa01", v1::RUN_STATE_SUCCEEDED)});
  v1::MetricPoint point;
  point.set_step(500);
  point.set_loss(2.5);
  service_.AddPoint(point);
  const Outcome outcome = Run({"watch", "a", "--interval", "10ms"});
  EXPECT_EQ(outcome.code, 0);
  EXPECT_THAT(outcome.out, HasSubstr("a succeeded"));
  EXPECT_THAT(outcome.out, HasSubstr("step 500/2000 | loss 2.5000"));
  EXPECT_THAT(outcome.out, Not(HasSubstr("\x1b")));
}

TEST_F(RunCommandTest, WatchPrintsEachEvaluationWithoutATerminal) {
  service_.AddRun(MakeRun("a", "aaaaaaaa01", v1::RUN_STATE_RUNNING));
  service_.SetWatch({MakeRun("a", "aaaaaaaa01", v1::RUN_STATE_SUCCEEDED)});
  for (const int64_t step : {100, 200, 300, 500}) {
    v1::MetricPoint point;
    point.set_step(step);
    if (step == 100 || step == 300) point.set_validation_loss(2.5);
    service_.AddPoint(point);
  }
  const std::string out = Run({"watch", "a", "--interval", "10ms"}).out;
  EXPECT_THAT(out, HasSubstr("step 100/2000 | "));
  EXPECT_THAT(out, HasSubstr("step 300/2000 | "));
  EXPECT_THAT(out, HasSubstr("step 500/2000 | "));
}

TEST_F(RunCommandTest, WatchRedrawsOnATerminalUnlessColourIsRefused) {
  service_.AddRun(MakeRun("a", "aaaaaaaa01", v1::RUN_STATE_RUNNING));
  service_.SetWatch({MakeRun("a", "aaaaaaaa01", v1::RUN_STATE_FAILED)});
  gpctl_.terminal = true;
  const Outcome screen = Run({"watch", "a", "--interval", "10ms"});
  EXPECT_EQ(screen.code, 7);
  EXPECT_THAT(screen.out, HasSubstr("\x1b["));
  EXPECT_THAT(screen.out, HasSubstr("FAILED"));
  EXPECT_THAT(Run({"watch", "a", "--interval", "10ms", "--no-color"}).out, Not(HasSubstr("\x1b")));
  gpctl_.environment["NO_COLOR"] = "1";
  EXPECT_THAT(Run({"watch", "a", "--interval", "10ms"}).out, Not(HasSubstr("\x1b")));
}

TEST_F(RunCommandTest, CtrlCDetachesFromWatch) {
  service_.AddRun(MakeRun("a", "aaaaaaaa01", v1::RUN_STATE_RUNNING));
  service_.SetWatch({MakeRun("a", "aaaaaaaa01", v1::RUN_STATE_RUNNING)});
  gpctl_.interrupt_when_out_contains = "a running";
  const Outcome outcome = Run({"watch", "a"});
  EXPECT_EQ(outcome.code, 130);
  EXPECT_THAT(outcome.err, HasSubstr("Detached. a continues"));
}

TEST_F(RunCommandTest, WatchAsJsonIsAStreamOfRuns) {
  service_.AddRun(MakeRun("a", "aaaaaaaa01", v1::RUN_STATE_RUNNING));
  service_.SetWatch({MakeRun("a", "aaaaaaaa01", v1::RUN_STATE_RUNNING),
                     MakeRun("a", "aaaaaaaa01", v1::RUN_STATE_CANCELLED)});
  const Outcome outcome = Run({"watch", "a", "-o", "json"});
  EXPECT_EQ(outcome.code, 8);
  std::istringstream lines(outcome.out);
  std::vector<std::string> states;
  for (std::string line; std::getline(lines, line);) states.push_back(json::parse(line)["state"]);
  EXPECT_THAT(states, ::testing::ElementsAre("running", "cancelled"));
}

TEST_F(RunCommandTest, StatusAsJsonHasWhatEveryRankComputesWith) {
  v1::Run run = MakeRun("a", "aaaaaaaa01", v1::RUN_STATE_RUNNING);
  service_.AddRun(run);
  EXPECT_FALSE(json::parse(Run({"status", "a", "-o", "json"}).out).contains("engine"));
  run.set_name("b");
  run.set_run_id("bbbbbbbb01");
  run.mutable_choices()->set_isa("avx2");
  run.mutable_choices()->set_threads_per_rank(2);
  run.mutable_choices()->set_logical_shards(4);
  (*run.mutable_choices()->mutable_kernels())["avx2"] = "choices";
  service_.AddRun(run);
  EXPECT_EQ(json::parse(Run({"status", "b", "-o", "json"}).out)["engine"],
            json({{"isa", "avx2"},
                  {"threads_per_rank", 2},
                  {"logical_shards", 4},
                  {"kernels", {{"avx2", "choices"}}}}));
}

TEST_F(RunCommandTest, SampleRunsTheSamplerOnTheCheckpoint) {
  service_.AddRun(MakeRun("a", "aaaaaaaa01", v1::RUN_STATE_SUCCEEDED));
  v1::Checkpoint checkpoint;
  checkpoint.set_step(100);
  checkpoint.set_latest(true);
  checkpoint.set_directory("/c/100");
  service_.AddCheckpoint(checkpoint);
  EXPECT_EQ(Run({"sample", "a"}).code, 5);  // the program is missing
  WriteProgram("gp-sampler", "printf '%s\\n---------------\\nsecond\\n' \"$2\"\n");
  EXPECT_EQ(Run({"sample", "a"}).out, "/c/100\n---------------\nsecond\n");
  EXPECT_EQ(Run({"sample", "/some/dir"}).code, 3);
  const std::string directory = gpctl_.home() + "/some/dir";
  formats::WriteSampleCheckpoint(directory, 100);
  EXPECT_THAT(Run({"sample", directory}).out, StartsWith(directory + "\n"));
  const json document = json::parse(Run({"sample", "a@100", "-n", "2", "-o", "json"}).out);
  EXPECT_EQ(document["samples"], json({"/c/100", "second"}));
  for (const int code : {1, 2, 3, 9}) {
    WriteProgram("gp-sampler", fmt::format("exit {}\n", code));
    EXPECT_EQ(Run({"sample", "a"}).code, code) << "the same table everywhere";
  }
  EXPECT_EQ(Run({"sample", "b"}).code, 3);
}

TEST_F(RunCommandTest, VerifyTellsADirectoryThatIsNoCheckpoint) {
  EXPECT_EQ(Run({"ckpt", "verify", gpctl_.home()}).code, 3);
  WriteFile("manifest.json", "{");
  EXPECT_EQ(Run({"ckpt", "verify", gpctl_.home() + "/"}).code, 9);
}

TEST_F(RunCommandTest, TheDoctorNamesMissingProgramsAndHowToGetThem) {
  const Outcome outcome = Run({"doctor"});
  EXPECT_EQ(outcome.code, 1);
  EXPECT_THAT(outcome.out, HasSubstr("FAIL  gp-trainer"));
  EXPECT_THAT(outcome.out, HasSubstr("-> build it"));
  for (const char* name : {"gp-coordinator", "gp-worker", "gp-trainer", "gp-sampler"})
    WriteProgram(name, "echo $0 1\n");
  EXPECT_EQ(Run({"doctor"}).code, 0);
  EXPECT_EQ(json::parse(Run({"doctor", "-o", "json"}).out)["kind"], "Diagnosis");
}

TEST_F(RunCommandTest, DoctorDoesNotAdviseToStartAServiceThatRunsElsewhere) {
  const std::string out = Run({"--server", "127.0.0.1:1", "--timeout", "1s", "doctor"}).out;
  EXPECT_THAT(out, HasSubstr("warn  coordinator"));
  EXPECT_THAT(out, Not(HasSubstr("up --detach")));
}

TEST_F(RunCommandTest, TheDoctorWarnsOfACoordinatorThatServesAPortWithoutTls) {
  EXPECT_THAT(Run({"doctor"}).out, Not(HasSubstr("--insecure")));
  service_.SetInsecure();
  const Outcome outcome = Run({"doctor"});
  EXPECT_THAT(outcome.out, HasSubstr("warn  coordinator"));
  EXPECT_THAT(outcome.out, HasSubstr("-> start it without --insecure"));
}

TEST(CheckConfinement, TellsWhatTheKernelLacksAndWhatFollows) {
  using gpctl::Check;
  using gpctl::CheckConfinement;
  using gpctl::Grade;
  const Check whole = CheckConfinement({.has = "files (Landlock 7)", .missing = ""});
  EXPECT_EQ(whole.grade, Grade::kOk);
  EXPECT_EQ(whole.finding, "trainers and samplers: files (Landlock 7)");
  const Check without = CheckConfinement({.has = "", .missing = "files (Landlock)"});
  EXPECT_EQ(without.grade, Grade::kWarning);
  EXPECT_THAT(without.finding, HasSubstr("nothing; the kernel lacks files (Landlock)"));
  EXPECT_THAT(without.fix, HasSubstr("only from people"));
}

TEST_F(RunCommandTest, TheDoctorOverfitsOneBatchAndGivesAVerdict) {
  WriteFile("run.yaml", "data: {text: [a.txt]}\nbudget: {steps: 10}\n");
  WriteFile("bad.yaml", "data: {text: [a.txt]}\nbudgte: {steps: 10}\n");
  const std::string file = gpctl_.home() + "/run.yaml";
  EXPECT_EQ(Run({"doctor", "--overfit", file}).code, 5) << "the program is missing";
  EXPECT_EQ(Run({"doctor", "--overfit", gpctl_.home() + "/bad.yaml"}).code, 2);
  const std::string step = R"({"step":10,"loss":2.5,"grad_norm":1.0,"step_seconds":0.25})";
  const std::string learned =
      R"({"learned":true,"step":120,"loss":0.009,"parameters":800000,"tokens":512})";
  WriteProgram("gp-trainer", "printf '%s\\n%s\\n' '" + step + "' '" + learned + "'\n");
  const Outcome good = Run({"doctor", "--overfit", file, "--set", "optimizer.lr=1e-3"});
  EXPECT_EQ(good.code, 0) << good.err;
  EXPECT_THAT(good.out, HasSubstr("step   10   loss 2.5000"));
  EXPECT_THAT(good.out, HasSubstr("ok: 800k parameters overfit one batch of 512 tokens"));
  std::istringstream lines(Run({"doctor", "--overfit", file, "-o", "json"}).out);
  std::string first, last;
  std::getline(lines, first);
  std::getline(lines, last);
  EXPECT_EQ(json::parse(first)["loss"], 2.5);
  EXPECT_EQ(json::parse(last)["kind"], "Overfit");
  EXPECT_EQ(json::parse(last)["learned"], true);
  const std::string stuck = R"({"learned":false,"step":1000,"loss":4.1,"parameters":1,"tokens":2})";
  WriteProgram("gp-trainer", "echo '" + stuck + "'\nexit 1\n");
  const Outcome bad = Run({"doctor", "--overfit", file});
  EXPECT_EQ(bad.code, 1);
  EXPECT_THAT(bad.out, HasSubstr("FAIL: after 1,000 steps"));
  WriteProgram("gp-trainer", "exit 2\n");
  EXPECT_EQ(Run({"doctor", "--overfit", file}).code, 2);
  WriteProgram("gp-trainer", "exit 4\n");
  EXPECT_EQ(Run({"doctor", "--overfit", file}).code, 1);
}

// gpctl has read the run file from its standard input, so gp-trainer cannot.
TEST_F(RunCommandTest, TheDoctorOverfitsTheRunFileOfItsInput) {
  const std::string seen = gpctl_.home() + "/seen.yaml";
  WriteProgram(
      "gp-trainer",
      "[ \"$1 $3\" = '--spec --overfit' ] && [ $# = 3 ] && cat \"$2\" >" + seen +
          "\necho '{\"learned\":true,\"step\":1,\"loss\":0,\"parameters\":1,\"tokens\":2}'\n");
  gpctl_.input = "data: {text: [a.txt]}\nbudget: {steps: 10}\n";
  const Outcome good = Run({"doctor", "--overfit", "-", "--set", "optimizer.lr=0.002"});
  EXPECT_EQ(good.code, 0) << good.err;
  const auto loaded = runspec::LoadRunFile(ReadFile(seen).value_or(""), "seen.yaml");
  ASSERT_TRUE(loaded.spec.has_value());
  EXPECT_EQ(loaded.spec->optimizer.lr, 0.002);
  EXPECT_THAT(loaded.spec->data.text, ElementsAre(gpctl_.home() + "/a.txt"));
}

TEST(MachineChecks, ReadWhatTheKernelSays) {
  using gpctl::Grade;
  EXPECT_EQ(gpctl::CheckProcessor("model name\t: X\nflags\t\t: fpu avx2 fma\n", 2).grade,
            Grade::kOk);
  EXPECT_EQ(gpctl::CheckProcessor("flags : fpu sse2\n", 2).grade, Grade::kWarning);
  EXPECT_EQ(gpctl::CheckMemory("MemTotal: 8000000 kB\nMemAvailable: 100 kB\n").grade, Grade::kFail);
  EXPECT_EQ(gpctl::CheckMemory("MemTotal: 8000000 kB\nMemAvailable: 7000000 kB\n").grade,
            Grade::kOk);
  EXPECT_EQ(gpctl::CheckClock(100).grade, Grade::kWarning);
}

TEST(DemoText, CountsTheWordsThatOccurInTheText) {
  const auto share =
      gpctl::CountKnownWords("The hacker's zorkmid THE foo", "the Hacker's foobar foo");
  EXPECT_EQ(share.words, 4u);  // the last one may have been cut
  EXPECT_EQ(share.known, 3u);
  EXPECT_DOUBLE_EQ(gpctl::CountKnownWords("a b. ", "a b").share(), 1.0);
  EXPECT_EQ(gpctl::CountKnownWords("", "a").share(), 0.0);
}

TEST(DemoText, RefusesWhatCannotBeLearnedFrom) {
  GpctlRunner home;
  const std::string path = home.home() + "/small.txt";
  EXPECT_EQ(gpctl::ReadDemoText(path).status().code(), StatusCode::kNotFound);
  std::ofstream(path) << "short";
  EXPECT_EQ(gpctl::ReadDemoText(path).status().code(), StatusCode::kInvalidArgument);
  std::ofstream(path) << std::string(50000, 'x');
  EXPECT_EQ(gpctl::ReadDemoText(path)->size(), 50000u);
  EXPECT_EQ(gpctl::FindDemoText({"/no/such", path}).value(), path);
  EXPECT_EQ(gpctl::FindDemoText({"/no/such"}).status().code(), StatusCode::kNotFound);
}

}  // namespace
}  // namespace gp::testing
