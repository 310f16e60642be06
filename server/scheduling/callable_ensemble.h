// An ensemble as the dispatcher calls it: it takes no slot for a run, since all its work is done by its steps' models,
// whose runs take theirs.
#pragma once

#include <functional>
#include <memory>

#include "server/repository/ensemble_model.h"
#include "server/scheduling/dispatched_call.h"

namespace hearth::server {

class CallableEnsemble : public EnsembleModel {
 public:
  // Begins a call of "forward" and calls its on_start. `done` is called once, perhaps before this returns; the
  // ensemble is held until then. Steps that were begun may end after it.
  virtual std::shared_ptr<CallHandle> Start(DispatchedCall call, DispatchCallback done) = 0;
};

}  // namespace hearth::server
