#include "worker/data/token_stream.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/check.h"
#include "base/log.h"
#include "tokenizer/data/document_ends.h"

namespace gp::engine {
namespace {

// Two make more tokens than any model on one device consumes.
constexpr int kEncodingThreads = 2;
// Text that waits to be encoded: about four million tokens.
constexpr uint64_t kWaitingBytes = uint64_t{16} << 20;

}  // namespace

std::string FormatStreamPosition(const StreamPosition& position) {
  formats::JsonObject::Json json = corpus::CorpusPositionJson(position.place);
  json["tokens"] = position.tokens;
  return json.dump();
}

StatusOr<StreamPosition> ParseStreamPosition(const std::string& text) {
  const auto json = formats::JsonObject::Json::parse(text, nullptr, /*allow_exceptions=*/false);
  formats::JsonObject fields(json, "the position in data.stream", "the checkpoint is damaged");
  StreamPosition position;
  position.place = corpus::ReadCorpusPosition(fields);
  fields.Read("tokens", position.tokens);
  RETURN_IF_ERROR(fields.status());
  return position;
}

corpus::EncodingRules StreamRules(const Tokenizer& tokenizer,
                                  const corpus::DocumentRules& documents) {
  using formats::EndOfTextPlacement;
  return {.documents = documents,
          .placement = tokenizer.end_of_text().has_value() ? EndOfTextPlacement::kBefore
                                                           : EndOfTextPlacement::kNone,
          .token_bytes = tokenizer.vocabulary_size() > 65536 ? 4 : 2};
}

TokenStream::TokenStream(std::vector<corpus::Source> sources, const Tokenizer& tokenizer,
                         const corpus::DocumentRules& documents)
    : sources_(std::move(sources)), encoder_(tokenizer, StreamRules(tokenizer, documents)) {
  GP_CHECK(!sources_.empty());
}

void TokenStream::ResumeAt(const StreamPosition& position) {
  MutexLock lock(mutex_);
  GP_CHECK(!pipeline_.has_value());
  next_ = position;
}

StreamPosition TokenStream::PositionBefore(int64_t offset) const {
  MutexLock lock(mutex_);
  if (chunks_.empty() || offset >= next_.tokens) return next_;
  auto chunk = chunks_.begin();
  GP_CHECK(chunk->begin.tokens <= offset, "token {} was already dropped; the first kept one is {}",
           offset, chunk->begin.tokens);
  while (offset >= chunk->begin.tokens + chunk->count) ++chunk;
  return chunk->begin;
}

Status TokenStream::LoadUntil(int64_t offset) const {
  RETURN_IF_ERROR(broken_);
  if (!pipeline_.has_value()) {
    pipeline_.emplace(sources_, encoder_,
                      corpus::PipelineOptions{.threads = kEncodingThreads,
                                              .from = next_.place,
                                              .bytes_max = kWaitingBytes,
                                              .endless = true});
  }
  while (next_.tokens < offset) {
    auto result = pipeline_->Next();
    if (!result.ok()) return broken_ = WithContext(result.status(), "data.stream");
    WarnOnce((*result)->encoded.spelled_ends);
    const auto count =
        static_cast<int64_t>((*result)->encoded.tokens.size()) / encoder_.rules().token_bytes;
    chunks_.push_back({next_, count, std::move((*result)->encoded.tokens)});
    next_ = {next_.tokens + count, (*result)->end};
  }
  return OkStatus();
}

// Warns at the first block, because complete counts are known only at the stream's end.
void TokenStream::WarnOnce(const formats::SpelledEnds& ends) const {
  if (ends.empty() || std::exchange(warned_, true)) return;
  for (const std::string& warning : SpelledEndWarnings(ends, "a part of data.stream")) {
    LogWarning(warning);
  }
}

void TokenStream::Copy(const Chunk& chunk, int64_t offset, std::span<int32_t> tokens) const {
  const auto token_bytes = static_cast<size_t>(encoder_.rules().token_bytes);
  const char* from = chunk.bytes.data() + static_cast<size_t>(offset) * token_bytes;
  for (int32_t& token : tokens) {
    uint32_t value = 0;  // little endian, as the chunk is
    std::memcpy(&value, from, token_bytes);
    token = static_cast<int32_t>(value);
    from += token_bytes;
  }
}

Status TokenStream::Read(int64_t offset, std::span<int32_t> tokens) const {
  MutexLock lock(mutex_);
  const int64_t end = offset + static_cast<int64_t>(tokens.size());
  RETURN_IF_ERROR(LoadUntil(end));
  if (tokens.empty()) return OkStatus();
  GP_CHECK(chunks_.front().begin.tokens <= offset, "token {} was already dropped", offset);
  for (const Chunk& chunk : chunks_) {
    const int64_t first = offset - chunk.begin.tokens;
    if (first >= chunk.count) continue;
    const auto here = std::min(tokens.size(), static_cast<size_t>(chunk.count - first));
    Copy(chunk, first, tokens.first(here));
    tokens = tokens.subspan(here);
    offset += static_cast<int64_t>(here);
    if (tokens.empty()) break;
  }
  return OkStatus();
}

void TokenStream::Pass(int64_t offset) const {
  MutexLock lock(mutex_);
  while (!chunks_.empty() && chunks_.front().begin.tokens + chunks_.front().count <= offset) {
    chunks_.pop_front();
  }
}

}  // namespace gp::engine
