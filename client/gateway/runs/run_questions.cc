#include "client/gateway/runs/run_questions.h"

#include <chrono>
#include <utility>

namespace gp::gateway {
namespace {

constexpr size_t kWaitingMax = 64;
constexpr std::chrono::seconds kTurn{1};

}  // namespace

RunQuestions::RunQuestions(client::RunClient& client)
    : client_(client), waiting_(kWaitingMax), thread_([this] { KeepAsking(); }) {}

RunQuestions::~RunQuestions() {
  waiting_.Close();
  thread_.join();
}

void RunQuestions::List(const v1::ListRequest& request,
                        std::function<void(const StatusOr<v1::ListResponse>&)> answer) {
  Ask([this, request, answer] { answer(client_.List(request)); }, answer);
}

void RunQuestions::Get(const std::string& reference,
                       std::function<void(const StatusOr<v1::Run>&)> answer) {
  Ask([this, reference, answer] { answer(client_.Get(reference)); }, answer);
}

void RunQuestions::GetSweep(const std::string& sweep,
                            std::function<void(const StatusOr<v1::Sweep>&)> answer) {
  Ask([this, sweep, answer] { answer(client_.GetSweep(sweep)); }, answer);
}

void RunQuestions::ListSweeps(std::function<void(const StatusOr<v1::ListSweepsResponse>&)> answer) {
  Ask([this, answer] { answer(client_.ListSweeps("")); }, answer);
}

void RunQuestions::GetAll(const std::vector<std::string>& references,
                          std::function<void(const StatusOr<std::vector<v1::Run>>&)> answer) {
  Ask([this, references, answer] { answer(FetchAll(references)); }, answer);
}

StatusOr<std::vector<v1::Run>> RunQuestions::FetchAll(const std::vector<std::string>& references) {
  std::vector<v1::Run> runs;
  for (const std::string& reference : references) {
    ASSIGN_OR_RETURN(runs.emplace_back(), client_.Get(reference));
  }
  return runs;
}

void RunQuestions::Ask(std::function<void()> question,
                       const std::function<void(const Status&)>& refuse) {
  if (waiting_.TryPost(question)) return;
  refuse(ResourceExhausted(
      "{} requests to the coordinator are already waiting; try again in a moment", kWaitingMax));
}

void RunQuestions::KeepAsking() {
  while (!waiting_.drained()) {
    if (const auto question = waiting_.Receive(kTurn)) (*question)();
  }
}

}  // namespace gp::gateway
