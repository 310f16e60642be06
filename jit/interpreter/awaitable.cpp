#include "jit/interpreter/awaitable.h"

#include <utility>

namespace hearth {
namespace {

// How a call lies among an Await's arguments, which are values.
struct HeldCall final : torch::CustomClassHolder {
  explicit HeldCall(AwaitableCall held) : call(std::move(held)) {}
  const AwaitableCall call;
};

}  // namespace

c10::IValue MakeAwaitable(const c10::TypePtr& type, AwaitableCall call,
                          std::function<c10::IValue(const AwaitableCall&)> run) {
  auto held = c10::make_intrusive<HeldCall>(std::move(call));
  auto awaitable =
      c10::make_intrusive<c10::ivalue::Await>(type, [held, run = std::move(run)] { return run(held->call); });
  awaitable->setArgs({c10::IValue::make_capsule(std::move(held))});
  return awaitable;
}

const AwaitableCall* CallOf(c10::ivalue::Await& awaitable) {
  const std::vector<c10::IValue>& arguments = awaitable.args();
  if (awaitable.completed() || arguments.size() != 1 || !arguments[0].isCapsule()) return nullptr;
  const auto* held = dynamic_cast<const HeldCall*>(arguments[0].toCapsule().get());
  return held != nullptr ? &held->call : nullptr;
}

void Complete(c10::ivalue::Await& awaitable, c10::IValue value) {
  awaitable.markCompleted(std::move(value));
  awaitable.setFn(nullptr);
  awaitable.setArgs({});
}

}  // namespace hearth
