#include "corpus/encoding_pipeline.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "corpus/block_reader.h"

namespace gp::corpus {
namespace {

// Each reader holds a decompression window (zstd: up to 128 MiB) and a line of up to
// kBlockBytesMax.
constexpr size_t kReaders = 2;
// The most sources that are read ahead. Empty sources do not count in bytes, so they need a limit.
constexpr size_t kQueuesMax = 1024;
// Added for each block besides its text, so that memory is also bounded for a million small files.
constexpr uint64_t kSlotBytes = 1 << 12;

uint64_t CostOf(const Block& block) { return block.text.size() + kSlotBytes; }

}  // namespace

EncodingPipeline::EncodingPipeline(const std::vector<Source>& sources, const BlockEncoder& encoder,
                                   const PipelineOptions& options)
    : sources_(sources),
      encoder_(encoder),
      options_(options),
      next_source_(options.from.source),
      front_(options.from.source),
      text_in_this_pass_(options.from != CorpusPosition()) {
  const size_t readers = options.endless ? kReaders : std::min(kReaders, sources.size());
  for (size_t i = 0; i < readers; ++i) threads_.emplace_back([this] { Read(); });
  for (int i = 0; i < std::max(options.threads, 1); ++i) {
    threads_.emplace_back([this] { Encode(); });
  }
}

EncodingPipeline::~EncodingPipeline() {
  {
    MutexLock lock(mutex_);
    stopping_ = true;
  }
  room_.NotifyAll();
  untaken_.NotifyAll();
}

void EncodingPipeline::Read() {
  while (true) {
    size_t source = 0;
    {
      MutexLock lock(mutex_);
      while (!stopping_ && queues_.size() >= kQueuesMax) room_.Wait(mutex_);
      if (stopping_ || !Exists(next_source_)) return;
      source = next_source_++;
      queues_[source];
    }
    ReadSource(source);
  }
}

void EncodingPipeline::ReadSource(size_t source) {
  const auto cut = [this](std::string_view text, size_t begin) {
    return encoder_.CutAfter(text, begin);
  };
  const BlockPosition from = source == options_.from.source ? options_.from.block : BlockPosition{};
  auto reader = BlockReader::Open(SourceAt(source), encoder_.rules().documents, cut, from);
  if (!reader.ok()) return EndSource(source, reader.status());
  while (true) {
    auto block = reader->Next();
    if (!block.ok()) return EndSource(source, block.status());
    if (!block->has_value() || (*block)->last) {
      const Status unchanged = CheckUnchanged(SourceAt(source));
      if (!unchanged.ok() || !block->has_value()) return EndSource(source, unchanged);
    }
    auto slot = std::make_shared<Slot>();
    slot->block = std::move(**block);
    slot->source_bytes = reader->file_offset();
    if (!Post(source, std::move(slot))) return;
  }
}

// The source whose results are delivered has half of the room for itself, so that it always makes
// progress.
bool EncodingPipeline::HasRoom(size_t source) const {
  const uint64_t front_bytes = queues_.count(front_) > 0 ? queues_.at(front_).bytes : 0;
  if (source == front_) return front_bytes < options_.bytes_max / 2;
  return bytes_ - front_bytes < options_.bytes_max / 2;
}

// False when the pipeline is stopping.
bool EncodingPipeline::Post(size_t source, std::shared_ptr<Slot> slot) {
  const uint64_t cost = CostOf(slot->block);
  {
    MutexLock lock(mutex_);
    while (!stopping_ && !HasRoom(source)) room_.Wait(mutex_);
    if (stopping_) return false;
    SourceQueue& queue = queues_[source];
    queue.slots.push_back(std::move(slot));
    queue.bytes += cost;
    bytes_ += cost;
  }
  untaken_.NotifyOne();
  return true;
}

void EncodingPipeline::EndSource(size_t source, const Status& status) {
  MutexLock lock(mutex_);
  queues_[source].ended = true;
  queues_[source].status = status;
  progress_.NotifyAll();
}

// Claims the first slot, in order, that no thread encodes. Null once the pipeline stops.
std::shared_ptr<EncodingPipeline::Slot> EncodingPipeline::ClaimSlot(size_t& source) {
  MutexLock lock(mutex_);
  while (!stopping_) {
    for (auto& [index, queue] : queues_) {
      if (queue.untaken == queue.slots.size()) continue;
      source = index;
      return queue.slots[queue.untaken++];
    }
    untaken_.Wait(mutex_);
  }
  return nullptr;
}

void EncodingPipeline::Encode() {
  size_t source = 0;
  while (const std::shared_ptr<Slot> slot = ClaimSlot(source)) {
    auto encoded = encoder_.Encode(slot->block, SourceAt(source));
    MutexLock lock(mutex_);
    slot->encoded.emplace(std::move(encoded));
    progress_.NotifyAll();
  }
}

// REQUIRES: the queue's first slot is encoded without an error.
EncodingPipeline::Result EncodingPipeline::HandOut(SourceQueue& queue) {
  const std::shared_ptr<Slot> slot = std::move(queue.slots.front());
  queue.slots.pop_front();
  --queue.untaken;
  const uint64_t cost = CostOf(slot->block);
  queue.bytes -= cost;
  bytes_ -= cost;
  Result result{.encoded = **std::move(slot->encoded),
                .end = {front_, slot->block.end},
                .source = front_,
                .text_bytes = static_cast<int64_t>(slot->block.text.size()),
                .source_bytes = slot->source_bytes};
  if (slot->block.last) result.end = {front_ + 1, {}};
  if (!result.encoded.tokens.empty()) text_in_this_pass_ = true;
  return result;
}

// REQUIRES: the queue has ended, and all of its blocks have been handed out.
Status EncodingPipeline::EndFrontSource() {
  RETURN_IF_ERROR(queues_.at(front_).status);
  queues_.erase(front_++);
  room_.NotifyAll();
  if (!options_.endless || front_ % sources_.size() != 0) return OkStatus();
  if (std::exchange(text_in_this_pass_, false)) return OkStatus();
  return InvalidArgument("{}{} no text", SourceName(sources_.front()),
                         sources_.size() == 1 ? " holds" : " and the other sources hold");
}

StatusOr<std::optional<EncodingPipeline::Result>> EncodingPipeline::Next() {
  MutexLock lock(mutex_);
  while (Exists(front_)) {
    SourceQueue& queue = queues_[front_];
    if (!queue.slots.empty()) {
      const auto& encoded = queue.slots.front()->encoded;
      if (encoded.has_value()) {
        if (!encoded->ok()) return encoded->status();
        Result result = HandOut(queue);
        room_.NotifyAll();
        return std::optional<Result>(std::move(result));
      }
    } else if (queue.ended) {
      RETURN_IF_ERROR(EndFrontSource());
      continue;
    }
    progress_.Wait(mutex_);
  }
  return std::optional<Result>();
}

}  // namespace gp::corpus
