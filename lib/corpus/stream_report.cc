#include "corpus/stream_report.h"

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "corpus/block_reader.h"
#include "corpus/document_splitter.h"
#include "corpus/encoding_pipeline.h"
#include "corpus/source_content.h"
#include "runspec/batch_plan.h"
#include "runspec/run_file.h"
#include "tokenizer/data/data_tokenizer.h"
#include "tokenizer/data/document_ends.h"
#include "tokenizer/data/shared_files.h"

namespace gp::corpus {
namespace {

struct TokenCount {
  int64_t files = 0;
  std::vector<std::string> paths;  // of the files
  int64_t tokens = 0;
  bool estimated = false;
  formats::SpelledEnds spelled_ends;  // in the text that was read
  std::string unused_split;           // a warning if split_on occurs nowhere
};

// The size of all sources on disk, divided by the bytes of them that were read up to `last`.
double ShareOf(const std::vector<Source>& sources, const EncodingPipeline::Result& last) {
  // The reader may be ahead of the block. In a file that is not compressed, the block's end is the
  // exact place.
  const uint64_t here = last.end.source == last.source
                            ? std::min(last.source_bytes, last.end.block.offset)
                            : last.source_bytes;
  double total = 0, read = static_cast<double>(here);
  for (size_t i = 0; i < sources.size(); ++i) {
    const auto size = static_cast<double>(sources[i].size_bytes);
    total += size;
    if (i < last.source) read += size;
  }
  return total / read;
}

// The documents that begin in the block.
int64_t CountDocuments(const EncodedBlock& block) {
  return block.empty_documents +
         std::count_if(block.documents.begin(), block.documents.end(),
                       [](const EncodedDocument& document) { return document.begins; });
}

// The documents' tokens; extrapolated from the beginning if the text is longer than `bytes_max`.
StatusOr<TokenCount> CountTokens(const std::vector<std::string>& paths, const Tokenizer& tokenizer,
                                 const runspec::DataSpec& data, uint64_t bytes_max) {
  ASSIGN_OR_RETURN(const std::vector<Source> sources, ExpandSources(paths, FormOf(data.format)));
  RETURN_IF_ERROR(CheckContents(sources));
  const DocumentRules rules = {.split = static_cast<Split>(data.split),
                               .split_on = data.split_on,
                               .field = data.text_field,
                               .field_key = "data.text_field"};
  const BlockEncoder encoder(tokenizer, {.documents = rules, .token_bytes = sizeof(int32_t)});
  EncodingPipeline pipeline(sources, encoder, {.bytes_max = kBlockBytes});
  TokenCount count{.files = std::ssize(sources)};
  for (const Source& source : sources) count.paths.push_back(source.path);
  int64_t documents = 0;
  for (uint64_t bytes = 0; true;) {
    ASSIGN_OR_RETURN(const auto result, pipeline.Next());
    if (!result.has_value()) break;
    count.tokens += std::ssize(result->encoded.tokens) / static_cast<int64_t>(sizeof(int32_t));
    documents += CountDocuments(result->encoded);
    formats::AddSpelledEnds(result->encoded.spelled_ends, count.spelled_ends);
    bytes += static_cast<uint64_t>(result->text_bytes);
    if (bytes < bytes_max || result->end.source == sources.size()) continue;
    const double share = ShareOf(sources, *result);
    count.tokens = static_cast<int64_t>(static_cast<double>(count.tokens) * share);
    count.estimated = true;
    return count;
  }
  count.unused_split = DescribeUnusedSplit(sources, rules, documents, "data.split_on");
  if (count.tokens > 0) return count;
  return InvalidArgument("{} holds no text", SourceName(sources.front()));
}

}  // namespace

StatusOr<DataReport> InspectStream(const runspec::RunSpec& spec, const InspectionLimits& limits) {
  ASSIGN_OR_RETURN(const auto tokenizer, MakeTextTokenizer(spec.data.tokenizer, ""));
  DataReport report{.vocabulary = tokenizer->vocabulary_size(),
                    .format = "text, tokenized during the run"};
  runspec::RunSpec resolved = spec;
  RETURN_IF_ERROR(runspec::ApplyVocabulary(report.vocabulary, resolved));
  const auto train = CountTokens(spec.data.stream, *tokenizer, spec.data, limits.encoded_bytes);
  if (!train.ok()) return WithContext(train.status(), "data.stream");
  report.train_files = train->files;
  report.train_tokens = train->tokens;
  report.estimated = train->estimated;
  report.warnings = SpelledEndWarnings(train->spelled_ends, "data.stream");
  if (!train->unused_split.empty()) report.warnings.push_back(train->unused_split);
  ASSIGN_OR_RETURN(const auto left_out, DescribeLeftOut(spec.data.stream));
  for (const std::string& sentence : left_out)
    report.warnings.push_back("data.stream: " + sentence);
  if (spec.data.val.empty()) return report;
  const auto validation = CountTokens(spec.data.val, *tokenizer, spec.data, limits.encoded_bytes);
  if (!validation.ok()) return WithContext(validation.status(), "data.val");
  RETURN_IF_ERROR(runspec::CheckHoldsATarget("data.val", validation->tokens));
  const std::string shared = DescribeSharedFiles(train->paths, validation->paths, "data.stream");
  if (!shared.empty()) report.warnings.push_back(shared);
  report.validation_tokens = validation->tokens;
  report.estimated = report.estimated || validation->estimated;
  return report;
}

}  // namespace gp::corpus
