// The tree of a run's ancestors, itself, and the runs that were forked from them. Pure;
// thread-safe.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "client/gpctl/render/run_json.h"
#include "gp/v1/run.pb.h"

namespace gp::gpctl {

class Lineage {
 public:
  // `runs`: as Get answers them, with their legs and resolved run files. REQUIRES: `run` is the id
  // of one of `runs`. A parent that is not among them counts as unknown.
  Lineage(std::vector<v1::Run> runs, std::string run);

  // One line for each run and each later leg, indented below what it began from, with the keys that
  // changed there. Marks the run in question.
  // `columns`: where lines are broken; 0: nowhere.
  std::string Text(bool utf8, int columns = 0) const;
  // {"root": …, "runs": [{run_id, name, state, parent, changed, legs}]}
  Json Fields() const;

 private:
  struct Branch {
    std::string indent;  // of the run's own line
    bool last = true;    // among its parent's children
  };
  struct Style {
    bool utf8 = true;
    int columns = 0;
  };
  // `shown`: the runs that the text has already. A damaged catalogue may have a circle.
  void AddTree(const v1::Run& run, const Branch& branch, const Style& style,
               std::set<std::string>& shown, std::string& text) const;
  const v1::Run& Root() const;

  std::map<std::string, v1::Run> runs_;
  std::multimap<std::string, std::string> children_;  // by the parent's id, in the order of `runs`
  const std::string run_;
};

}  // namespace gp::gpctl
