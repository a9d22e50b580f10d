#include "coordinator/state/queries/run_query.h"

#include <algorithm>

#include "coordinator/state/run_reference.h"

namespace gp::coordinator {
namespace {

bool HasLabels(const RunQuery& query, const Run& run) {
  const auto& labels = run.labels;
  return std::all_of(query.labels.begin(), query.labels.end(), [&](const LabelParts& wanted) {
    return std::any_of(labels.begin(), labels.end(), [&](const auto& label) {
      return DivideLabel(label.first, label.second) == wanted;
    });
  });
}

bool IsFound(const RunQuery& query, const Run& run) {
  if (query.search.empty()) return true;
  const std::string wanted = LowerCase(query.search);
  return LowerCase(run.submission->name).find(wanted) != std::string::npos ||
         LowerCase(run.id.value()).starts_with(wanted);
}

// Prefixes the length, so that two different lists never give one text.
void Append(const std::string& text, std::string& to) {
  to += fmt::format("{}:{};", text.size(), text);
}

}  // namespace

LabelParts DivideLabel(const std::string& key, const std::string& value) {
  const size_t equals = key.find('=');
  if (equals == std::string::npos) return {key, value};
  return {key.substr(0, equals), key.substr(equals + 1) + "=" + value};
}

bool RunQuery::WantsLive() const {
  return states.empty() || std::any_of(states.begin(), states.end(),
                                       [](RunState state) { return !IsTerminal(state); });
}

bool RunQuery::WantsEnded() const {
  return states.empty() || std::any_of(states.begin(), states.end(), IsTerminal);
}

bool RunQuery::IsCounted() const {
  return submitted_by.empty() && labels.empty() && !submitted_since && search.empty();
}

bool Matches(const RunQuery& query, const Run& run) {
  if (query.namespaces && !query.namespaces->contains(NamespaceOf(run))) return false;
  if (!query.WantsState(run.state)) return false;
  if (!query.submitted_by.empty() && run.submitted_by != query.submitted_by) return false;
  if (query.submitted_since && run.submitted_at < *query.submitted_since) return false;
  return HasLabels(query, run) && IsFound(query, run);
}

std::string LowerCase(std::string text) {
  for (char& c : text) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return text;
}

std::string CanonicalText(const RunQuery& query) {
  std::string text;
  text += query.namespaces ? fmt::format("n{};", query.namespaces->size()) : "n*;";
  for (const std::string& name : query.namespaces.value_or(std::set<std::string>())) {
    Append(name, text);
  }
  text += fmt::format("s{};", query.states.size());
  for (const RunState state : query.states) text += fmt::format("{};", static_cast<int>(state));
  Append(query.submitted_by, text);
  text += fmt::format("l{};", query.labels.size());
  for (const auto& [key, value] : query.labels) {
    Append(key, text);
    Append(value, text);
  }
  text += query.submitted_since
              ? fmt::format("t{};", query.submitted_since->time_since_epoch().count())
              : "t;";
  Append(LowerCase(query.search), text);
  return text;
}

}  // namespace gp::coordinator
