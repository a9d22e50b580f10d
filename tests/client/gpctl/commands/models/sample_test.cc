// gpctl sample and gpctl chat through a gateway, and without one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "client/fake_gateway.h"
#include "client/fake_run_service.h"
#include "client/gpctl/gpctl_runner.h"
#include "client/gpctl/service/service_directory.h"
#include "client/gpctl/session/context_file.h"
#include "lib/base/eventually.h"
#include "lib/formats/sample_checkpoint.h"

namespace gp::gpctl {
namespace {

using nlohmann::json;
using testing::FakeGateway;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::Outcome;

// A service with the fake gateway.
class GatewayCommandTest : public ::testing::Test {
 protected:
  GatewayCommandTest() : directory_(gpctl_.home() + "/state") {
    service_.AddRun(testing::MakeRun("demo", "aaaaaaaa01", v1::RUN_STATE_SUCCEEDED));
    AddCheckpoint(200, false);
    AddCheckpoint(250, true);
    gateway_.SetModels({"aaaaaaaa01@250", "aaaaaaaa01@200"});
    EXPECT_TRUE(directory_.Create().ok());
    const ProcessIdentity self = *IdentifyProcess(getpid());
    EXPECT_TRUE(directory_
                    .Save({.supervisor = self,
                           .coordinator = self,
                           .gateway = self,
                           .address = service_.address(),
                           .gateway_address = gateway_.address(),
                           .ready = true})
                    .ok());
    EXPECT_TRUE(SaveStateContext(directory_.root(),
                                 {.server = service_.address(), .state_dir = directory_.root()})
                    .ok());
    gpctl_.environment["GPCTL_STATE_DIR"] = directory_.root();
    WriteProgram("gp-sampler", "printf 'the sampler: %s\\n' \"$*\"\n");
  }

  void AddCheckpoint(int64_t step, bool latest) {
    v1::Checkpoint checkpoint;
    checkpoint.set_step(step);
    checkpoint.set_latest(latest);
    checkpoint.set_directory(gpctl_.home() + "/step-" + std::to_string(step));
    std::filesystem::create_directory(checkpoint.directory());
    service_.AddCheckpoint(checkpoint);
  }

  void WriteProgram(const std::string& name, const std::string& body) {
    const std::string path = gpctl_.home() + "/" + name;
    std::ofstream(path) << "#!/bin/sh\n" << body;
    std::filesystem::permissions(path, std::filesystem::perms::owner_all);
  }

  // Writes a stand-in for gp-gateway that reports the address of the fake gateway.
  void WritePrivateGateway() {
    WriteProgram("gp-gateway",
                 "echo \"$@\" >\"$0.arguments\"\n"
                 "while [ $# -gt 0 ]; do [ \"$1\" = --address-file ] && file=$2; shift; done\n"
                 "trap 'echo stopped >\"$0.stopped\"; exit 0' TERM\n"
                 "echo '{\"address\": \"" +
                     gateway_.address() +
                     "\", \"metrics\": \"m\", \"pid\": 1}' >$file.new\nmv $file.new $file\n"
                     "while :; do sleep 0.02; done\n");
  }

  // The prompts that the fake gateway has received.
  std::vector<json> Prompts() const {
    std::vector<json> prompts;
    for (const json& request : gateway_.completions()) prompts.push_back(request["prompt"]);
    return prompts;
  }

  Outcome Chat(const std::string& input, std::vector<std::string> more = {}) {
    gpctl_.input = input;
    more.insert(more.begin(), {"chat", "demo", "--seed", "7"});
    return gpctl_.Run(more);
  }

