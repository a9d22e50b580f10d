#include "client/gpctl/render/lineage_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "client/api/parent_text.h"
#include "client/api/run_state_name.h"
#include "client/gpctl/render/leg_text.h"
#include "client/gpctl/render/run_words.h"
#include "client/gpctl/terminal/display_text.h"

namespace gp::gpctl {
namespace {

// The run file of the leg that wrote the parent checkpoint; empty if the parent is unknown.
std::string ParentFile(const v1::Run& child, const std::map<std::string, v1::Run>& runs) {
  const auto parent = runs.find(child.parent().run_id());
  if (parent == runs.end()) return "";
  for (const v1::Leg& leg : parent->second.legs()) {
    if (leg.number() == child.parent().leg()) return leg.resolved();
  }
  return parent->second.resolved();
}

std::string OriginText(const v1::Run& run) {
  if (!run.has_parent()) {
    return run.initial_model().empty() ? "" : "  from " + run.initial_model();
  }
  return fmt::format("  from {}{}", client::ParentText(run.parent()),
                     run.parent().deleted() ? " (deleted)" : "");
}

std::string ChangeText(const std::vector<client::KeyDifference>& changes) {
  return changes.empty() ? "" : "  " + DifferencesText(changes);
}

std::string FirstFile(const v1::Run& run) {
  return run.legs_size() > 0 ? run.legs(0).resolved() : run.resolved();
}

std::string LegText(const v1::Leg& before, const v1::Leg& leg) {
  return fmt::format("leg {} from {}{}", leg.number(), BeginningText(leg),
                     ChangeText(ChangesBetween(before.resolved(), leg.resolved())));
}

// "team=research: a lower rate": what users wrote about the run, on one line.
std::string AnnotationText(const v1::Run& run, bool utf8) {
  const std::string labels = LabelsText(run);
  const std::string colon = labels.empty() || run.note().empty() ? "" : ": ";
  return OneSafeLine(labels + colon + run.note(), utf8);
}

std::string ProgressText(const v1::Run& run) {
  std::string text =
      fmt::format("{}, step {}", client::StateName(run.state()), run.progress().step());
  if (run.progress().validation_step() > 0) {
    text += fmt::format(", val {:.4f}", run.progress().validation_loss());
  }
  return text;
}

// The line in lines that begin with `inside`, which keeps the bars of the tree. The first one has
// a beginning that is not wider.
std::string WrappedInside(const std::string& line, int columns, const std::string& inside) {
  if (columns <= 0) return line;
  const std::string broken = Wrapped(line, std::max(columns - DisplayWidth(inside), 20), 0);
  std::string text;
  for (const char c : broken) text += c == '\n' ? "\n" + inside : std::string(1, c);
  return text;
}

}  // namespace

Lineage::Lineage(std::vector<v1::Run> runs, std::string run) : run_(std::move(run)) {
  for (v1::Run& one : runs) {
    if (one.has_parent()) children_.emplace(one.parent().run_id(), one.run_id());
    const std::string id = one.run_id();
    runs_.emplace(id, std::move(one));
  }
}

// The oldest known ancestor. Ids are unique and a parent exists before its child, so there is no
// cycle; a store that was damaged must not hang the program.
const v1::Run& Lineage::Root() const {
  const v1::Run* root = &runs_.at(run_);
  std::set<std::string> seen = {root->run_id()};
  while (root->has_parent()) {
    const auto parent = runs_.find(root->parent().run_id());
    if (parent == runs_.end() || !seen.insert(parent->first).second) break;
    root = &parent->second;
  }
  return *root;
}

std::string Lineage::Text(bool utf8, int columns) const {
  std::string text;
  std::set<std::string> shown;
  AddTree(Root(), {}, {utf8, columns}, shown, text);
  return text;
}

void Lineage::AddTree(const v1::Run& run, const Branch& branch, const Style& style,
                      std::set<std::string>& shown, std::string& text) const {
  const bool is_root = shown.empty();
  if (!shown.insert(run.run_id()).second) return;
  const bool utf8 = style.utf8;
  const char* corner = utf8 ? "└─ " : "`- ";
  const char* tee = utf8 ? "├─ " : "|- ";
  const std::string mark = is_root ? "" : branch.last ? corner : tee;
  const std::string bar = is_root ? "" : branch.last ? "   " : utf8 ? "│  " : "|  ";
  const std::string below = branch.indent + bar;
  const std::string inside = below + "   ";
  const auto add = [&](const std::string& before, const std::string& line) {
    text += before + WrappedInside(line, style.columns, inside) + "\n";
  };
  add(branch.indent + mark,
      fmt::format("{} ({}){}  {}{}{}", run.name(), run.run_id(), run.run_id() == run_ ? " *" : "",
                  ProgressText(run), OriginText(run),
                  ChangeText(ChangesBetween(ParentFile(run, runs_), FirstFile(run)))));
  if (const std::string annotation = AnnotationText(run, utf8); !annotation.empty()) {
    add(inside, annotation);
  }
  for (int i = 1; i < run.legs_size(); ++i) add(inside, LegText(run.legs(i - 1), run.legs(i)));
  const auto [first, end] = children_.equal_range(run.run_id());
  for (auto child = first; child != end; ++child) {
    AddTree(runs_.at(child->second), {below, std::next(child) == end}, style, shown, text);
  }
}

Json Lineage::Fields() const {
  Json fields = {{"root", Root().run_id()}, {"runs", Json::array()}};
  for (const auto& [id, run] : runs_) {
    Json one = {{"run_id", id}, {"name", run.name()}, {"state", client::StateName(run.state())}};
    if (run.has_parent()) {
      one["parent"] = {{"run_id", run.parent().run_id()},
                       {"leg", run.parent().leg()},
                       {"step", run.parent().step()}};
    }
    for (const auto& [key, value] : run.labels()) one["labels"][key] = value;
    if (!run.note().empty()) one["note"] = run.note();
    one["changed"] = Json::object();
    for (const auto& change : ChangesBetween(ParentFile(run, runs_), FirstFile(run))) {
      one["changed"][change.key] = {{"before", change.values.at(0).value_or("")},
                                    {"after", change.values.at(1).value_or("")}};
    }
    fields["runs"].push_back(std::move(one));
  }
  return fields;
}

}  // namespace gp::gpctl
