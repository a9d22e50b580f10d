// Causal attention of one head at level `amx` in bf16: the blocks of attention.h and
// attention_backward.h, with their products by Tiles. Scores, softmax and sums are fp32;
// probabilities and the gradient of the scores are rounded to bf16 where they enter a product.
// Included by kernels_twin.cc only.
#pragma once

#include "worker/engine/backend/cpu/kernels/attention.h"
#include "worker/engine/backend/cpu/kernels/attention_backward.h"
#include "worker/engine/backend/cpu/kernels/twin.h"

namespace gp::engine::GP_ISA_NAMESPACE {

// Rows of a left operand in bf16, k contiguous.
struct TileLeft {
  uint16_t* data = nullptr;
  int64_t stride = 0;

  TileLeft From(int64_t row) const { return {data + row * stride, stride}; }
};

// Pairs of a right operand: unit u of column j is data[u * stride + j].
struct TileRight {
  uint32_t* data = nullptr;
  int64_t stride = 0;

  TileRight From(int64_t unit) const { return {data + unit * stride, stride}; }
};

// A head whose blocks are operands of tiles. Its tiles are configured while it exists.
class TileHead {
 public:
  TileHead(const Tiles& tiles, const AttentionShape& shape, int64_t index, float* scratch)
      : head(shape, index, scratch), tiles_(tiles), channels_(shape.channels()) {
    tiles_.begin();
  }
  ~TileHead() { tiles_.end(); }
  TileHead(const TileHead&) = delete;
  TileHead& operator=(const TileHead&) = delete;

  Head head;

  TileLeft ReserveLeft(int64_t rows, int64_t stride) {
    return {reinterpret_cast<uint16_t*>(head.Reserve(rows, stride / 2).data), stride};
  }
  TileRight ReserveRight(int64_t units, int64_t stride) {
    return {reinterpret_cast<uint32_t*>(head.Reserve(units, stride).data), stride};
  }

  // The block of 64 positions from `first` of a part of `packed` as rows of a left operand, the
  // head's columns being k.
  void ReadLeft(Buffer packed, int64_t part, int64_t parts, int64_t first, TileLeft to) const {
    PackTileRows({.from = Operand(packed, part, parts, true),
                  .i_first = first,
                  .i_count = head.CountFrom(first),
                  .k_first = 0,
                  .k_count = head.head_size(),
                  .to = to.data,
                  .stride = to.stride});
  }
  // The same as columns of a right operand.
  void ReadColumns(Buffer packed, int64_t part, int64_t parts, int64_t first, TileRight to) const {
    PackUnits({.from = Operand(packed, part, parts, true),
               .i_first = first,
               .i_count = head.CountFrom(first),
               .k_first = 0,
               .k_count = head.head_size()},
              head.columns() / 2, to);
  }
  // The same with the positions as k and the head's columns as columns.
  void ReadPositions(Buffer packed, int64_t part, int64_t parts, int64_t first,
                     TileRight to) const {
    PackUnits({.from = Operand(packed, part, parts, false),
               .i_first = 0,
               .i_count = head.head_size(),
               .k_first = first,
               .k_count = head.CountFrom(first)},
              kAttentionTile / 2, to);
  }
  // Columns become rows: of a block of 64 columns, `queries` rows of which exist.
  static void ReadTransposed(TileLeft from, int64_t queries, TileLeft to) {
    PackTileRows({.from = {{from.data, DataType::kBfloat16}, from.stride, false},
                  .i_first = 0,
                  .i_count = kAttentionTile,
                  .k_first = 0,
                  .k_count = queries,
                  .to = to.data,
                  .stride = to.stride});
  }

  // c (rows, columns) (+)= a b over k, which is filled up to whole blocks. Rows are computed up to
  // a multiple of kTileSide; columns are one.
  void Multiply(int64_t rows, int64_t columns, int64_t k, TileLeft a, TileRight b, HeadBlock c,
                bool accumulate) const {
    for (int64_t r = 0; r < rows; r += kBlockSide) {
      for (int64_t j = 0; j < columns; j += kBlockSide) {
        tiles_.multiply(
            {.row_tiles = Smaller(kTilesAcross, RoundUp(rows - r, kTileSide) / kTileSide),
             .column_tiles = Smaller(kTilesAcross, (columns - j) / kTileSide),
             .blocks = RoundUp(k, kTileDepth) / kTileDepth,
             .a = a.From(r).data,
             .a_stride = a.stride,
             .b = b.data + j,
             .b_stride = b.stride,
             .c = c.At(r, j).data,
             .ldc = c.ld,
             .accumulate = accumulate,
             .last = true});
      }
    }
  }

