#include "client/fake_gateway.h"

#include <algorithm>

namespace gp::testing {

using nlohmann::json;

FakeGateway::FakeGateway() {
  using Exchanged = std::shared_ptr<http::Exchange>;
  router_.Add({"GET", "/v1/models", [this](const Exchanged& it) { AnswerModels(it); }});
  router_.Add({"POST", "/tokenize", [this](const Exchanged& it) { Tokenize(it); }});
  router_.Add({"POST", "/v1/completions", [this](const Exchanged& it) { Complete(it); }});
  server_ =
      std::make_unique<http::RunningServer>(http::ServerContext{.router = router_, .limits = {}});
}

FakeGateway::~FakeGateway() {
  server_->InLoop([this] { hanging_.clear(); });
}

std::string FakeGateway::address() const { return "127.0.0.1:" + std::to_string(server_->port()); }

void FakeGateway::SetModels(std::vector<std::string> models) {
  MutexLock lock(mutex_);
  models_ = std::move(models);
}

void FakeGateway::SetPieces(std::vector<std::string> pieces) {
  MutexLock lock(mutex_);
  pieces_ = std::move(pieces);
}

void FakeGateway::SetError(int status, const std::string& message) {
  MutexLock lock(mutex_);
  error_ = http::ApiError{.status = status, .message = message};
}

void FakeGateway::FailAfterPieces(int status, const std::string& message) {
  MutexLock lock(mutex_);
  late_error_ = http::ApiError{.status = status, .message = message};
}

void FakeGateway::HangAfterPieces() {
  MutexLock lock(mutex_);
  hangs_ = true;
}

void FakeGateway::BreakStreams() {
  MutexLock lock(mutex_);
  breaks_ = true;
}

std::vector<json> FakeGateway::completions() const {
  MutexLock lock(mutex_);
  return completions_;
}

int FakeGateway::left() const {
  MutexLock lock(mutex_);
  return left_;
}

void FakeGateway::AnswerModels(const std::shared_ptr<http::Exchange>& exchange) {
  MutexLock lock(mutex_);
  json list = {{"object", "list"}, {"data", json::array()}};
  for (const std::string& model : models_) {
    list["data"].push_back({{"id", model},
                            {"root", model.substr(0, model.find('@'))},
                            {"step", 250},
                            {"validation_loss", nullptr},
                            {"max_model_len", 64}});
  }
  exchange->Respond(http::Response{.body = list.dump()});
}

void FakeGateway::Tokenize(const std::shared_ptr<http::Exchange>& exchange) {
  const json request = json::parse(exchange->request().body);
  std::vector<int> ids;
  for (const unsigned char byte : request["prompt"].get<std::string>()) ids.push_back(byte);
  exchange->Respond(http::Response{
      .body = json({{"tokens", ids}, {"count", ids.size()}, {"max_model_len", 64}}).dump()});
}

void FakeGateway::Complete(const std::shared_ptr<http::Exchange>& exchange) {
  const json request = json::parse(exchange->request().body);
  MutexLock lock(mutex_);
  completions_.push_back(request);
  if (error_) return exchange->Respond(*error_);
  const std::string model = request["model"];
  if (std::find(models_.begin(), models_.end(), model) == models_.end()) {
    return exchange->Respond(
        http::ApiError{.status = 404, .message = "there is no model '" + model + "'"});
  }
  const auto stream = exchange->BeginEventStream();
  stream->OnGone([this] {
    MutexLock gone(mutex_);
    ++left_;
  });
  for (const std::string& piece : pieces_) {
    for (int index = 0; index < request["n"]; ++index) {
      const std::string text = index == 0 ? piece : piece + std::to_string(index);
      stream->Send(json({{"choices", {{{"index", index}, {"text", text}}}}}).dump());
    }
  }
  if (hangs_) return hanging_.push_back(stream);
  if (breaks_) return stream->End();
  if (late_error_) {
    stream->Send(http::ErrorBody(*late_error_));
    return stream->End("[DONE]");
  }
  stream->Send(json({{"choices", json::array()}, {"usage", json::object()}}).dump());
  stream->End("[DONE]");
}

}  // namespace gp::testing
