#include "jit/interpreter/mode.h"

namespace hearth {

Mode Mode::OfThread() { return {c10::AutogradState::get_tls_state(), c10::impl::tls_local_dispatch_key_set()}; }

Mode Mode::WithoutGradients() {
  Mode mode = OfThread();
  mode.autograd.set_grad_mode(false);
  mode.keys.excluded_ = mode.keys.excluded_ | c10::autograd_dispatch_keyset_with_ADInplaceOrView;
  return mode;
}

void Mode::Install() const {
  c10::AutogradState::set_tls_state(autograd);
  c10::impl::_force_tls_local_dispatch_key_set(keys);
}

}  // namespace hearth
