#include "plan/gpu_workspace.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "plan/align_up.h"

namespace gp::runspec {
namespace {

constexpr int64_t kPieceAlignmentBytes = 256;
constexpr int64_t kScalarBytes = 4096;
constexpr int64_t kNormPartials = 1024;  // partial sums of a two-stage sum over a flat buffer
// Row ranges of a two-stage sum over the rows of a matrix, for the gradients of a bias and of
// LayerNorm's parameters.
constexpr int64_t kRowParts = 1024;

// The largest scratch memory that one operation needs, in bytes. The CUDA backend refuses an
// operation that needs more, so a term that is too small gives an error and no wrong memory access.
int64_t ScratchBytes(const ModelShape& shape, const ArenaOptions& options) {
  const int64_t rows = options.micro_batch * options.sequence;
  const int64_t c = shape.channels;
  const int64_t parts = std::min(kRowParts, rows);
  std::vector<int64_t> needs = {
      kNormPartials * 8,
      (parts + 1) * 4 * c * 4,  // partial sums of a bias' gradient, and what they add up to
      parts * 3 * c * 4,        // partial sums of LayerNorm's gradients
      HeadRows(options) * 4,    // losses
      // The embedding's gradient needs its sorted tokens, the counts of the sort, and the sum
      // carried from one part of 64 rows to the next.
      ((rows + 63) / 64 * c + 4 * rows + rows / 4 + 256) * 4,
  };
  if (options.attention != Attention::kMath) {
    // The dot product dout . out of every row; also cuDNN's copy of it and cuDNN's fp32 sums of dq.
    needs.push_back(rows * shape.heads * 12 + 2 * rows * c * 4);
  }
  if (options.fp8) {
    // An activation, a weight and its transposed copy of the largest block product, and the partial
    // sums of a bias' gradient.
    needs.push_back(4 * rows * c + 2 * 4 * c * c + (parts + 1) * 4 * c * 4);
  }
  return *std::max_element(needs.begin(), needs.end()) + 16 * kPieceAlignmentBytes;
}

class Pieces {
 public:
  void Add(const std::string& name, int64_t bytes) {
    pieces_.push_back({name, end_, bytes});
    end_ += AlignUp(bytes, kPieceAlignmentBytes);
  }
  std::vector<GpuWorkspacePiece> Take() { return std::move(pieces_); }

 private:
  std::vector<GpuWorkspacePiece> pieces_;
  int64_t end_ = 0;
};

}  // namespace

std::vector<GpuWorkspacePiece> GpuWorkspace(const ModelShape& shape, const ArenaOptions& options) {
  Pieces pieces;
  pieces.Add("matmul", kMatmulWorkspaceBytes);
  pieces.Add("scalars", kScalarBytes);
  pieces.Add("scratch", ScratchBytes(shape, options));
  return pieces.Take();
}

GpuWorkspacePiece GpuWorkspacePieceOf(const ModelShape& shape, const ArenaOptions& options,
                                      const std::string& name) {
  for (const GpuWorkspacePiece& piece : GpuWorkspace(shape, options)) {
    if (piece.name == name) return piece;
  }
  throw std::out_of_range("the workspace of the CUDA backend has no piece '" + name + "'");
}

int64_t GpuWorkspaceBytes(const ModelShape& shape, const ArenaOptions& options) {
  const GpuWorkspacePiece last = GpuWorkspace(shape, options).back();
  return last.offset_bytes + AlignUp(last.size_bytes, kPieceAlignmentBytes);
}

}  // namespace gp::runspec
