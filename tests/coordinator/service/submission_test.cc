// Goal: two requests have the same digest if they describe the same run; a run from a checkpoint
// knows its parent.
#include "coordinator/service/submission.h"

#include <google/protobuf/reflection.h>
#include <gtest/gtest.h>

#include "coordinator/store/memory_store.h"
#include "lib/base/temporary_directory.h"
#include "proto/every_field.h"
#include "storage/local_storage.h"

namespace gp::coordinator {
namespace {

TEST(BodyDigest, ChangesWithEveryFieldButTheIdAndTheFilesName) {
  v1::SubmitRequest request;
  testing::SetEveryField(request);
  const std::string digest = BodyDigest(request);
  EXPECT_EQ(digest.size(), 64u);
  const auto* descriptor = v1::SubmitRequest::descriptor();
  for (int i = 0; i < descriptor->field_count(); ++i) {
    const auto* field = descriptor->field(i);
    v1::SubmitRequest other = request;
    other.GetReflection()->ClearField(&other, field);
    const bool same = field->name() == "request_id" || field->name() == "source_name";
    EXPECT_EQ(BodyDigest(other) == digest, same) << field->name();
  }
}

class PrepareSubmitTest : public ::testing::Test {
 protected:
  PrepareSubmitTest() : root_(StorageRoot::Open(storage_, directory_.path())) {
    EXPECT_TRUE(root_.ok()) << root_.status();
    coordinator::Run base;
    base.id = RunId("base");
    Submission submission;
    submission.name = "base";
    submission.resolved = File("");
    base.submission = std::make_shared<const Submission>(submission);
    base.checkpoints.push_back({{.step = 150, .directory = Checkpoint()}});
    cluster_.Set(base);
  }

  static std::string File(const std::string& more) {
    return "apiVersion: gp/v1\nname: child\n"
           "model: {n_layer: 1, n_head: 1, n_embd: 16, n_ctx: 16}\n"
           "data: {text: [/text.txt], tokenizer: bytes}\n"
           "batch: {micro_batch: 2, sequence: 16}\nbudget: {steps: 300}\n" +
           more;
  }
  std::string Checkpoint() const { return directory_.path() + "/runs/base/checkpoints/step-150"; }

  StatusOr<Submission> Prepare(const std::vector<std::string>& overrides) {
    v1::SubmitRequest request;
    request.set_request_id("one");
    request.set_source(File("init_from: " + Checkpoint() + "\n"));
    for (const std::string& one : overrides) request.add_overrides(one);
    ASSIGN_OR_RETURN(const PreparedSubmit prepared,
                     PrepareSubmit(request, true, resolver_, *root_, cluster_, store_));
    return std::get<RunSubmitted>(prepared.event.body).submission;
  }

  const TemporaryDirectory directory_;
  const LocalStorage storage_;
  const StatusOr<StorageRoot> root_;
  const SpecResolver resolver_{[](const std::string& run_namespace) -> std::vector<std::string> {
    if (run_namespace == "research") return {"ana"};
    return {};
  }};
  Cluster cluster_;
  MemoryStore::Disk disk_;
  MemoryStore store_{disk_};
};

TEST_F(PrepareSubmitTest, ARunRemembersWhatItsParentHadTrainedOn) {
  const auto kept = Prepare({"init_data=keep", "init_optimizer=keep"});
  ASSERT_TRUE(kept.ok()) << kept.status();
  EXPECT_EQ(kept->parent_run, "base");
  EXPECT_EQ(kept->parent_step, 150);
  EXPECT_EQ(kept->parent_tokens, 4800);
  EXPECT_TRUE(kept->keeps_data_position);
  EXPECT_EQ(kept->target_steps, 300);
  const auto fresh = Prepare({});
  ASSERT_TRUE(fresh.ok()) << fresh.status();
  EXPECT_EQ(fresh->parent_tokens, 4800);
  EXPECT_FALSE(fresh->keeps_data_position);
}

TEST_F(PrepareSubmitTest, TheRunFileOfAnEndedParentIsReadFromTheStore) {
  coordinator::Run base = *cluster_.FindRun(RunId("base"));
  Submission submission = *base.submission;
  const auto stored = store_.Append({{.run = base.id, .body = RunSubmitted{submission}}});
  ASSERT_TRUE(stored.ok()) << stored.status();
  submission.record = *stored;
  submission.texts_are_stored = true;
  submission.resolved.clear();
  base.submission = std::make_shared<const Submission>(submission);
  cluster_.Set(base);
  const auto kept = Prepare({"init_data=keep"});
  ASSERT_TRUE(kept.ok()) << kept.status();
  EXPECT_EQ(kept->parent_tokens, 4800);
  submission.record = *stored + 1;
  base.submission = std::make_shared<const Submission>(submission);
  cluster_.Set(base);
  EXPECT_EQ(Prepare({"init_data=keep"}).status().code(), StatusCode::kDataLoss);
}

TEST_F(PrepareSubmitTest, ARunNamesNotificationTargetsOfItsNamespace) {
  const auto named = Prepare({"notify=ana", "namespace=research"});
  ASSERT_TRUE(named.ok()) << named.status();
  EXPECT_EQ(named->notify, std::vector<std::string>{"ana"});
  const auto refused = Prepare({"notify=ana"});
  EXPECT_EQ(refused.status().code(), StatusCode::kInvalidArgument);
  EXPECT_NE(Message(refused.status()).find("no notification target 'ana' for runs of namespace"),
            std::string::npos);
}

TEST_F(PrepareSubmitTest, ABudgetThatEndsBeforeTheRunBeginsIsRefused) {
  const auto refused = Prepare({"init_data=keep", "budget.steps=150"});
  EXPECT_EQ(refused.status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(Message(refused.status()),
            "budget: it ends at step 150, and the run begins at step 150, that of its checkpoint "
            "(init_data: keep); raise it, or count from 0 again with init_data: reset");
  EXPECT_FALSE(Prepare({"init_data=keep", "budget.steps=0", "budget.tokens=4800"}).ok());
  EXPECT_TRUE(Prepare({"budget.steps=150"}).ok());
}

}  // namespace
}  // namespace gp::coordinator
