#include "worker/trainer/failure.h"

#include <exception>
#include <new>

#include "worker/engine/collectives/communicator.h"
#include "worker/engine/step/training_error.h"

namespace gp::engine {

link::Failed CurrentFailure() {
  try {
    throw;
  } catch (const TrainingError& error) {
    return {error.cause(), error.what()};
  } catch (const CollectiveError& error) {
    return {contract::ExitCause::kCollective, error.what()};
  } catch (const std::bad_alloc&) {
    return {contract::ExitCause::kOutOfMemory, "out of memory"};
  } catch (const std::exception& error) {
    return {contract::ExitCause::kError, error.what()};
  }
}

}  // namespace gp::engine
