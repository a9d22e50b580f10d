// The user service in this process on a real gRPC server. The test can block its resolver and its
// storage.
#include "coordinator/service/run_service.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <thread>

#include "base/file.h"
#include "coordinator/control/replay.h"
#include "coordinator/service/gate.h"
#include "coordinator/service/submission.h"
#include "coordinator/store/memory_store.h"
#include "coordinator/store/sample_events.h"
#include "lib/base/eventually.h"
#include "lib/base/temporary_directory.h"
#include "lib/rpc/connected_channel.h"
#include "rpc/server.h"
#include "storage/local_storage.h"

namespace gp::coordinator {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class HeldUpResolver final : public RunFileResolver {
 public:
  explicit HeldUpResolver(Gate& gate) : gate_(gate) {}
  StatusOr<ResolvedRun> Resolve(const SubmittedRunFile& submitted) const override {
    gate_.Pass();
    ResolvedRun resolved{SampleSubmission(), {}};
    Submission& submission = resolved.submission;
    submission.source = submitted.file.text;
    // A run that is to go on needs a run file that can be read.
    if (submitted.file.text.starts_with("apiVersion")) submission.resolved = submitted.file.text;
    submission.name = submitted.choose_name(
        submission.run_namespace, submitted.name.empty() ? submission.name : submitted.name);
    return resolved;
  }

 private:
  Gate& gate_;
};

class HeldUpStorage final : public StorageRoot {
 public:
  HeldUpStorage(const StorageRoot& storage, Gate& gate) : StorageRoot(storage), gate_(gate) {}
  Status CheckWritable() const override {
    gate_.Pass();
    return OkStatus();
  }

 private:
  Gate& gate_;
};

class Announcer final : public BatchObserver, public RecordObserver {
 public:
  explicit Announcer(ChangeHub& hub) : hub_(hub) {}
  void OnBatch(const PublishedBatch& batch) override {
    for (const RunId& run : batch.runs) hub_.Notify(run);
  }
  void OnRecorded(const RunId& run, const Progress&) override { hub_.Notify(run); }

 private:
  ChangeHub& hub_;
};

std::unique_ptr<grpc::ClientContext> Within(std::chrono::milliseconds deadline) {
  auto context = std::make_unique<grpc::ClientContext>();
  context->set_deadline(std::chrono::system_clock::now() + deadline);
  return context;
}

class RunServiceTest : public ::testing::Test {
 protected:
  explicit RunServiceTest(const Policy& policy = {}, const RunQuotaOptions& quota = {})
      : policy_(policy), quota_(quota) {}
  void SetUp() override {
    hub_.Start();
    reconciler_.Start();
    auto server = rpc::RpcServer::Start({.endpoints = {{listen()}}}, {&service_});
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
    stub_ = NewStub();
  }
  virtual std::string listen() const { return "127.0.0.1:0"; }
  void TearDown() override {
    resolving_.Open();
    storing_.Open();
    server_->Shutdown(std::chrono::seconds(0));
    lanes_.Stop(kPatience);
    reconciler_.Stop();
    hub_.Stop();
  }

  // Records `count` lines "1", "2" and so on, alternating between ranks 1 and 0.
  void RecordLines(const RunId& run, uint64_t count) {
    TelemetryBatch batch;
    for (uint64_t i = 1; i <= count; ++i) {
      batch.lines[run].push_back(
          {.rank = static_cast<int>(i % 2), .text = std::to_string(i), .source_sequence = i});
    }
    recorder_.Post(std::move(batch));
    while (recorder_.HasPending(run)) std::this_thread::yield();
  }
  // A stub on a connection of its own.
  std::unique_ptr<v1::RunService::Stub> NewStub() const {
    return v1::RunService::NewStub(rpc::ConnectedChannel(server_->address()));
  }

