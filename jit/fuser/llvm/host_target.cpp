#include "jit/fuser/llvm/host_target.h"

#include <llvm/ADT/StringMap.h>
#include <llvm/MC/MCSubtargetInfo.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/Target/TargetOptions.h>
#include <llvm/TargetParser/Host.h>

#include <map>
#include <mutex>

namespace hearth::fuser {
namespace {

constexpr const char* kTriple = "x86_64-unknown-linux-gnu";

const llvm::Target& TheTarget() {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86Target();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86AsmPrinter();
  });
  std::string error;
  const llvm::Target* target = llvm::TargetRegistry::lookupTarget(kTriple, error);
  if (target == nullptr) throw TargetError(error);
  return *target;
}

std::unique_ptr<llvm::MCSubtargetInfo> SubtargetOf(const std::string& cpu, const std::string& features) {
  return std::unique_ptr<llvm::MCSubtargetInfo>(TheTarget().createMCSubtargetInfo(kTriple, cpu, features));
}

// What this machine has or lacks beside what LLVM expects of its processor; the same on each call.
std::string NativeFeatures(const std::string& cpu) {
  std::map<std::string, bool> sorted;
  for (const auto& feature : llvm::sys::getHostCPUFeatures())
    sorted.emplace(feature.getKey().str(), feature.getValue());
  const auto expected = SubtargetOf(cpu, "");
  std::string differences;
  for (const auto& [name, present] : sorted) {
    if (expected->checkFeatures("+" + name) == present) continue;
    differences += (differences.empty() ? "" : ",") + std::string(present ? "+" : "-") + name;
  }
  return differences;
}

bool IsFeature(const llvm::MCSubtargetInfo& subtarget, llvm::StringRef name) {
  for (const llvm::SubtargetFeatureKV& feature : subtarget.getAllProcessorFeatures()) {
    if (name == feature.Key) return true;
  }
  return false;
}

void CheckFeatures(const llvm::MCSubtargetInfo& subtarget, llvm::StringRef features) {
  while (!features.empty()) {
    const auto [feature, rest] = features.split(',');
    if (!(feature.starts_with("+") || feature.starts_with("-")) || !IsFeature(subtarget, feature.drop_front())) {
      throw TargetError("no feature of an x86-64 processor: " + feature.str());
    }
    features = rest;
  }
}

}  // namespace

HostTarget HostTarget::OfText(std::string_view text) {
  HostTarget target;
  if (text == "native") {
    target.cpu_ = llvm::sys::getHostCPUName().str();
    target.features_ = NativeFeatures(target.cpu_);
  } else {
    const auto [cpu, features] = llvm::StringRef(text.data(), text.size()).split(',');
    target.cpu_ = cpu.str();
    target.features_ = features.str();
  }
  const auto baseline = SubtargetOf("x86-64", "");
  if (!baseline->isCPUStringValid(target.cpu_)) throw TargetError("no x86-64 processor: " + target.cpu_);
  CheckFeatures(*baseline, target.features_);
  target.text_ = target.cpu_ + (target.features_.empty() ? "" : ",") + target.features_;
  if (!target.Has("64bit")) throw TargetError("not of 64 bits: " + target.cpu_);
  return target;
}

bool HostTarget::Has(std::string_view feature) const {
  return SubtargetOf(cpu_, features_)->checkFeatures("+" + std::string(feature));
}

std::unique_ptr<llvm::TargetMachine> HostTarget::MakeMachine() const {
  return std::unique_ptr<llvm::TargetMachine>(
      TheTarget().createTargetMachine(kTriple, cpu_, features_, llvm::TargetOptions(), llvm::Reloc::PIC_,
                                      llvm::CodeModel::Small, llvm::CodeGenOptLevel::Default));
}

}  // namespace hearth::fuser
