// What a run's answer depends on beside its arguments: gradients on or off and the dispatcher's thread-local keys
// (autocast among them), and where on a GPU its work goes. A run owns its Mode: it is put on the thread when the run
// resumes and taken off, with whatever the run changed, when it suspends or ends.
//
// Without gradients the dispatcher's autograd layers are left out altogether: operators go straight to their kernels,
// which gives the same numbers and shapes, and results that require no gradient. Code that switches gradients on
// (aten::set_grad_enabled) brings the layers back.
#pragma once

#include <c10/core/AutogradState.h>
#include <c10/core/Device.h>
#include <c10/core/Stream.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

#include <optional>

namespace hearth {

struct Mode {
  c10::AutogradState autograd;
  c10::impl::LocalDispatchKeySet keys;
  std::optional<c10::Stream> stream;  // whose device is the thread's too; null: whatever the thread has

  // With the stream that the thread has for `device`, if one is given.
  static Mode OfThread(std::optional<c10::Device> device = std::nullopt);
  // The thread's mode with gradients off.
  static Mode WithoutGradients();
  // Whose stream it holds.
  std::optional<c10::Device> device() const;
  void Install() const;
};

}  // namespace hearth
