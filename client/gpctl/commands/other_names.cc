#include "client/gpctl/commands/other_names.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>

namespace gp::gpctl {
namespace {

// A command with its arguments, and what it does.
struct Way {
  const char* command;  // its first word is the command's name
  const char* what;
};

constexpr Way kList[] = {{"list", "shows the runs"}, {"status RUN", "shows one"}};
constexpr Way kShow[] = {{"status RUN", "shows a run"},
                         {"events RUN", "its history"},
                         {"why RUN", "why it is in its state"}};
constexpr Way kEnd[] = {{"cancel RUN", "ends a run"},
                        {"pause RUN", "frees its slots for a while"},
                        {"down", "stops the service"}};
constexpr Way kRemove[] = {{"delete RUN", "removes an ended run and its files"},
                           {"cancel RUN", "ends one that has not ended"},
                           {"down --purge", "removes the service with all runs"}};
constexpr Way kStart[] = {{"run FILE", "submits a run file and follows the run"},
                          {"submit FILE", "submits it and returns"},
                          {"up", "starts a service"}};
constexpr Way kCopy[] = {{"fork RUN@STEP", "begins a new run from a checkpoint"}};
constexpr Way kCompare[] = {{"compare RUN RUN", "shows runs side by side"}};
constexpr Way kNodes[] = {{"workers list", "shows the nodes"}};
constexpr Way kLogs[] = {{"logs RUN -f", "follows what a run's trainers print"}};
constexpr Way kPrint[] = {{"logs RUN", "prints what a run's trainers wrote"},
                          {"status RUN --run-file", "prints a run's file"},
                          {"sample RUN", "writes text with a run's model"}};
constexpr Way kScale[] = {{"resize RUN --workers N", "changes the ranks of a run"},
                          {"up --workers N", "starts a service with more slots"},
                          {"submit FILE --set resources.workers=N", "trains with more ranks"}};
constexpr Way kHistory[] = {{"events RUN", "shows the history of a run"}};
constexpr Way kSettings[] = {{"context", "chooses the service"},
                             {"status RUN --run-file", "prints a run's file"}};
constexpr Way kWrite[] = {{"sample RUN", "writes text"}, {"chat RUN", "continues a text"}};
constexpr Way kMeasure[] = {{"eval REF --task val", "measures a checkpoint"}};
constexpr Way kEdit[] = {
    {"label RUN KEY=VALUE", "changes labels"},
    {"extend RUN", "trains a run for more steps, with --set under other settings"}};

struct Word {
  const char* word;
  std::span<const Way> ways;
};

constexpr Word kWords[] = {
    {"ls", kList},        {"get", kList},         {"runs", kList},       {"jobs", kList},
    {"describe", kShow},  {"show", kShow},        {"inspect", kShow},    {"info", kShow},
    {"stop", kEnd},       {"kill", kEnd},         {"abort", kEnd},       {"rm", kRemove},
    {"remove", kRemove},  {"del", kRemove},       {"purge", kRemove},    {"start", kStart},
    {"train", kStart},    {"apply", kStart},      {"create", kStart},    {"launch", kStart},
    {"clone", kCopy},     {"copy", kCopy},        {"cp", kCopy},         {"branch", kCopy},
    {"diff", kCompare},   {"nodes", kNodes},      {"node", kNodes},      {"worker", kNodes},
    {"tail", kLogs},      {"log", kLogs},         {"cat", kPrint},       {"print", kPrint},
    {"scale", kScale},    {"history", kHistory},  {"config", kSettings}, {"settings", kSettings},
    {"generate", kWrite}, {"evaluate", kMeasure}, {"edit", kEdit},       {"tag", kEdit},
    {"annotate", kEdit},
};

}  // namespace

std::string CalledHere(const std::string& word, const std::vector<std::string>& commands) {
  std::string text;
  for (const Word& known : kWords) {
    if (known.word != word) continue;
    for (const Way& way : known.ways) {
      const std::string command = way.command;
      const std::string name = command.substr(0, command.find(' '));
      if (std::find(commands.begin(), commands.end(), name) == commands.end()) continue;
      text += fmt::format("{}gpctl {} {}", text.empty() ? "" : ", ", command, way.what);
    }
  }
  return text;
}

}  // namespace gp::gpctl
