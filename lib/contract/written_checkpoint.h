// WrittenCheckpoint: a checkpoint that is on disk and synced; it is valid only after the
// coordinator has sealed it. ResumePoint: the checkpoint that a rank begins from; the coordinator
// chooses it when it places an epoch (coordinator/scheduler/queue.cc). Plain values; no thread
// rules.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "contract/field.h"

namespace gp::contract {

struct WrittenCheckpoint {
  int64_t step = 0;
  std::string directory;
  std::string manifest_digest;  // sha256 of manifest.json, hex
  uint64_t size_bytes = 0;      // all files and the manifest
  std::optional<double> validation_loss;
  bool final = false;
  std::string end_reason;  // if `final`: why the run ends before its budget; else empty

  bool operator==(const WrittenCheckpoint&) const = default;

  template <typename Visit>
  static constexpr void ForEachField(Visit&& visit) {
    using W = WrittenCheckpoint;
    visit(FieldInfo{.name = "step"}, &W::step);
    visit(FieldInfo{.name = "directory"}, &W::directory);
    visit(FieldInfo{.name = "manifest_digest"}, &W::manifest_digest);
    visit(FieldInfo{.name = "size_bytes"}, &W::size_bytes);
    visit(FieldInfo{.name = "validation_loss"}, &W::validation_loss);
    visit(FieldInfo{.name = "final"}, &W::final);
    visit(FieldInfo{.name = "end_reason", .omit_default = true}, &W::end_reason);
  }
};

struct ResumePoint {
  int64_t step = 0;
  std::string directory;
  std::string manifest_digest;  // hex; the reader refuses another manifest; empty: accepts any

  bool operator==(const ResumePoint&) const = default;

  template <typename Visit>
  static constexpr void ForEachField(Visit&& visit) {
    visit(FieldInfo{.name = "step"}, &ResumePoint::step);
    visit(FieldInfo{.name = "directory"}, &ResumePoint::directory);
    visit(FieldInfo{.name = "manifest_digest"}, &ResumePoint::manifest_digest);
  }
};

}  // namespace gp::contract
