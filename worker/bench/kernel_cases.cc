#include "worker/bench/kernel_cases.h"

#include <fmt/format.h>

#include <utility>

#include "worker/bench/model_flags.h"

namespace gp::engine {
namespace {

double Size(DataType type) { return static_cast<double>(BytesOf(type)); }

}  // namespace

KernelCases::KernelCases(const ModelOptions& options)
    : options_(options),
      type_(ComputeTypeOf(options)),
      rows_(options.micro_batch * options.sequence),
      backend_(MakeBackend(options).backend),
      noise_(*backend_) {
  const runspec::ModelShape& s = options.shape;
  const int layers = static_cast<int>(s.layers);
  const int64_t c = s.channels;
  AddLinear("c_attn", {rows_, c, 3 * c}, false, layers, /*sums_dy=*/true);
  AddLinear("attn.c_proj", {rows_, c, c}, false, layers);
  AddLinear("c_fc", {rows_, c, 4 * c}, true, layers);
  AddLinear("mlp.c_proj", {rows_, 4 * c, c}, false, layers);
  AddLinear("lm_head", {rows_, c, s.vocabulary_padded}, false, 1);
  AddAttention();
  AddLayerNorm();
  AddGelu();
  AddCrossEntropy();
  AddEmbedding();
  AddFlat();
}

void KernelCases::Add(std::string name, std::string shape, KernelCase work) {
  work.name = std::move(name);
  work.shape = std::move(shape);
  cases_.push_back(std::move(work));
}

void KernelCases::AddLinear(const std::string& name, LinearShape shape, bool gelu, int calls,
                            bool sums_dy) {
  const Buffer x = Activation(shape.rows * shape.in);
  const Buffer w = Activation(shape.in * shape.out);
  const Buffer y = Activation(shape.rows * shape.out);
  const Buffer dx = Activation(shape.rows * shape.in);
  const Buffer bias = options_.shape.bias && calls > 1 ? Activation(shape.out) : Buffer{};
  const Buffer activated = gelu ? Activation(shape.rows * shape.out) : Buffer{};
  float* dw = Values(shape.in * shape.out);
  float* dbias = sums_dy && options_.shape.bias ? Values(shape.out) : nullptr;
  Backend* backend = backend_.get();
  const std::string sizes = fmt::format("{} x {} x {}", shape.rows, shape.in, shape.out);
  const double flops = 2.0 * static_cast<double>(shape.rows * shape.in * shape.out);
  const auto kind = options_.shape.gelu;
  const bool in_block = calls > 1;  // not the head
  Add(name + (gelu ? " forward, GELU" : " forward"), sizes,
      {.flops = flops, .product = true, .calls_per_step = calls, .run = [=] {
         backend->Forward(LinearForward{shape, y, x, w, bias, activated, kind, in_block});
       }});
  Add(name + " dX", sizes,
      {.flops = flops, .product = true, .calls_per_step = calls, .run = [=] {
         backend->BackwardInput(
             {.shape = shape, .dx = dx, .dy = y, .w = w, .may_be_fp8 = in_block});
       }});
  Add(name + " dW", sizes,
      {.flops = flops, .product = true, .calls_per_step = calls, .run = [=] {
         backend->BackwardWeight({.shape = shape, .dw = dw, .dbias = dbias, .dy = y, .x = x});
       }});
}

void KernelCases::AddAttention() {
  const runspec::ModelShape& s = options_.shape;
  const AttentionShape shape{options_.micro_batch, options_.sequence, s.heads,
                             s.channels / s.heads};
  const int64_t c = s.channels;
  const Buffer qkv = Activation(rows_ * 3 * c);
  const Buffer out = Activation(rows_ * c);
  const Buffer dqkv = Activation(rows_ * 3 * c);
  const Buffer dout = Activation(rows_ * c);
  float* lse = Values(rows_ * s.heads);
  Backend* backend = backend_.get();
  const std::string sizes =
      fmt::format("{} x {} x {} x {}", shape.sequences, shape.heads, shape.length, shape.head_size);
  // The FLOPs of one product of queries with the keys that they see, (T+1)/2 on average.
  const double product =
      static_cast<double>(rows_ * shape.channels()) * static_cast<double>(shape.length + 1);
  const int layers = static_cast<int>(s.layers);
  Add("attention forward", sizes, {.flops = 2 * product, .calls_per_step = layers, .run = [=] {
                                     backend->AttentionForward(shape, out, lse, qkv, Dropout{});
                                   }});
  Add("attention backward", sizes, {.flops = 5 * product, .calls_per_step = layers, .run = [=] {
                                      backend->AttentionBackward(shape, dqkv, dout, out, lse, qkv,
                                                                 Dropout{});
                                    }});
}

void KernelCases::AddLayerNorm() {
  const int64_t c = options_.shape.channels;
  const int64_t count = rows_ * c;
  const bool is_bf16 = options_.residual == runspec::ResidualType::kBf16;
  const DataType stream = is_bf16 ? DataType::kBfloat16 : DataType::kFloat32;
  const Buffer in = noise_.Values(count, stream);
  const Buffer din = noise_.Values(count, stream);
  const Buffer residual = noise_.Values(count, stream);
  const Buffer out = Activation(count);
  const Buffer dout = Activation(count);
  const Buffer dbranch = Activation(count);
  float* parameters = Values(5 * c);
  float* beta = options_.shape.bias ? parameters + c : nullptr;
  float* dbeta = beta != nullptr ? parameters + 3 * c : nullptr;
  float* dbias = beta != nullptr ? parameters + 4 * c : nullptr;
  float* statistics = Values(2 * rows_);
  const LayerNorm forward{rows_, c, out, statistics, statistics + rows_, in, parameters, beta};
  const LayerNormBackward backward{.rows = rows_,
                                   .channels = c,
                                   .din = din,
                                   .dgamma = parameters + 2 * c,
                                   .dbeta = dbeta,
                                   .dout = dout,
                                   .in = in,
                                   .mean = statistics,
                                   .rstd = statistics + rows_,
                                   .gamma = parameters,
                                   .accumulate_input = true,
                                   .accumulate_parameters = true};
  Backend* backend = backend_.get();
  const std::string sizes = fmt::format("{} x {}", rows_, c);
  const double values = static_cast<double>(count);
  const int layers = static_cast<int>(options_.shape.layers);
  backend_->Forward(forward);  // so that mean and rstd match the input
  Add("LayerNorm", sizes,
      {.bytes = values * (Size(stream) + Size(type_)), .run = [=] { backend->Forward(forward); }});
  Add("residual + LayerNorm", sizes,
      {.bytes = values * 2 * (Size(stream) + Size(type_)),
       .calls_per_step = 2 * layers,
       .run = [=] { backend->ResidualLayerNorm(residual, in, dout, Dropout{}, forward); }});
  Add("LayerNorm backward", sizes, {.bytes = values * (3 * Size(stream) + Size(type_)), .run = [=] {
                                      backend->Backward(backward);
                                    }});
  Add("LayerNorm backward + residual", sizes,
      {.bytes = values * (3 * Size(stream) + 2 * Size(type_)),
       .calls_per_step = 2 * layers,
       .run = [=] {
         backend->ResidualLayerNormBackward(backward, {.dbranch = dbranch, .dbias = dbias});
       }});
}

void KernelCases::AddGelu() {
  const int64_t count = rows_ * 4 * options_.shape.channels;
  const Buffer in = Activation(count);
  const Buffer out = Activation(count);
  const auto kind = options_.shape.gelu;
  Backend* backend = backend_.get();
  const std::string sizes = fmt::format("{} x {}", rows_, 4 * options_.shape.channels);
  const double bytes = static_cast<double>(count) * Size(type_);
  const int layers = static_cast<int>(options_.shape.layers);
  Add("GELU", sizes, {.bytes = 2 * bytes, .calls_per_step = layers, .run = [=] {
                        backend->GeluForward(count, kind, out, in);
                      }});
  Add("GELU backward", sizes, {.bytes = 3 * bytes, .calls_per_step = layers, .run = [=] {
                                 backend->GeluBackward(count, kind, out, in);
                               }});
}

void KernelCases::AddCrossEntropy() {
  const runspec::ModelShape& s = options_.shape;
  const CrossEntropyShape shape{rows_, s.vocabulary, s.vocabulary_padded};
  const Buffer logits = Activation(rows_ * s.vocabulary_padded);
  const int32_t* targets = noise_.Ids(rows_, s.vocabulary);
  float* lse = Values(rows_);
  auto* loss = static_cast<double*>(backend_->Allocate(sizeof(double)));
  const CrossEntropyLoss forward{shape, loss, lse, logits, targets};
  const CrossEntropyGradient backward{shape, logits, lse, targets, 1e-3f};
  Backend* backend = backend_.get();
  const std::string sizes = fmt::format("{} x {}", rows_, s.vocabulary_padded);
  const double bytes = static_cast<double>(rows_ * s.vocabulary_padded) * Size(type_);
  Add("cross-entropy, both", sizes,
      {.bytes = 2 * bytes, .run = [=] { backend->ForwardAndBackward(forward, backward); }});
}

void KernelCases::AddEmbedding() {
  const runspec::ModelShape& s = options_.shape;
  const int32_t* tokens = noise_.Ids(rows_, s.vocabulary);
  float* wte = Values(s.vocabulary_padded * s.channels);
  float* wpe = Values(s.context * s.channels);
  const Buffer out = Fp32(Values(rows_ * s.channels));
  Backend* backend = backend_.get();
  const int64_t b = options_.micro_batch;
  const int64_t t = options_.sequence;
  const int64_t c = s.channels;
  const std::string sizes = fmt::format("{} x {}", rows_, c);
  const double bytes = 12.0 * static_cast<double>(rows_ * c);
  Add("embedding", sizes, {.bytes = bytes, .run = [=] {
                             backend->EmbeddingForward(b, t, c, out, tokens, wte, wpe, Dropout{});
                           }});
  Add("embedding backward", sizes,
      {.bytes = 5.0 / 3.0 * bytes,
       .run = [=] { backend->EmbeddingBackward(b, t, c, wte, wpe, out, tokens, Dropout{}); }});
}

void KernelCases::AddFlat() {
  const int64_t count = runspec::MakeParameterLayout(options_.shape).total_count;
  AdamWUpdate update{.count = count,
                     .parameters = Values(count),
                     .first_moment = Values(count),
                     .second_moment = Values(count),
                     .gradients = Values(count),
                     .lr = 1e-6};
  backend_->Zero(update.second_moment, count * 4);
  const bool half = type_ != DataType::kFloat32;
  if (half) update.working_copy = static_cast<uint16_t*>(backend_->Allocate(count * 2));
  if (half) update.working_type = type_;
  auto* sum = static_cast<double*>(backend_->Allocate(sizeof(double)));
  Backend* backend = backend_.get();
  const std::string sizes = fmt::format("{}", count);
  const double values = static_cast<double>(count);
  Add("AdamW", sizes,
      {.bytes = values * (half ? 30 : 28), .run = [=] { backend->Update(update); }});
  Add("gradient norm", sizes,
      {.bytes = values * 4, .run = [=] { backend->SumOfSquares(sum, update.gradients, count); }});
}

}  // namespace gp::engine