  static v1::SubmitRequest Request(const std::string& id, bool dry_run) {
    v1::SubmitRequest request;
    request.set_request_id(id);
    request.set_source("name: x\n");
    request.set_dry_run(dry_run);
    return request;
  }
  static Status Submit(v1::RunService::Stub& stub, const v1::SubmitRequest& request,
                       v1::SubmitResponse& response,
                       std::chrono::milliseconds deadline = kPatience) {
    return rpc::FromGrpc(stub.Submit(Within(deadline).get(), request, &response));
  }
  Status DryRun(const v1::SubmitRequest& request) {
    v1::SubmitResponse response;
    return Submit(*stub_, request, response);
  }

  // Sends dry runs that stay unanswered until the gate opens, each on its own connection.
  void HoldUpDryRuns(int count) {
    resolving_.Close();
    for (int i = 0; i < count; ++i) {
      waiting_.emplace_back([this, i] {
        v1::SubmitResponse response;
        (void)Submit(*NewStub(), Request("held-" + std::to_string(i), true), response);
      });
    }
    resolving_.AwaitArrived(2);  // both threads of the lane are now blocked
  }

  void ExpectVersion() {
    v1::VersionResponse response;
    EXPECT_TRUE(stub_->Version(Within(kPatience).get(), {}, &response).ok());
    EXPECT_EQ(response.version(), "test");
  }
  void ExpectQueries() {
    v1::ListResponse runs;
    EXPECT_TRUE(stub_->List(Within(kPatience).get(), {}, &runs).ok());
    v1::NodesResponse nodes;
    EXPECT_TRUE(stub_->Nodes(Within(kPatience).get(), {}, &nodes).ok());
  }

  // Waits until a run has failed because node "n" lacks its data.
  void LackData() {
    NodeConnected hello{.node = NodeId("n"), .session = 1, .name = "hole"};
    hello.slots = {{SlotId("s0"), "GPU-0", {0}}, {SlotId("s1"), "GPU-1", {1}}};
    ASSERT_TRUE(reconciler_.Post({.body = hello}));
    reconciler_.Request(SampleSubmit("r", "request-1"), [](const StatusOr<Admission>&) {});
    AwaitRun([](const auto& run) { return run.epoch == 1; });
    NodeReported report{NodeId("n"), 1, 0, {}, {}};
    for (int rank = 0; rank < 2; ++rank) {
      report.ranks.push_back({.run = RunId("r"), .epoch = 1, .rank = rank});
      report.ranks.back().phase = RankPhase::kExited;
      report.ranks.back().cause = ExitCause::kData;
    }
    ASSERT_TRUE(reconciler_.Post({.body = report}));
    AwaitRun([](const auto& run) { return !run.lacking_nodes.empty(); });
  }
  void AwaitRun(const std::function<bool(const gp::coordinator::Run&)>& condition) {
    ASSERT_TRUE(Eventually([&] {
      const auto run = reconciler_.snapshot()->FindRun(RunId("r"));
      return run != nullptr && condition(*run);
    }));
  }
  int DataProblems() {
    v1::NodesResponse nodes;
    EXPECT_TRUE(stub_->Nodes(Within(kPatience).get(), {}, &nodes).ok());
    return nodes.nodes_size() == 1 ? nodes.nodes(0).data_problems_size() : -1;
  }

