#include "runspec/gpu_workspace.h"

#include <utility>

namespace gp::runspec {
namespace {

constexpr int64_t kAlignmentBytes = 256;
constexpr int64_t kMatmulBytes = int64_t{32} << 20;  // cuBLASLt's own advice for sm_90
constexpr int64_t kScalarBytes = 4096;
constexpr int64_t kNormPartials = 4096;  // of a two-stage sum over a flat buffer
// Row blocks of a two-stage sum over the rows of a matrix: of a bias' gradient, of LayerNorm's.
constexpr int64_t kRowBlocks = 256;

class Pieces {
 public:
  void Add(const std::string& name, int64_t bytes) {
    pieces_.push_back({name, end_, bytes});
    end_ += (bytes + kAlignmentBytes - 1) / kAlignmentBytes * kAlignmentBytes;
  }
  std::vector<GpuWorkspacePiece> Take() { return std::move(pieces_); }

 private:
  std::vector<GpuWorkspacePiece> pieces_;
  int64_t end_ = 0;
};

}  // namespace

std::vector<GpuWorkspacePiece> GpuWorkspace(const ModelShape& shape, const ArenaOptions& options) {
  const int64_t rows = options.micro_batch * options.sequence;
  const int64_t c = shape.channels;
  Pieces pieces;
  pieces.Add("matmul", kMatmulBytes);
  pieces.Add("scalars", kScalarBytes);
  pieces.Add("norm_partials", kNormPartials * 8);
  pieces.Add("row_partials", kRowBlocks * 4 * c * 4);
  pieces.Add("losses", rows * 8);
  // Keys and rows of the embedding's backward pass, twice each, and the counts of a pass.
  pieces.Add("sort", 4 * rows * 4 + (rows + 65536) * 4);
  if (options.attention != Attention::kMath) {
    pieces.Add("attention_dots", rows * shape.heads * 4);
  }
  // An activation and a weight of the largest block product, each also transposed.
  if (options.fp8) pieces.Add("fp8", 2 * (rows * 4 * c + 4 * c * c));
  return pieces.Take();
}

int64_t GpuWorkspaceBytes(const ModelShape& shape, const ArenaOptions& options) {
  const std::vector<GpuWorkspacePiece> pieces = GpuWorkspace(shape, options);
  const GpuWorkspacePiece& last = pieces.back();
  return last.offset_bytes +
         (last.size_bytes + kAlignmentBytes - 1) / kAlignmentBytes * kAlignmentBytes;
}

}  // namespace gp::runspec
