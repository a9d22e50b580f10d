#include "runspec/reference_page.h"

#include <fmt/format.h>

#include "runspec/preset.h"
#include "runspec/schema.h"

namespace gp::runspec {
namespace {

constexpr const char* kIntroduction = R"(# Run file

<!-- Written from lib/runspec/schema_table.cc. After a change there: GP_REWRITE=1 build/release/tests/runspec_test -->

A run file is YAML: a map of the keys below. Values come from the preset, then the file, then `--set key=value`; later ones win.
A file that has a `budget` replaces the preset's. Counts may be written `50_000`, `0.5M`, `10B` or `2^19`, durations `250ms`, `90s`,
`5m`, `1h30m`. Relative paths start at the file's directory, those of `--set` at the current one.

An unknown key, a wrong type, a value out of range, a key given twice or a combination that cannot train is an error with its
place; all of them are reported at once and nothing is submitted. `gpctl explain KEY` prints one entry of this page.

The global batch is cut into V *logical shards*, V being the smallest power of two that is at least
`resources.max_workers`: `batch.total_tokens = V * accumulation * micro_batch * sequence`. The result does not depend on how many ranks share
the shards.
)";

std::string Presets() {
  std::string text = "\n## Presets\n\n| preset | |\n|---|---|\n";
  for (const std::string& name : PresetNames()) {
    text += fmt::format("| `{}` | {} |\n", name, PresetSummary(name));
  }
  return text;
}

// Escapes bars, which would end the cell.
std::string Cell(std::string text) {
  for (size_t at = text.find('|'); at != std::string::npos; at = text.find('|', at + 2)) {
    text.insert(at, "\\");
  }
  return text;
}

std::string Row(const RunField& field) {
  return fmt::format("| `{}` | {} | `{}` | {} |\n", field.path, Cell(Expectation(field)),
                     FormatValue(field, RunSpec{}), Cell(field.doc));
}

std::string GroupOf(const Field& field) {
  const size_t dot = field.path.find('.');
  return dot == std::string::npos ? "" : field.path.substr(0, dot);
}

// The keys of one group; "" means the keys outside all groups.
std::string Section(const std::string& group) {
  std::string text =
      group.empty() ? "\n## The run\n\n" : fmt::format("\n## {}\n\n{}\n\n", group, GroupDoc(group));
  text += "| key | must be | default | |\n|---|---|---|---|\n";
  for (const RunField& field : Schema()) {
    if (GroupOf(field) == group) text += Row(field);
  }
  return text;
}

}  // namespace

std::string ReferencePage() {
  std::string text = kIntroduction + Section(""), open_group;
  for (const Field& field : Schema()) {
    const std::string group = GroupOf(field);
    if (!group.empty() && group != open_group) text += Section(group);
    open_group = group;
  }
  return text + Presets();
}

}  // namespace gp::runspec
