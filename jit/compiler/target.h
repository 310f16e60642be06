// What code is compiled for: the libraries and threads of this process. Passes ask it what they may do with tensors of
// a device and dtype; none decides that by itself.
#pragma once

#include <c10/core/Device.h>
#include <c10/core/ScalarType.h>

#include <string>
#include <string_view>

namespace hearth {

struct Target {
  int threads = 1;         // that work inside of an operator
  bool onednn = false;     // calls of oneDNN may be planned (libraries)
  bool attention = false;  // there is a kernel of attention for this processor (kernels)

  // This process, on a thread whose operators have as many threads as those of the threads that will run the code.
  static Target Host();
  // Changes what `text` names: "threads=4,onednn=0". Throws std::invalid_argument.
  void Set(std::string_view text);
  // The same form.
  std::string ToString() const;

  // Whether weights of convolutions and linear layers may be in oneDNN's own formats.
  bool PacksWeights(c10::Device device, c10::ScalarType dtype) const;
  // Whether what computes convolutions of images is fastest where these lie channels-last.
  bool PrefersChannelsLast(c10::Device device, c10::ScalarType dtype) const;
  // Whether the weights of layers may be computed anew while compiling, with what comes after the layer folded in.
  bool FoldsWeights(c10::Device device, c10::ScalarType dtype) const;
  // Whether convolutions are called in forms that have what follows them in their kernel.
  bool FusesConvolutions(c10::Device device, c10::ScalarType dtype) const;
  // Whether products with constant matrices are written as linear layers.
  bool MakesLinears(c10::Device device, c10::ScalarType dtype) const;
  // Whether several narrow linear layers of one input are one product.
  bool GroupsLinears(c10::Device device, c10::ScalarType dtype) const;
  // Whether linear layers of one input that go into attention are one product, whose parts it takes as they lie.
  bool JoinsProjections(c10::Device device, c10::ScalarType dtype) const;
  // Whether attention has no other kernels than LibTorch's, which take four dimensions.
  bool FlattensAttention(c10::Device device, c10::ScalarType dtype) const;
  // Whether attention makes numbers of a mask of bools in every call.
  bool NumbersMasks(c10::Device device) const;
  // Whether operators on constant tensors may run while compiling.
  bool FoldsTensors(c10::Device device) const;
  // Whether attention has a kernel that keeps its scores to itself.
  bool HasAttention(c10::Device device, c10::ScalarType dtype) const;
  // Whether LibTorch's attention is faster than the products and the softmax that it comes to, for all sizes.
  bool FusesAttention(c10::Device device, c10::ScalarType dtype) const;
  // Whether results may lie in a plan's arena.
  bool PlansMemory(c10::Device device) const;
};

}  // namespace hearth
