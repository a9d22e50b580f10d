// The model that a run begins with: init_from in its resolved file. Pure functions; thread-safe.
#pragma once

#include <string>

#include "coordinator/state/run.h"

namespace gp::coordinator {

// The path of init_from; empty when the run begins from scratch.
std::string InitialModelOf(const Submission& submission);

// Whether the run has ended without a checkpoint to go on from, so that it begins again with its
// initial model when it is resumed or retried.
bool MayBeginAgain(const Run& run);

// The model that the run may still begin from. Of a live run: it has no checkpoint of its own, or
// its next leg begins again at the start. Of an ended run: as in MayBeginAgain, unless the model is
// a checkpoint of a known run, whose children protect it. Otherwise empty.
std::string AwaitedModel(const Run& run);

// Writes another path into the resolved file. REQUIRES: the run does not begin from scratch.
void SetInitialModel(Submission& submission, const std::string& path);

}  // namespace gp::coordinator
