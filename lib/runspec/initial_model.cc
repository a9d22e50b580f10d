#include "runspec/initial_model.h"

#include <fmt/format.h>

namespace gp::runspec {
namespace {

using SourceProblems = std::vector<CrossProblem>;

std::string_view GeluText(Gelu gelu) { return gelu == Gelu::kErf ? "erf" : "tanh"; }

template <typename T>
void RequireEqual(const std::string& key, const T& has, const T& needs, SourceProblems& problems) {
  if (has == needs) return;
  problems.push_back({{key, "init_from"},
                      fmt::format("{} is {}, but the model of init_from has {}", key, has, needs),
                      fmt::format("leave {} out, or set it to {}", key, needs),
                      "init_from"});
}

}  // namespace

void ApplyInitialModel(const InitialModel& source, RunSpec& spec) {
  const double dropout = spec.model.dropout;
  spec.model = source.shape;
  if (!source.tokenizer.empty()) spec.data.tokenizer = source.tokenizer;
  spec.model.dropout = dropout;
  spec.vocabulary_auto = false;
}

SourceProblems CheckAgainst(const ModelShape& source, const ModelShape& model) {
  SourceProblems problems;
  RequireEqual("model.n_layer", model.layers, source.layers, problems);
  RequireEqual("model.n_head", model.heads, source.heads, problems);
  RequireEqual("model.n_embd", model.channels, source.channels, problems);
  RequireEqual("model.bias", model.bias, source.bias, problems);
  RequireEqual("model.gelu", GeluText(model.gelu), GeluText(source.gelu), problems);
  RequireEqual("model.tie_embeddings", model.tied_head, source.tied_head, problems);
  if (model.context > source.context) {
    problems.push_back(
        {{"model.n_ctx", "init_from"},
         fmt::format("model.n_ctx is {}, but the model of init_from has only {} positions",
                     model.context, source.context),
         fmt::format("set it to {} or less", source.context),
         "init_from"});
  }
  if (model.vocabulary < source.vocabulary) {
    problems.push_back({{"model.vocab", "init_from"},
                        fmt::format("model.vocab is {}, but the model of init_from has {} ids",
                                    model.vocabulary, source.vocabulary),
                        "leave model.vocab out, or set it to that or more: the new rows are "
                        "initialised as in a new model",
                        "init_from"});
  }
  return problems;
}

SourceProblems CheckKeptOf(const InitialModel& source, const RunSpec& spec) {
  SourceProblems problems = CheckKept(source.state, spec);
  // The trainer compares chars, whose ids follow from the run's text.
  const bool other_tokens = spec.data.tokenizer != "chars" && source.has_tokens_of &&
                            !source.has_tokens_of(spec.data.tokenizer);
  if (spec.KeepsData() && source.state.refusal.empty() && other_tokens) {
    problems.push_back(
        {{"data.tokenizer", "init_data"},
         fmt::format("init_data: keep continues at a position in the data: data.tokenizer "
                     "is {}, which gives other tokens than the tokenizer that the "
                     "checkpoint in init_from was trained with",
                     spec.data.tokenizer),
         "leave data.tokenizer out to take the checkpoint's, or set init_data: "
         "reset to begin with the first batch",
         "init_data"});
  }
  return problems;
}

SourceProblems TokenizerWarnings(const InitialModel& source, const RunSpec& spec, bool given) {
  const std::string& tokenizer = spec.data.tokenizer;
  if (spec.KeepsData()) return {};  // the trainer refuses another one
  if (!given && source.tokenizer.empty()) {
    return {{{"init_from"},
             fmt::format("the model of init_from comes without a tokenizer: data.tokenizer is {}, "
                         "whose ids may mean other tokens than the model learned",
                         tokenizer),
             "set data.tokenizer to the model's"}};
  }
  if (!given || !source.has_tokens_of || source.has_tokens_of(tokenizer)) return {};
  return {{{"data.tokenizer", "init_from"},
           fmt::format("data.tokenizer is {}, but the model of init_from was trained with another "
                       "tokenizer: the same ids mean other tokens",
                       tokenizer),
           "leave data.tokenizer out to take the model's",
           "init_from"}};
}

}  // namespace gp::runspec
