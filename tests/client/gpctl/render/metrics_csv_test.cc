#include "client/gpctl/render/metrics_csv.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace gp::gpctl {
namespace {

TEST(MetricsCsv, HasTheKeysOfTheJsonAsTitles) {
  EXPECT_EQ(
      MetricsCsvTitles({"val_bpb", "odd,name"}),
      "step,tokens,loss,lr,grad_norm,tokens_per_second,mfu,step_seconds,val_loss,epoch,"
      "skipped,phase_data_wait,phase_forward,phase_backward,phase_allreduce_exposed,"
      "phase_optimizer,phase_other,peak_flops,peak_source,processor_wait,target_steps,warning,"
      "time,val_bpb,\"odd,name\"\n");
}

TEST(MetricsCsv, HasColumnsForTheScoresThatFollow) {
  v1::Run run;
  run.mutable_progress()->add_scores()->set_name("old/harness/acc");
  run.set_resolved(
      "apiVersion: gp/v1\nname: tiny\npreset: tiny\ndata: {text: [in.txt], tokenizer: bytes}\n"
      "eval: {tasks: [/elsewhere/sums.jsonl, /elsewhere/*.jsonl], task_style: completion}\n");
  EXPECT_EQ(ScoreColumns(run), (std::vector<std::string>{"old/harness/acc", "sums/completion/acc",
                                                         "sums/completion/acc_norm", "val_bpb"}));
  EXPECT_EQ(ScoreColumns(v1::Run()), std::vector<std::string>{"val_bpb"});
}

TEST(MetricsCsv, WritesAPoint) {
  v1::MetricPoint point;
  point.set_step(7);
  point.set_tokens(700);
  point.set_loss(3.25);
  point.set_learning_rate(0.0006);
  point.set_gradient_norm(INFINITY);
  point.set_step_seconds(0.5);
  point.set_epoch(2);
  point.set_validation_loss(NAN);
  point.mutable_phases()->set_forward(0.25);
  point.set_processor_wait(0.125);
  point.set_warning("the loss is \"high\", look");
  point.mutable_at()->set_seconds(1'700'000'000);
  auto& score = *point.add_scores();
  score.set_name("val_bpb");
  score.set_value(0.75);
  EXPECT_EQ(MetricsCsvLine(point, {"val_bpb", "other/acc"}),
            "7,700,3.25,0.0006,inf,0,,0.5,nan,2,false,0,0.25,0,0,0,0,,,0.125,,\"the loss is "
            "\"\"high\"\", "
            "look\",2023-11-14T22:13:20.000Z,0.75,\n");
}

TEST(MetricsCsv, EveryLineHasAsManyCells) {
  const std::string titles = MetricsCsvTitles({"val_bpb"});
  const std::string line = MetricsCsvLine(v1::MetricPoint(), {"val_bpb"});
  EXPECT_EQ(std::count(titles.begin(), titles.end(), ','),
            std::count(line.begin(), line.end(), ','));
}

}  // namespace
}  // namespace gp::gpctl
