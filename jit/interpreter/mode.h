// What a run's answer depends on beside its arguments: gradients on or off and the dispatcher's thread-local keys
// (autocast among them). A run owns its Mode: it is put on the thread when the run resumes and taken off, with whatever
// the run changed, when it suspends or ends.
//
// Without gradients the dispatcher's autograd layers are left out altogether: operators go straight to their kernels,
// which gives the same numbers and shapes, and results that require no gradient. Code that switches gradients on
// (aten::set_grad_enabled) brings the layers back.
#pragma once

#include <c10/core/AutogradState.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

namespace hearth {

struct Mode {
  c10::AutogradState autograd;
  c10::impl::LocalDispatchKeySet keys;

  static Mode OfThread();
  // The thread's mode with gradients off.
  static Mode WithoutGradients();
  void Install() const;
};

}  // namespace hearth
