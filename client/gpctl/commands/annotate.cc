// gpctl label, note.
#include <iterator>
#include <memory>
#include <string_view>

#include "base/text/excerpt.h"
#include "client/gpctl/commands/commands.h"
#include "client/gpctl/render/run_json.h"
#include "client/gpctl/render/run_words.h"
#include "client/gpctl/terminal/display_text.h"

namespace gp::gpctl {
namespace {

constexpr char kAnnotatedRun[] = "name, id, unique prefix of an id, or @last";

struct LabelOptions {
  std::string run;
  std::vector<std::string> changes;
};

struct NoteOptions {
  std::string run;
  std::vector<std::string> words;
};

// Adds "team=research", which sets a label, or "team-", which removes it.
Status AddChange(const std::string& change, v1::AnnotateRequest& request) {
  const size_t equals = change.find('=');
  const bool removes = equals == std::string::npos && change.size() > 1 && change.back() == '-';
  if (removes) {
    request.add_removed_labels(change.substr(0, change.size() - 1));
    return OkStatus();
  }
  if (equals == std::string::npos || equals == 0) {
    return InvalidArgument("'{}': expected KEY=VALUE to set a label, or KEY- to remove it",
                           Excerpt(change));
  }
  const std::string key = change.substr(0, equals);
  const std::string value = change.substr(equals + 1);
  const auto [other, added] = request.mutable_labels()->insert({key, value});
  if (added || other->second == value) return OkStatus();
  return InvalidArgument("label '{}' is given twice: '{}' and '{}'", Excerpt(key),
                         Excerpt(other->second), Excerpt(value));
}

void PrintRun(const v1::Run& run, const std::string& text, Session& session) {
  session.console().PrintChange(session.json() ? Pretty(With("Run", RunFields(run))) : text);
}

// A label on each line; the list takes it as --label.
std::string LabelLines(const v1::Run& run, bool utf8) {
  std::string lines;
  for (const auto& [key, value] :
       std::map<std::string, std::string>(run.labels().begin(), run.labels().end())) {
    lines += OneSafeLine(key + "=" + value, utf8) + "\n";
  }
  return lines;
}

StatusOr<ExitCode> Label(const LabelOptions& options, Session& session) {
  v1::AnnotateRequest request;
  for (const std::string& change : options.changes) RETURN_IF_ERROR(AddChange(change, request));
  ASSIGN_OR_RETURN(v1::Run run, session.FindRun(options.run));
  if (options.changes.empty()) {
    PrintRun(run, LabelLines(run, session.utf8()), session);
    if (run.labels().empty() && !session.json()) {
      session.console().err << fmt::format("{} has no labels.\n", run.name());
    }
    return ExitCode::kOk;
  }
  ASSIGN_OR_RETURN(client::RunClient * client, session.Client());
  request.set_run(run.run_id());
  ASSIGN_OR_RETURN(run, client->Annotate(std::move(request)));
  const std::string labels = LabelsText(run);
  PrintRun(run,
           fmt::format("{} ({}): {}\n", run.name(), run.run_id(),
                       labels.empty() ? "no labels" : OneSafeLine(labels, session.utf8())),
           session);
  return ExitCode::kOk;
}

// The note's text: the words, or the whole standard input for "-".
std::string NoteGiven(const std::vector<std::string>& words, Session& session) {
  std::string text;
  if (words == std::vector<std::string>{"-"}) {
    std::istream& in = session.console().in;
    text.assign(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
    while (!text.empty() && text.back() == '\n') text.pop_back();
    return text;
  }
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
  return text;
}

StatusOr<ExitCode> Note(const NoteOptions& options, Session& session) {
  ASSIGN_OR_RETURN(v1::Run run, session.FindRun(options.run));
  if (options.words.empty()) {
    PrintRun(run, run.note().empty() ? "" : SafeText(run.note(), session.utf8()) + "\n", session);
    if (run.note().empty() && !session.json()) {
      session.console().err << fmt::format("{} has no note; write one: {}\n", run.name(),
                                           session.Hint("note " + run.name() + " TEXT"));
    }
    return ExitCode::kOk;
  }
  v1::AnnotateRequest request;
  request.set_run(run.run_id());
  request.set_note(NoteGiven(options.words, session));
  ASSIGN_OR_RETURN(client::RunClient * client, session.Client());
  ASSIGN_OR_RETURN(run, client->Annotate(std::move(request)));
  PrintRun(run,
           fmt::format("{} ({}): note {}\n", run.name(), run.run_id(),
                       run.note().empty() ? "removed" : "saved"),
           session);
  return ExitCode::kOk;
}

}  // namespace

void AddAnnotateCommands(CommandSet& commands) {
  const Command label = commands.Add(
      "label", kRunGroup, "Set, remove or print labels of a run, also after it has ended");
  auto labels = std::make_shared<LabelOptions>();
  label.Option("RUN", labels->run, kAnnotatedRun).Required();
  label.Option("CHANGE", labels->changes,
               "KEY=VALUE sets a label, KEY- removes it; without arguments, prints the labels");
  label.Footer("gpctl list -a --label KEY=VALUE finds the runs with a label.");
  commands.Bind(label, [labels](Session& session) { return Label(*labels, session); });

  const Command note =
      commands.Add("note", kRunGroup, "Write or print a note about a run, also after it has ended");
  auto words = std::make_shared<NoteOptions>();
  note.Option("RUN", words->run, kAnnotatedRun).Required();
  note.Option("TEXT", words->words,
              "the new note, which replaces the old one; - reads standard input, \"\" removes the "
              "note; without TEXT, prints the note");
  commands.Bind(note, [words](Session& session) { return Note(*words, session); });
}

}  // namespace gp::gpctl