  testing::FakeRunService service_;
  FakeGateway gateway_;
  testing::GpctlRunner gpctl_;
  ServiceDirectory directory_;
};

TEST_F(GatewayCommandTest, SampleAsksTheGatewayThatHasTheCheckpoint) {
  const Outcome outcome = gpctl_.Run({"sample", "demo", "-p", "zero", "--top-p", "0.9", "--min-p",
                                      "0.05", "--stop", "END", "--stop", "\n\n",
                                      "--presence-penalty", "0.5", "--frequency-penalty", "0.25"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(outcome.out, "zero one two\n");
  const json asked = gateway_.completions().at(0);
  EXPECT_EQ(asked["model"], "aaaaaaaa01@250");
  EXPECT_EQ(asked["seed"], 1337);
  EXPECT_EQ(asked["top_k"], 50);
  EXPECT_EQ(asked["top_p"], 0.9);
  EXPECT_EQ(asked["min_p"], 0.05);
  EXPECT_EQ(asked["stop"], json({"END", "\n\n"}));
  EXPECT_EQ(asked["presence_penalty"], 0.5);
  EXPECT_EQ(asked["frequency_penalty"], 0.25);
}

TEST_F(GatewayCommandTest, SeveralSamplesHaveTheSamplersForm) {
  EXPECT_EQ(gpctl_.Run({"sample", "demo", "-p", "p", "-n", "3"}).out,
            "p one two\n---------------\np one1 two1\n---------------\np one2 two2\n");
  const json document =
      json::parse(gpctl_.Run({"sample", "demo@200", "-p", "p", "-n", "2", "-o", "json"}).out);
  EXPECT_EQ(document["samples"], json({"p one two", "p one1 two1"}));
  EXPECT_EQ(document["checkpoint"], gpctl_.home() + "/step-200");
}

TEST_F(GatewayCommandTest, TheSamplerWritesWhatNoGatewayCan) {
  const auto by_sampler = [this](std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "sample");
    const Outcome outcome = gpctl_.Run(arguments);
    EXPECT_THAT(outcome.out, HasSubstr("the sampler: --checkpoint ")) << outcome.err;
    return outcome.out;
  };
  by_sampler({"demo", "--precision", "fp32"});
  by_sampler({"demo", "-n", "100"});
  formats::WriteSampleCheckpoint(gpctl_.home() + "/other", 10);
  by_sampler({gpctl_.home() + "/other"});
  gateway_.SetModels({});
  EXPECT_THAT(by_sampler({"demo", "--top-p", "0.9", "--stop", "a", "--stop", "b"}),
              HasSubstr("--top-k 50 --seed 1337 --count 1 --precision auto --top-p 0.9 --stop a "
                        "--stop b"));
  gateway_.SetError(503, "busy");
  by_sampler({"demo"});
  ASSERT_TRUE(directory_.Save({.address = service_.address()}).ok());
  gpctl_.environment.erase("GPCTL_STATE_DIR");
  gpctl_.environment["GPCTL_SERVER"] = service_.address();
  by_sampler({"demo"});
}

TEST_F(GatewayCommandTest, ATextThatBreaksOffIsAnErrorNotAnotherText) {
  gateway_.BreakStreams();
  const Outcome outcome = gpctl_.Run({"sample", "demo", "-p", "p"});
  EXPECT_EQ(outcome.code, 6);
  EXPECT_THAT(outcome.out, Not(HasSubstr("the sampler")));
  EXPECT_THAT(outcome.err, HasSubstr("ended the text early"));
}

TEST_F(GatewayCommandTest, ChatPipedPrintsTheTextAndNothingElse) {
  const Outcome outcome = Chat("zero\n\nthree\n");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(outcome.out, "zero one two\n one two\n three one two\n");
  EXPECT_EQ(outcome.err, "");
  EXPECT_EQ(Prompts(), std::vector<json>({"zero", "zero one two", "zero one two one two three"}));
  EXPECT_EQ(gateway_.completions().at(0)["seed"], 7);
}

TEST_F(GatewayCommandTest, ChatObeysItsCommands) {
  const Outcome outcome = Chat(
      "zero\n/temperature 0.5\n/seed 3\n/model demo@200\nmore\n/reset\n//slash\n/quit\nnever\n");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(Prompts(), std::vector<json>({"zero", "zero one two more", "/slash"}));
  EXPECT_EQ(gateway_.completions().at(1)["temperature"], 0.5);
  EXPECT_EQ(gateway_.completions().at(1)["seed"], 3);
  EXPECT_EQ(gateway_.completions().at(0)["model"], "aaaaaaaa01@250");
  EXPECT_EQ(gateway_.completions().at(1)["model"], "aaaaaaaa01@200");
}

TEST_F(GatewayCommandTest, ChatJoinsLinesThatEndInABackslash) {
  Chat("one\\\ntwo\n");
  EXPECT_EQ(Prompts(), std::vector<json>({"one\ntwo"}));
}

TEST_F(GatewayCommandTest, ChatGivesTheModelTheEndOfATextThatIsTooLong) {
  Chat(std::string(100, 'a') + "xyz\n", {"--max-tokens", "60"});
  const json asked = gateway_.completions().at(0);
  EXPECT_EQ(asked["max_tokens"], 32) << "half of the context";
  ASSERT_EQ(asked["prompt"].size(), 32u);
  EXPECT_EQ(asked["prompt"][31], 'z');
}

TEST_F(GatewayCommandTest, APersonHearsOfMistakesAndGoesOnAScriptEnds) {
  const Outcome script = Chat("/temprature 1\nzero\n");
  EXPECT_EQ(script.code, 2);
  EXPECT_THAT(script.err, HasSubstr("did you mean '/temperature'?"));
  gpctl_.terminal = gpctl_.typing = true;
  const Outcome person = Chat("/temprature 1\n/top-p 7\n/model demo@9\n/help\nzero\n");
  EXPECT_EQ(person.code, 0);
  EXPECT_THAT(person.err, HasSubstr("demo@250 on http://" + gateway_.address()));
  EXPECT_THAT(person.err, HasSubstr("did you mean '/temperature'?"));
  EXPECT_THAT(person.err, HasSubstr("/top-p takes a number from 0 to 1"));
  EXPECT_THAT(person.err, HasSubstr("it has steps 200, 250"));
  EXPECT_THAT(person.err, HasSubstr("Ctrl-D"));
  EXPECT_EQ(person.out, "> > > > >  one two\n> \n");
}

TEST_F(GatewayCommandTest, CtrlCStopsTheTextAndTheChatGoesOn) {
  gateway_.HangAfterPieces();
  gpctl_.terminal = gpctl_.typing = true;
  gpctl_.interrupt_when_out_contains = " one two";
  const Outcome outcome = Chat("zero\n/text\n/quit\n");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("zero one two\n")) << "what was written stays in the text";
  EXPECT_TRUE(Eventually([&] { return gateway_.left() == 1; }));
}

TEST_F(GatewayCommandTest, WithoutAGatewayChatStartsOneAndEndsIt) {
  ASSERT_TRUE(directory_.Save({.address = service_.address()}).ok());
  gpctl_.environment.erase("GPCTL_STATE_DIR");
  gpctl_.environment["GPCTL_SERVER"] = service_.address();
  EXPECT_EQ(Chat("zero\n").code, 5) << "gp-gateway is missing";
  WritePrivateGateway();
  gateway_.SetModels({"demo@250"});
  const Outcome outcome = Chat("zero\n");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(outcome.out, "zero one two\n");
  const std::string program = gpctl_.home() + "/gp-gateway";
  EXPECT_THAT(*ReadFile(program + ".arguments"),
              HasSubstr("--model demo=" + gpctl_.home() + "/step-250"));
  EXPECT_EQ(ReadFile(program + ".stopped").value_or(""), "stopped\n");
}

TEST_F(GatewayCommandTest, ChatIsForPeople) {
  EXPECT_EQ(gpctl_.Run({"chat", "demo", "-o", "json"}).code, 2);
}

}  // namespace
}  // namespace gp::gpctl