 private:
  GemmOperand Operand(Buffer packed, int64_t part, int64_t parts, bool k_contiguous) const {
    uint16_t* first = packed.bf16() + head.Offset(0, part, parts);
    return {{first, DataType::kBfloat16}, parts * channels_, k_contiguous};
  }

  // Fills `units` rows of pairs; zero beyond the block.
  static void PackUnits(PackBlock block, int64_t units, TileRight to) {
    block.panel = to.stride;
    block.to = to.data;
    block.keep_pairs = true;
    Pack(block);
    const int64_t packed = (block.k_count + 1) / 2;
    __builtin_memset(to.From(packed).data, 0,
                     static_cast<size_t>((units - packed) * to.stride) * sizeof(uint32_t));
  }

  const Tiles& tiles_;
  const int64_t channels_;
};

// Rounds a row of `keys` values to bf16, and fills it up with zeros to `size`.
inline void RoundRow(const float* from, int64_t keys, int64_t size, uint16_t* to) {
  for (int64_t j = 0; j < size; j += kWidth) {
    const int64_t left = keys - j;
    const Vec value = left <= 0 ? Vec{} : KeepLanes(Load(from + j), Smaller(left, kWidth), 0);
    Store(to + j, value);
  }
}

inline void ScaleRow(float* row, int64_t count, float factor) {
  ForVectors(0, count, [&](int64_t j, int64_t) { Store(row + j, Load(row + j) * factor); });
}

class TileAttentionForward {
 public:
  TileAttentionForward(const Tiles& tiles, const AttentionShape& shape, Buffer qkv,
                       const Dropout& dropout, int64_t index, float* scratch)
      : tile_head_(tiles, shape, index, scratch),
        qkv_(qkv),
        scale_(ScoreScale(shape)),
        site_(dropout),
        q_(tile_head_.ReserveLeft(kAttentionTile, Columns())),
        k_(tile_head_.ReserveRight(Rows() / kAttentionTile * Columns() / 2, kAttentionTile)),
        v_(tile_head_.ReserveRight(Rows() / 2, Columns())),
        scores_(head().Reserve(kAttentionTile, Rows() + 16)),
        probabilities_(tile_head_.ReserveLeft(kAttentionTile, Rows() + 32)),
        result_(head().Reserve(kAttentionTile, Columns())) {}

  void Run(Buffer out, float* lse) {
    for (int64_t first = 0; first < head().length(); first += kAttentionTile) {
      tile_head_.ReadColumns(qkv_, 1, 3, first, KeysFrom(first));
      tile_head_.ReadPositions(qkv_, 2, 3, first, v_.From(first / 2));
      tile_head_.ReadLeft(qkv_, 0, 3, first, q_);
      ComputeScores(first);
      Softmax(first, lse + head().row() + first);
      tile_head_.Multiply(head().CountFrom(first), Columns(), first + kAttentionTile,
                          probabilities_, v_, result_, false);
      head().Write(out, 0, 1, result_, first, rows_.inverses);
    }
  }

 private:
  Head& head() { return tile_head_.head; }
  int64_t Rows() const { return tile_head_.head.rows(); }
  int64_t Columns() const { return tile_head_.head.columns(); }
  // Each block of 64 keys has its own panel.
  TileRight KeysFrom(int64_t first) const {
    return k_.From(first / kAttentionTile * Columns() / 2);
  }

  void ComputeScores(int64_t first) {
    for (int64_t key = 0; key <= first; key += kAttentionTile) {
      tile_head_.Multiply(head().CountFrom(first), kAttentionTile, head().head_size(), q_,
                          KeysFrom(key), scores_.At(0, key), false);
    }
  }

