#include "jit/executor/wrong_kernels.h"

#include "jit/executor/execution_plan.h"
#include "jit/fuser/runtime/kernel_source.h"

namespace hearth {
namespace {

// Each is tried alone in a plan that has to be made for it.
constexpr size_t kMostTried = 32;

// One kernel and no others, or none at all.
class OneKernel : public fuser::KernelSource {
 public:
  OneKernel(fuser::KernelSource& all, const std::string* text) : all_(all), text_(text) {}

  std::shared_ptr<const fuser::KernelCode> Get(const std::string& text, const std::function<void()>& rest) override {
    return Find(text).value_or(nullptr);
  }
  std::optional<std::shared_ptr<const fuser::KernelCode>> Find(const std::string& text) override {
    if (text_ == nullptr || text != *text_) return nullptr;
    return all_.Find(text);
  }

 private:
  fuser::KernelSource& all_;
  const std::string* const text_;
};

}  // namespace

std::vector<std::string> WrongKernels(
    const ModelPlans& plans, CodeEntry& entry, const std::optional<ExactShape>& shape,
    const std::vector<std::string>& texts,
    const std::function<std::string(const std::shared_ptr<const Code>& code)>& replay) {
  const auto differs = [&](const std::string* text) {
    OneKernel kernels(*plans.settings().kernels, text);
    PlanRequest request{.spec = entry.spec(), .shape = shape ? &*shape : nullptr, .kernels = &kernels};
    if (const EntryProfile* profile = entry.profile()) {
      SpeculationProfile known = profile->Snapshot();
      request.profile = std::move(known.seen);
      request.deoptimised = std::move(known.deoptimised);
    }
    const auto plan =
        plans.Generate(entry.method(), plans.compiler(entry.method()).Optimise(request, nullptr), nullptr);
    return !replay({plan, plan->executable().entry().get()}).empty();
  };
  if (texts.empty() || differs(nullptr)) return {};
  std::vector<std::string> wrong;
  if (texts.size() <= kMostTried) {
    for (const std::string& text : texts) {
      if (differs(&text)) wrong.push_back(text);
    }
  }
  return wrong.empty() ? texts : wrong;
}

}  // namespace hearth
