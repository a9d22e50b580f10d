// Options of Muon's update of one matrix. They need memory that the host can access. Thread-safe on
// different matrices.
#pragma once

#include "worker/engine/backend/backend.h"
#include "worker/engine/optim/orthogonal_factor.h"

namespace gp::engine {

// NorMuon (Li et al. 2025, arXiv:2510.05491): divides each row of the update by the root of the
// running mean of its mean square, and keeps the norm of the whole update. The mean of row r is
// kept in means[r * update.columns]. The paper's bias correction multiplies all rows alike, so
// keeping the norm makes it superfluous. `factors`: memory for update.rows values.
void ScaleRows(Backend& backend, const Matrix& update, double beta, float* means, float* factors);

// Cautious weight decay (Chen et al. 2025, arXiv:2510.12402): weight := kept * weight where the
// update has the weight's sign and so moves it towards 0; then weight -= rate * update.
void StepCautiously(const Matrix& update, float kept, float rate, float* weight);

}  // namespace gp::engine
