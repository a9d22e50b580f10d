// A run's log and its records with arbitrary content. Opening is idempotent and loses no complete
// record that readers saw; decoded records are encoded and decoded again.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "base/check.h"
#include "base/file.h"
#include "coordinator/store/codec.h"
#include "coordinator/telemetry/record_file.h"
#include "coordinator/telemetry/run_log_codec.h"

namespace {

using namespace gp;
using namespace gp::coordinator;

// One directory per process; removed when the process ends.
class Scratch {
 public:
  Scratch() {
    // In memory if possible, because every input syncs files.
    directory_ = std::string(FileExists("/dev/shm") ? "/dev/shm" : "/tmp") + "/gp-fuzz-XXXXXX";
    GP_CHECK(mkdtemp(directory_.data()) != nullptr);
  }
  ~Scratch() { (void)RemoveTree(directory_); }
  // Returns the path of a file with these bytes, in an otherwise empty directory.
  std::string FileWith(std::string_view bytes) const {
    const auto names = ListDirectory(directory_);
    GP_CHECK(names.ok());
    for (const std::string& name : *names) GP_CHECK(RemoveTree(JoinPath(directory_, name)).ok());
    const std::string path = JoinPath(directory_, "points.log");
    GP_CHECK(WriteFileAtomically(path, bytes).ok());
    return path;
  }

 private:
  std::string directory_;
};

using Records = std::vector<std::string>;

Records ReadAll(const std::string& path) {
  Records records;
  const auto visit = [&](std::string_view payload) {
    records.emplace_back(payload);
    return true;
  };
  GP_CHECK(ReadRecords(path, 0, visit).ok());
  return records;
}

void TryRecord(std::string_view payload) {
  if (const auto point = DecodePoint(payload)) {
    const std::string bytes = EncodePoint(*point);
    GP_CHECK(EncodePoint(DecodePoint(bytes).value()) == bytes);
  }
  if (const auto line = DecodeLine(payload)) {
    const std::string bytes = EncodeLine(*line);
    GP_CHECK(EncodeLine(DecodeLine(bytes).value()) == bytes);
  }
  if (const auto summary = DecodeSummary(payload)) {
    const std::string bytes = EncodeSummary(*summary);
    GP_CHECK(EncodeSummary(DecodeSummary(bytes).value()) == bytes);
  }
  const auto stored = DecodeRecord(payload);
  if (!stored.ok()) return GP_CHECK(stored.status().code() == StatusCode::kDataLoss);
  const std::string bytes = EncodeRecord(stored->sequence, stored->event);
  const auto again = DecodeRecord(bytes);
  GP_CHECK(again.ok() && again->sequence == stored->sequence);
}

void TryFile(const std::string& path) {
  const Records before = ReadAll(path);
  Records opened;
  const auto visit = [&](std::string_view payload) { opened.emplace_back(payload); };
  auto file = RecordFile::Open(path, visit);
  if (!file.ok()) return GP_CHECK(file.status().code() == StatusCode::kDataLoss);
  GP_CHECK(opened == before && ReadAll(path) == before);
  GP_CHECK(file->Append({"one more"}).ok() && file->Sync().ok());
  Records after = ReadAll(path);
  GP_CHECK(!after.empty() && after.back() == "one more");
  after.pop_back();
  GP_CHECK(after == before);
  for (const std::string& record : before) TryRecord(record);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const Scratch scratch;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  TryRecord(bytes);
  TryFile(scratch.FileWith(bytes));
  // The input as one complete record, so that its content is parsed.
  if (size == 0) return 0;
  const std::string path = scratch.FileWith("");
  auto file = RecordFile::Open(path, [](std::string_view) {});
  GP_CHECK(file.ok() && file->Append({std::string(bytes)}).ok());
  GP_CHECK(ReadAll(path) == Records{std::string(bytes)});
  return 0;
}
