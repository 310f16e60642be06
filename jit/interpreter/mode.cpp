#include "jit/interpreter/mode.h"

#include <c10/core/impl/VirtualGuardImpl.h>

namespace hearth {

Mode Mode::OfThread(std::optional<c10::Device> device) {
  Mode mode{c10::AutogradState::get_tls_state(), c10::impl::tls_local_dispatch_key_set(), std::nullopt};
  if (device) mode.stream = c10::impl::VirtualGuardImpl(device->type()).getStream(*device);
  return mode;
}

Mode Mode::WithoutGradients() {
  Mode mode = OfThread();
  mode.autograd.set_grad_mode(false);
  mode.keys.excluded_ = mode.keys.excluded_ | c10::autograd_dispatch_keyset_with_ADInplaceOrView;
  return mode;
}

std::optional<c10::Device> Mode::device() const { return stream ? std::optional(stream->device()) : std::nullopt; }

void Mode::Install() const {
  c10::AutogradState::set_tls_state(autograd);
  c10::impl::_force_tls_local_dispatch_key_set(keys);
  if (!stream) return;
  // Of several GPUs, the thread's is the stream's too: kernels are launched there, and "cuda" without a number is it.
  const c10::impl::VirtualGuardImpl guard(stream->device_type());
  guard.uncheckedSetDevice(stream->device());
  guard.exchangeStream(*stream);
}

}  // namespace hearth