  void Softmax(int64_t first, float* lse) {
    const int64_t queries = head().CountFrom(first);
    for (int64_t r = 0; r < queries; ++r) {
      float* scores = scores_.data + r * scores_.ld;
      const int64_t keys = first + r + 1;
      ScaleRow(scores, keys, scale_);
      ExpRow(scores, keys, rows_.maxima + r, rows_.sums + r);
      rows_.inverses[r] = 1.0f / rows_.sums[r];
      if (site_.active()) DropRow(site_.Row(head().row() + first + r), keys, scores);
      RoundRow(scores, keys, first + kAttentionTile, probabilities_.From(r).data);
    }
    ForVectors(0, queries, [&](int64_t r, int64_t lanes) {
      const Vec sums = KeepLanes(Load(rows_.sums + r), lanes, 1);
      Store(lse + r, Load(rows_.maxima + r) + Log(sums), lanes);
    });
  }

  TileHead tile_head_;
  const Buffer qkv_;
  const float scale_;
  const DropoutSite site_;
  const TileLeft q_;              // (64, columns)
  const TileRight k_;             // by block of 64 keys: (columns / 2, 64)
  const TileRight v_;             // (rows / 2, columns)
  const HeadBlock scores_;        // (64, rows)
  const TileLeft probabilities_;  // (64, rows)
  const HeadBlock result_;        // (64, columns)
  SoftmaxRows rows_;
};

class TileAttentionBackward {
 public:
  TileAttentionBackward(const Tiles& tiles, const AttentionShape& shape, const float* lse,
                        Buffer qkv, const Dropout& dropout, int64_t index, float* scratch)
      : tile_head_(tiles, shape, index, scratch),
        qkv_(qkv),
        lse_(lse + head().row()),
        scale_(ScoreScale(shape)),
        site_(dropout),
        q_(tile_head_.ReserveLeft(Rows(), Columns())),
        q_positions_(tile_head_.ReserveRight(Rows() / 2, Columns())),
        dout_(tile_head_.ReserveLeft(Rows(), Columns())),
        dout_positions_(tile_head_.ReserveRight(Rows() / 2, Columns())),
        dq_(head().Reserve(Rows(), Columns())),
        dots_(head().Reserve(Rows(), 1).data),
        k_(tile_head_.ReserveRight(Columns() / 2, kAttentionTile)),
        k_positions_(tile_head_.ReserveRight(kAttentionTile / 2, Columns())),
        v_(tile_head_.ReserveRight(Columns() / 2, kAttentionTile)),
        dk_(head().Reserve(kAttentionTile, Columns())),
        dv_(head().Reserve(kAttentionTile, Columns())),
        scores_(head().Reserve(kAttentionTile, kScoreStride)),
        dprobs_(head().Reserve(kAttentionTile, kScoreStride)),
        probabilities_(tile_head_.ReserveLeft(kAttentionTile, kAttentionTile)),
        dscores_(tile_head_.ReserveLeft(kAttentionTile, kAttentionTile)),
        transposed_(tile_head_.ReserveLeft(kAttentionTile, kAttentionTile)) {}

  void Run(Buffer dqkv, Buffer dout, Buffer out) {
    ReadQueries(dout, out);
    float scales[kAttentionTile];
    float ones[kAttentionTile];
    for (int64_t r = 0; r < kAttentionTile; ++r) scales[r] = scale_;
    for (float& one : ones) one = 1;
    for (int64_t key = 0; key < head().length(); key += kAttentionTile) {
      tile_head_.ReadColumns(qkv_, 1, 3, key, k_);
      tile_head_.ReadPositions(qkv_, 1, 3, key, k_positions_);
      tile_head_.ReadColumns(qkv_, 2, 3, key, v_);
      for (int64_t query = key; query < head().length(); query += kAttentionTile) {
        ComputeScores(query, key);
        ComputeGradients(query, key);
      }
      head().Write(dqkv, 1, 3, dk_, key, scales);
      head().Write(dqkv, 2, 3, dv_, key, ones);
    }
    for (int64_t query = 0; query < head().length(); query += kAttentionTile) {
      head().Write(dqkv, 0, 3, dq_.At(query, 0), query, scales);
    }
  }

