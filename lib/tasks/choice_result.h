// ChoiceResult: which endings a model prefers, and how often it is right. Pure functions; any
// thread may call.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "tasks/choice_file.h"
#include "tasks/choice_row.h"

namespace gp::tasks {

struct ItemResult {
  int64_t line = 0;
  int64_t label = 0;
  std::vector<double> nats;     // the loss of each ending, summed over its tokens
  std::vector<double> lengths;  // ChoiceRow::length
  int64_t chosen = 0;           // the ending with the lowest loss; the first of equals
  int64_t chosen_norm = 0;      // the ending with the lowest loss per length
};

struct ChoiceResult {
  std::vector<ItemResult> items;
  int64_t correct = 0;
  int64_t correct_norm = 0;

  double acc() const { return Share(correct); }
  double acc_norm() const { return Share(correct_norm); }

 private:
  double Share(int64_t count) const {
    return static_cast<double>(count) / static_cast<double>(items.size());
  }
};

// Chooses endings by `nats`, the loss of each row, in the order of EncodeChoices.
ChoiceResult JudgeChoices(const ChoiceFile& file, std::span<const ChoiceRow> rows,
                          std::span<const double> nats);

// An item as a line of JSON, without the line break: scores are log-probabilities
// (docs/formats/choices.md).
std::string FormatItem(const ItemResult& item);

}  // namespace gp::tasks