  const Policy policy_;
  const RunQuotaOptions quota_;
  Gate resolving_;
  Gate storing_;
  TemporaryDirectory directory_;
  MemoryStore::Disk disk_;
  MemoryStore store_{disk_};
  ChangeHub hub_{SystemClock()};
  Announcer announcer_{hub_};
  Recorder recorder_{directory_.path(), {}, announcer_};
  Reconciler reconciler_{store_, SystemClock(), announcer_, *ReplayStore(store_), {}};
  HeldUpResolver resolver_{resolving_};
  LocalStorage files_;
  HeldUpStorage storage_{*StorageRoot::Open(files_, JoinPath(directory_.path(), "storage")),
                         storing_};
  WorkLanes lanes_;
  CheckpointVerifier verifier_{files_};
  const std::unique_ptr<TokenStore> tokens_ =
      TokenStore::Open(JoinPath(directory_.path(), "security"), SystemClock()).value();
  const std::unique_ptr<AuditLog> audit_ =
      AuditLog::Open(JoinPath(directory_.path(), "audit"), SystemClock()).value();
  AccessGate access_{*tokens_, *audit_, SystemClock(), {.plain_network_is_admin = true}};
  RunService service_{{access_, lanes_, hub_},
                      {reconciler_, recorder_, store_},
                      verifier_,
                      resolver_,
                      storage_,
                      SystemClock(),
                      {.version = "test", .policy = policy_, .quota = quota_}};
  std::unique_ptr<rpc::RpcServer> server_;
  std::unique_ptr<v1::RunService::Stub> stub_;
  std::vector<std::jthread> waiting_;
};

TEST_F(RunServiceTest, RunFilesThatTakeLongHoldUpNothingElse) {
  HoldUpDryRuns(8);
  ExpectVersion();
  ExpectQueries();
  resolving_.Open();
}

TEST_F(RunServiceTest, AStorageThatHangsHoldsUpOnlySubmits) {
  storing_.Close();
  for (int i = 0; i < 8; ++i) {
    waiting_.emplace_back([this, i] {
      v1::SubmitResponse response;
      const Status status = Submit(*stub_, Request("held-" + std::to_string(i), false), response);
      EXPECT_TRUE(status.ok()) << status;
    });
  }
  storing_.AwaitArrived(2);
  ExpectVersion();
  ExpectQueries();
  EXPECT_TRUE(DryRun(Request("dry", true)).ok());
  storing_.Open();
  waiting_.clear();  // all requests are answered before the server stops
}

TEST_F(RunServiceTest, RecordsThatCannotBeReadHoldUpOnlyStreams) {
  v1::SubmitResponse run;
  ASSERT_TRUE(Submit(*stub_, Request("r1", false), run).ok());
  // open() of a FIFO blocks until it has a writer.
  const std::string records = recorder_.DirectoryOf(RunId(run.run().run_id()));
  ASSERT_TRUE(MakeDirectories(records).ok());
  ASSERT_EQ(mkfifo(LinesPath(records).c_str(), 0600), 0);
  v1::LogsRequest request;
  request.set_run(run.run().run_id());
  std::vector<std::unique_ptr<grpc::ClientContext>> contexts;
  std::vector<std::unique_ptr<grpc::ClientReader<v1::LogLine>>> streams;
  for (int i = 0; i < 8; ++i) {
    contexts.push_back(Within(kPatience));
    streams.push_back(stub_->Logs(contexts.back().get(), request));
  }
  ExpectVersion();
  ExpectQueries();
  EXPECT_TRUE(DryRun(Request("dry", true)).ok());
  // The client cancels all streams while the workers are still blocked in the first two.
  for (const auto& context : contexts) context->TryCancel();
  for (const auto& stream : streams) {
    EXPECT_EQ(stream->Finish().error_code(), grpc::StatusCode::CANCELLED);
  }
  // Repeat, because a worker may reach the FIFO only after an earlier attempt.
  EXPECT_TRUE(Eventually([&] {
    FileDescriptor(open(LinesPath(records).c_str(), O_RDWR)).Close();
    return lanes_.streams.Stop(std::chrono::milliseconds(10));
  }));
}

// The client cancels just when a worker begins to write. The stream must be finished exactly once,
// because gRPC aborts the process when it is finished twice.
TEST_F(RunServiceTest, StreamsThatAreLetGoWhileTheyWriteEndOnce) {
  v1::SubmitResponse run;
  ASSERT_TRUE(Submit(*stub_, Request("r1", false), run).ok());
  RecordLines(RunId(run.run().run_id()), 1000);
  v1::LogsRequest request;
  request.set_run(run.run().run_id());
  std::vector<std::jthread> clients;
  for (int i = 0; i < 4; ++i) {
    clients.emplace_back([&] {
      const auto stub = NewStub();
      for (int round = 0; round < 200; ++round) {
        const auto context = Within(kPatience);
        const auto stream = stub->Logs(context.get(), request);
        v1::LogLine line;
        for (int lines = 0; lines < round % 8; ++lines) stream->Read(&line);
        context->TryCancel();
        stream->Finish();
      }
    });
  }
  clients.clear();
  v1::VersionResponse version;
  EXPECT_TRUE(stub_->Version(Within(kPatience).get(), {}, &version).ok());
}

TEST_F(RunServiceTest, TheTailOfALogIsFoundAcrossItsPages) {
  v1::SubmitResponse run;
  ASSERT_TRUE(Submit(*stub_, Request("r1", false), run).ok());
  const RunId id(run.run().run_id());
  constexpr uint64_t kLines = 1000;
  RecordLines(id, kLines);
  v1::LogsRequest request;
  request.set_run(id.value());
  request.set_rank(0);
  for (const size_t tail : {1, 63, 200, 500, 2000}) {
    request.set_tail(static_cast<int>(tail));
    const auto context = Within(kPatience);
    const auto stream = stub_->Logs(context.get(), request);
    std::vector<std::string> lines;
    for (v1::LogLine line; stream->Read(&line);) lines.push_back(line.text());
    ASSERT_EQ(lines.size(), std::min<size_t>(tail, kLines / 2));
    EXPECT_EQ(lines.back(), "1000");
    EXPECT_EQ(lines.front(), std::to_string(kLines - 2 * (lines.size() - 1)));
  }
}

TEST_F(RunServiceTest, WorkIsNotStartedOnceTheDeadlineOfItsCallHasPassed) {
  HoldUpDryRuns(2);
  waiting_.emplace_back([this] {
    v1::SubmitResponse response;
    EXPECT_EQ(Submit(*stub_, Request("late", true), response, std::chrono::seconds(3)).code(),
              StatusCode::kDeadlineExceeded);
  });
  // The server notices the deadline by itself, at about the same time as the client.
  EXPECT_TRUE(Eventually([this] { return lanes_.submits.waiting() == 1; }));
  EXPECT_TRUE(Eventually([this] { return lanes_.submits.waiting() == 0; }));
  resolving_.Open();
  waiting_.clear();
  EXPECT_TRUE(DryRun(Request("dry", true)).ok());
  EXPECT_EQ(resolving_.arrived(), 3);
}

TEST_F(RunServiceTest, ANodeThatLacksARunsDataIsListedWithIt) {
  LackData();
  EXPECT_EQ(DataProblems(), 1);
}

class RecheckAtOnceTest : public RunServiceTest {
 protected:
  RecheckAtOnceTest() : RunServiceTest({.data_recheck = std::chrono::nanoseconds(0)}) {}
};

TEST_F(RecheckAtOnceTest, ANodeThatTheRunNoLongerPassesOverIsNotListed) {
  LackData();
  EXPECT_TRUE(Eventually([this] { return DataProblems() == 0; }));
}

// Unix-socket connections have no peer address.
class RunServiceOnSocketTest : public RunServiceTest {
  std::string listen() const override { return "unix:" + JoinPath(directory_.path(), "socket"); }
};

TEST_F(RunServiceOnSocketTest, AClientWithTooManyOpenSubmitsIsToldSoAtOnceAndNobodyElse) {
  HoldUpDryRuns(2);
  grpc::CompletionQueue answers;
  constexpr size_t kCalls = 80;
  std::vector<v1::SubmitResponse> responses(kCalls);
  std::vector<std::unique_ptr<grpc::ClientContext>> contexts;
  std::vector<std::unique_ptr<grpc::ClientAsyncResponseReader<v1::SubmitResponse>>> calls;
  std::vector<grpc::Status> statuses(kCalls);
  for (size_t i = 0; i < kCalls; ++i) {
    contexts.push_back(Within(kPatience));
    calls.push_back(stub_->AsyncSubmit(contexts.back().get(),
                                       Request("open-" + std::to_string(i), true), &answers));
    calls.back()->Finish(&responses[i], &statuses[i], &statuses[i]);
  }
  void* answered = nullptr;
  bool ok = false;
  ASSERT_TRUE(answers.Next(&answered, &ok));
  EXPECT_THAT(static_cast<grpc::Status*>(answered)->error_message(),
              HasSubstr("64 requests of this connection wait for submits already"));
  // The limit is per connection: another client can still submit.
  v1::SubmitResponse other;
  EXPECT_EQ(
      Submit(*NewStub(), Request("other", true), other, std::chrono::milliseconds(300)).code(),
      StatusCode::kDeadlineExceeded);
  resolving_.Open();
  for (size_t i = 1; i < kCalls; ++i) ASSERT_TRUE(answers.Next(&answered, &ok));
}

TEST_F(RunServiceTest, ARequestThatIsTooLongIsRefusedBeforeItIsParsed) {
  v1::SubmitRequest submit = Request("long", true);
  submit.set_source(std::string(kSubmitBytesMax, ' '));
  EXPECT_THAT(Message(DryRun(submit)), HasSubstr("at most 1310720 are read"));
  v1::GetRequest get;
  get.set_run(std::string(kRequestBytesMax, 'x'));
  v1::Run run;
  EXPECT_THAT(stub_->Get(Within(kPatience).get(), get, &run).error_message(),
              HasSubstr("at most 16384 are read"));
  EXPECT_EQ(resolving_.arrived(), 0);
}

// Case runs-and-service/22: `cancel NAME` cancelled the newer of two live runs with this name, and
// the older one continued.
TEST_F(RunServiceTest, ARunFileThatIsSubmittedTwiceMakesTwoNames) {
  v1::SubmitResponse first, second;
  ASSERT_TRUE(Submit(*stub_, Request("a", false), first).ok());
  ASSERT_TRUE(Submit(*stub_, Request("b", false), second).ok());
  EXPECT_EQ(second.run().name(), first.run().name() + "-2");
  EXPECT_THAT(
      second.warnings(),
      ElementsAre(fmt::format("the name '{}' belongs to run {}, which has not ended: this "
                              "run is called '{}-2'",
                              first.run().name(), first.run().run_id(), first.run().name())));
  v1::CancelRequest cancel;
  v1::Run cancelled;
  cancel.set_run(first.run().name());
  cancel.set_request_id("c");
  ASSERT_TRUE(stub_->Cancel(Within(kPatience).get(), cancel, &cancelled).ok());
  EXPECT_EQ(cancelled.run_id(), first.run().run_id());
}

TEST_F(RunServiceTest, ANameThatTheCallerChoseIsNeverChanged) {
  v1::SubmitResponse first, second;
  v1::SubmitRequest request = Request("a", false);
  request.set_name("mine");
  ASSERT_TRUE(Submit(*stub_, request, first).ok());
  ASSERT_TRUE(Submit(*stub_, request, second).ok());
  EXPECT_EQ(second.run().run_id(), first.run().run_id()) << "the same request";
  request.set_request_id("b");
  const Status refused = Submit(*stub_, request, second);
  EXPECT_EQ(refused.code(), StatusCode::kAlreadyExists);
  EXPECT_EQ(Message(refused),
            fmt::format("the name 'mine' belongs to run {}, which has not ended: choose another "
                        "name, or cancel that run first",
                        first.run().run_id()));
}

TEST_F(RunServiceTest, SubmitsOfOneRunFileAtOnceMakeNamesOfTheirOwn) {
  constexpr int kSubmits = 16;
  std::vector<v1::SubmitResponse> responses(kSubmits);
  {
    std::vector<std::jthread> callers;
    for (int i = 0; i < kSubmits; ++i) {
      callers.emplace_back([&, i] {
        EXPECT_TRUE(
            Submit(*NewStub(), Request("r" + std::to_string(i), false), responses[size_t(i)]).ok());
      });
    }
  }
  std::set<std::string> names;
  for (const v1::SubmitResponse& response : responses) names.insert(response.run().name());
  EXPECT_EQ(names.size(), size_t{kSubmits});
}

constexpr char kWholeFile[] =
    "apiVersion: gp/v1\n"
    "name: base\n"
    "model: {n_layer: 1, n_head: 1, n_embd: 16, n_ctx: 16}\n"
    "data: {text: [/text.txt], tokenizer: bytes}\n"
    "batch: {micro_batch: 2, sequence: 16}\n"
    "budget: {steps: 100}\n";

class ContinuationTest : public RunServiceTest {
 protected:
  explicit ContinuationTest(const RunQuotaOptions& quota = {}) : RunServiceTest(Policy(), quota) {}