 private:
  Head& head() { return tile_head_.head; }
  int64_t Rows() const { return tile_head_.head.rows(); }
  int64_t Columns() const { return tile_head_.head.columns(); }

  void ReadQueries(Buffer dout, Buffer out) {
    for (int64_t first = 0; first < head().length(); first += kAttentionTile) {
      tile_head_.ReadLeft(qkv_, 0, 3, first, q_.From(first));
      tile_head_.ReadPositions(qkv_, 0, 3, first, q_positions_.From(first / 2));
      tile_head_.ReadLeft(dout, 0, 1, first, dout_.From(first));
      tile_head_.ReadPositions(dout, 0, 1, first, dout_positions_.From(first / 2));
      head().Read(dout, 0, 1, 1, first, dv_);
      for (int64_t r = 0; r < head().CountFrom(first); ++r) {
        dots_[first + r] = head().Dot(out, first + r, dv_.At(r, 0).data);
      }
    }
  }

  void ComputeScores(int64_t query, int64_t key) {
    const int64_t queries = head().CountFrom(query);
    const int64_t depth = head().head_size();
    tile_head_.Multiply(queries, kAttentionTile, depth, q_.From(query), k_, scores_, false);
    tile_head_.Multiply(queries, kAttentionTile, depth, dout_.From(query), v_, dprobs_, false);
    for (int64_t r = 0; r < queries; ++r) {
      const int64_t i = query + r;
      const int64_t keys = query == key ? r + 1 : kAttentionTile;
      float* scores = scores_.data + r * scores_.ld;
      float* dprobs = dprobs_.data + r * dprobs_.ld;
      ScaleRow(scores, keys, scale_);
      if (site_.active()) {
        DroppedScoreGradientRow(scores, dprobs, keys, lse_[i], dots_[i],
                                site_.Row(head().row() + i), key);
      } else {
        ScoreGradientRow(scores, dprobs, keys, lse_[i], dots_[i]);
      }
      RoundRow(scores, keys, kAttentionTile, probabilities_.From(r).data);
      RoundRow(dprobs, keys, kAttentionTile, dscores_.From(r).data);
    }
  }

  // dk and dv of a block of keys begin with the first block of queries, dq with the first of keys.
  void ComputeGradients(int64_t query, int64_t key) {
    const int64_t queries = head().CountFrom(query);
    const bool adds = query > key;
    TileHead::ReadTransposed(probabilities_, queries, transposed_);
    tile_head_.Multiply(kAttentionTile, Columns(), queries, transposed_,
                        dout_positions_.From(query / 2), dv_, adds);
    TileHead::ReadTransposed(dscores_, queries, transposed_);
    tile_head_.Multiply(kAttentionTile, Columns(), queries, transposed_,
                        q_positions_.From(query / 2), dk_, adds);
    tile_head_.Multiply(queries, Columns(), kAttentionTile, dscores_, k_positions_,
                        dq_.At(query, 0), key > 0);
  }

  TileHead tile_head_;
  const Buffer qkv_;
  const float* const lse_;
  const float scale_;
  const DropoutSite site_;
  const TileLeft q_;                // (rows, columns)
  const TileRight q_positions_;     // (rows / 2, columns)
  const TileLeft dout_;             // (rows, columns)
  const TileRight dout_positions_;  // (rows / 2, columns)
  const HeadBlock dq_;              // (rows, columns)
  float* const dots_;               // (rows) dout . out
  // One block of keys.
  const TileRight k_;             // (columns / 2, 64)
  const TileRight k_positions_;   // (32, columns)
  const TileRight v_;             // (columns / 2, 64)
  const HeadBlock dk_;            // (64, columns)
  const HeadBlock dv_;            // (64, columns)
  const HeadBlock scores_;        // (64 queries, 64)
  const HeadBlock dprobs_;        // (64 queries, 64)
  const TileLeft probabilities_;  // (64 queries, 64)
  const TileLeft dscores_;        // (64 queries, 64)
  const TileLeft transposed_;     // (64 keys, 64 queries)
};

}  // namespace gp::engine::GP_ISA_NAMESPACE
