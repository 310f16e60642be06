#include "jit/compiler/target.h"

#include <ATen/Parallel.h>

#include <charconv>
#include <stdexcept>

#include "jit/kernels/target.h"

namespace hearth {
namespace {

int NumberIn(std::string_view text, int most) {
  int number = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number < 0 || number > most) {
    throw std::invalid_argument("not a number from 0 to " + std::to_string(most) + ": " + std::string(text));
  }
  return number;
}

bool IsHalf(c10::ScalarType dtype) { return dtype == c10::kHalf || dtype == c10::kBFloat16; }

}  // namespace

Target Target::Host() { return {.threads = at::get_num_threads(), .onednn = true, .attention = kernels::HasVectors()}; }

void Target::Set(std::string_view text) {
  constexpr int kMostThreads = 4096;
  while (!text.empty()) {
    const std::string_view setting = text.substr(0, text.find(','));
    text.remove_prefix(std::min(text.size(), setting.size() + 1));
    const size_t equals = setting.find('=');
    const std::string_view name = setting.substr(0, equals);
    const std::string_view value = equals == std::string_view::npos ? "" : setting.substr(equals + 1);
    if (name == "threads") {
      threads = NumberIn(value, kMostThreads);
    } else if (name == "onednn") {
      onednn = NumberIn(value, 1) == 1;
    } else if (name == "attention") {
      attention = NumberIn(value, 1) == 1;
    } else {
      throw std::invalid_argument("a target has no '" + std::string(name) + "'; it is " + ToString());
    }
  }
}

std::string Target::ToString() const {
  return "threads=" + std::to_string(threads) + ",onednn=" + (onednn ? "1" : "0") +
         ",attention=" + (attention ? "1" : "0");
}

bool Target::PacksWeights(c10::Device device, c10::ScalarType dtype) const {
  return onednn && device.is_cpu() && dtype == c10::kFloat;
}

// oneDNN and the tensor cores of a GPU: in another order, each convolution would put its images into this one and back.
bool Target::PrefersChannelsLast(c10::Device device, c10::ScalarType dtype) const {
  if (device.is_cuda()) return IsHalf(dtype);
  return onednn && device.is_cpu() && dtype == c10::kFloat;
}

// On a GPU, float32 layers may round their operands to TF32: other weights give answers that differ by that.
bool Target::FoldsWeights(c10::Device device, c10::ScalarType dtype) const {
  if (device.is_cuda()) return IsHalf(dtype);
  return device.is_cpu() && c10::isFloatingType(dtype);
}

bool Target::FusesConvolutions(c10::Device device, c10::ScalarType dtype) const {
  return device.is_cuda() && IsHalf(dtype);
}

bool Target::MakesLinears(c10::Device device, c10::ScalarType dtype) const {
  return (device.is_cpu() && dtype == c10::kFloat) || (device.is_cuda() && IsHalf(dtype));
}

bool Target::GroupsLinears(c10::Device device, c10::ScalarType dtype) const {
  return device.is_cpu() && dtype == c10::kFloat;
}

bool Target::JoinsProjections(c10::Device device, c10::ScalarType dtype) const {
  return device.is_cuda() && IsHalf(dtype);
}

bool Target::FlattensAttention(c10::Device device, c10::ScalarType dtype) const {
  const bool has_kernels = (device.is_cpu() || device.is_cuda()) && (dtype == c10::kFloat || IsHalf(dtype));
  return has_kernels && !HasAttention(device, dtype);
}

bool Target::NumbersMasks(c10::Device device) const { return device.is_cuda(); }

bool Target::FoldsTensors(c10::Device device) const { return device.is_cpu() || device.is_cuda(); }

bool Target::HasAttention(c10::Device device, c10::ScalarType dtype) const {
  return attention && device.is_cpu() && dtype == c10::kFloat;
}

bool Target::FusesAttention(c10::Device device, c10::ScalarType dtype) const {
  return device.is_cuda() && IsHalf(dtype);
}

bool Target::PlansMemory(c10::Device device) const { return device.is_cpu(); }

}  // namespace hearth