  // Alice's run "r", which was cancelled before it began.
  void AddEndedRun() {
    Event submit = SampleSubmit("r", "submit");
    submit.actor = "user alice";
    std::get<RunSubmitted>(submit.body).submission.resolved = kWholeFile;
    std::get<RunSubmitted>(submit.body).submission.parent_run.clear();
    reconciler_.Request(submit, [](const StatusOr<Admission>&) {});
    reconciler_.Request({.run = RunId("r"), .actor = "user", .body = CancelRequested{true}},
                        [](const StatusOr<Admission>&) {});
    AwaitRun([](const auto& run) { return IsTerminal(run.state); });
  }
  Status Continue(bool dry_run, v1::ContinueResponse& response) {
    v1::ContinueRequest request;
    request.set_request_id("leg");
    request.set_run("r");
    request.set_steps(200);
    request.set_dry_run(dry_run);
    return rpc::FromGrpc(stub_->Continue(Within(kPatience).get(), request, &response));
  }
};

TEST_F(ContinuationTest, ADryRunShowsTheLegsWithTheirRunFiles) {
  AddEndedRun();
  v1::ContinueResponse planned;
  const Status status = Continue(true, planned);
  ASSERT_TRUE(status.ok()) << status;
  ASSERT_EQ(planned.run().legs_size(), 2);
  EXPECT_EQ(planned.run().legs(0).resolved(), kWholeFile);
  EXPECT_FALSE(planned.run().legs(0).why_ended().empty());
  EXPECT_EQ(planned.run().legs(1).resolved(), planned.run().resolved());
  EXPECT_EQ(planned.run().legs(1).why_begun(), "extended to 100 steps");
  EXPECT_EQ(reconciler_.snapshot()->FindRun(RunId("r"))->leg.number, 1) << "nothing is stored";
}

class FullQuotaTest : public ContinuationTest {
 protected:
  FullQuotaTest() : ContinuationTest(RunQuotaOptions{.runs = 0}) {}
};

TEST_F(FullQuotaTest, ADryRunOfAContinuationIsRefusedLikeTheContinuation) {
  AddEndedRun();
  v1::ContinueResponse response;
  const Status dry = Continue(true, response);
  const Status real = Continue(false, response);
  EXPECT_EQ(real.code(), StatusCode::kResourceExhausted) << real;
  EXPECT_EQ(Message(dry), Message(real));
}

TEST_F(RunServiceTest, ALineageIsSentInOneRequestWithTheRunFiles) {
  const auto submit = [&](const std::string& id, const std::string& parent) {
    Event event = SampleSubmit(id, id);
    std::get<RunSubmitted>(event.body).submission.parent_run = parent;
    std::get<RunSubmitted>(event.body).submission.resolved = "name: " + id + "\n";
    reconciler_.Request(event, [](const StatusOr<Admission>&) {});
  };
  submit("base", "");
  submit("other", "");
  submit("child", "base");
  submit("grandchild", "child");
  submit("sibling", "base");
  submit("r", "gone");
  AwaitRun([](const auto&) { return true; });
  const auto lineage_of = [&](const std::string& run) {
    v1::LineageRequest request;
    request.set_run(run);
    const auto context = Within(kPatience);
    const auto stream = stub_->Lineage(context.get(), request);
    std::vector<std::string> ids;
    for (v1::LineageResponse response; stream->Read(&response);) {
      ids.push_back(response.run().run_id());
      EXPECT_EQ(response.run().resolved(), "name: " + ids.back() + "\n");
      EXPECT_EQ(response.run().legs_size(), 1);
    }
    EXPECT_TRUE(stream->Finish().ok());
    return ids;
  };
  EXPECT_THAT(lineage_of("child"), ElementsAre("base", "child", "grandchild", "sibling"));
  EXPECT_THAT(lineage_of("other"), ElementsAre("other"));
  EXPECT_THAT(lineage_of("r"), ElementsAre("r"));
}

TEST_F(RunServiceTest, LabelsAndNotesChangeAlsoAfterTheEndAndFindTheRun) {
  v1::SubmitResponse submitted;
  ASSERT_TRUE(Submit(*stub_, Request("a", false), submitted).ok());  // with the label a=b
  const auto annotate = [&](const std::string& id, const std::string& label,
                            const std::string& note) {
    v1::AnnotateRequest request;
    request.set_request_id(id);
    request.set_run(submitted.run().name());
    (*request.mutable_labels())[label] = "yes";
    request.set_note(note);
    v1::Run run;
    const grpc::Status status = stub_->Annotate(Within(kPatience).get(), request, &run);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return run;
  };
  const v1::Run queued = annotate("1", "kept", "before the end");
  EXPECT_EQ(queued.note(), "before the end");
  EXPECT_EQ(queued.labels().at("a"), "b");
  v1::CancelRequest cancel;
  cancel.set_run(submitted.run().run_id());
  cancel.set_request_id("c");
  v1::Run cancelled;
  ASSERT_TRUE(stub_->Cancel(Within(kPatience).get(), cancel, &cancelled).ok());
  ASSERT_EQ(cancelled.state(), v1::RUN_STATE_CANCELLED);
  EXPECT_EQ(cancelled.labels().at("kept"), "yes");
  EXPECT_EQ(annotate("2", "best", "after the end").labels_size(), 3);
  for (const char* key : {"kept", "best", "missing"}) {
    v1::ListRequest list;
    list.set_include_finished(true);
    (*list.mutable_labels())[key] = "yes";
    v1::ListResponse listed;
    ASSERT_TRUE(stub_->List(Within(kPatience).get(), list, &listed).ok());
    ASSERT_EQ(listed.runs_size(), std::string(key) == "missing" ? 0 : 1) << key;
    for (const v1::Run& run : listed.runs()) EXPECT_EQ(run.note(), "after the end");
  }
}

TEST_F(RunServiceTest, MoreOverridesThanAnybodyTypesAreRefused) {
  v1::SubmitRequest many = Request("many", true);
  for (int i = 0; i < 257; ++i) many.add_overrides("a=1");
  EXPECT_THAT(Message(DryRun(many)), HasSubstr("257 overrides; at most 256"));
  v1::SubmitRequest wide = Request("wide", true);
  wide.add_overrides("name=x");
  wide.add_overrides("name=" + std::string(20'000, 'x'));
  EXPECT_THAT(Message(DryRun(wide)), HasSubstr("override 2 has 20005 bytes; at most 16384"));
}

}  // namespace
}  // namespace gp::coordinator
