#include "client/gpctl/commands/models/evaluator_run.h"

#include "client/gpctl/service/program_run.h"
#include "client/gpctl/terminal/number_text.h"
#include "client/gpctl/terminal/progress_line.h"

namespace gp::gpctl {
namespace {

// Splits gp-evaluator's output into lines: shows those about its progress and keeps the result.
class EvaluatorLines {
 public:
  explicit EvaluatorLines(ProgressLine& progress) : progress_(progress) {}

  void Add(const std::string& piece) {
    text_ += piece;
    for (size_t end; (end = text_.find('\n')) != std::string::npos; text_.erase(0, end + 1)) {
      HandleLine(Json::parse(text_.substr(0, end), nullptr, false));
    }
  }

  // The program's result; nullopt before it has printed one.
  const std::optional<Json>& result() const { return result_; }

 private:
  void HandleLine(const Json& line) {
    if (!line.is_object()) return;
    if (line.contains("done") && line.contains("of")) {
      Tell(line["done"].get<double>(), line["of"].get<double>());
    } else {
      result_ = line;
    }
  }

  void Tell(double done, double of) {
    if (done <= 0) return;
    const double seconds = progress_.Seconds();
    progress_.Tell(fmt::format("{}, {} of {} batches, {:.1f} a second, {} left", Percent(done / of),
                               WithThousands(static_cast<int64_t>(done)),
                               WithThousands(static_cast<int64_t>(of)), done / seconds,
                               DurationText((of - done) * seconds / done)));
  }

  ProgressLine& progress_;
  std::string text_;
  std::optional<Json> result_;
};

}  // namespace

StatusOr<EvaluatorRun> RunEvaluator(const std::vector<std::string>& arguments, Session& session) {
  ProgressLine progress(session.console());
  EvaluatorLines lines(progress);
  const auto code = RunOwnProgram(session.console(), "gp-evaluator", arguments,
                                  [&lines](const std::string& piece) { lines.Add(piece); });
  progress.Clear();
  RETURN_IF_ERROR(code.status());
  // gp-evaluator uses the same exit codes as gpctl.
  if (*code > 0 && *code < 128) return EvaluatorRun{.code = static_cast<ExitCode>(*code)};
  if (*code != 0 || !lines.result()) return Internal("gp-evaluator ended with code {}", *code);
  return EvaluatorRun{.result = lines.result()};
}

}  // namespace gp::gpctl
