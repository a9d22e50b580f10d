// All pairs: a small set of cases in which each setting of each switch is combined at least once
// with each setting of every other switch. Greedy: each case takes, switch by switch, the setting
// that adds the most new pairs. Pure functions.
#pragma once

#include <cstddef>
#include <set>
#include <tuple>
#include <vector>

namespace gp::engine {

class AllPairs {
 public:
  // `settings[i]` is the number of settings of switch i.
  explicit AllPairs(std::vector<int> settings) : settings_(std::move(settings)) {
    for (size_t a = 0; a < settings_.size(); ++a) {
      for (size_t b = a + 1; b < settings_.size(); ++b) AddPairs(a, b);
    }
  }

  std::vector<std::vector<int>> Cases() {
    std::vector<std::vector<int>> cases;
    while (!missing_.empty()) cases.push_back(NextCase());
    return cases;
  }

 private:
  using Pair = std::tuple<size_t, int, size_t, int>;

  void AddPairs(size_t a, size_t b) {
    for (int x = 0; x < settings_[a]; ++x) {
      for (int y = 0; y < settings_[b]; ++y) missing_.insert({a, x, b, y});
    }
  }

  static Pair Ordered(size_t a, int x, size_t b, int y) {
    return a < b ? Pair{a, x, b, y} : Pair{b, y, a, x};
  }

  // Starts with a missing pair, so that every case makes progress.
  std::vector<int> NextCase() {
    const auto [a, x, b, y] = *missing_.begin();
    std::vector<int> chosen(settings_.size(), -1);
    chosen[a] = x;
    chosen[b] = y;
    for (size_t i = 0; i < chosen.size(); ++i) {
      if (chosen[i] < 0) chosen[i] = BestSetting(chosen, i);
    }
    for (size_t i = 0; i < chosen.size(); ++i) {
      for (size_t j = i + 1; j < chosen.size(); ++j) missing_.erase({i, chosen[i], j, chosen[j]});
    }
    return chosen;
  }

  int BestSetting(const std::vector<int>& chosen, size_t at) const {
    int best = 0;
    size_t most = 0;
    for (int setting = 0; setting < settings_[at]; ++setting) {
      size_t met = 0;
      for (size_t j = 0; j < chosen.size(); ++j) {
        if (j != at && chosen[j] >= 0) met += missing_.count(Ordered(at, setting, j, chosen[j]));
      }
      if (met > most) {
        most = met;
        best = setting;
      }
    }
    return best;
  }

  std::vector<int> settings_;
  std::set<Pair> missing_;
};

}  // namespace gp::engine
