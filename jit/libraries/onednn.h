// What this room's calls of oneDNN share. Its headers are for the files of this room alone.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <oneapi/dnnl/dnnl.hpp>
#include <optional>
#include <shared_mutex>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "jit/kernels/product.h"
#include "jit/kernels/winograd.h"
#include "jit/libraries/packed_weight.h"

namespace hearth::libraries {

// The processor.
const dnnl::engine& Engine();

// Of an epilogue (packed_weight.h): what the library computes after a product, and what is left, from the first word on
// that it has nothing for. Views of it.
struct EpilogueParts {
  std::string_view of_library, afterwards;
};
EpilogueParts PartsOf(std::string_view epilogue);

// What the library is to compute after a product, as the words of its part of an epilogue say. Throws c10::Error for a
// word that is none.
dnnl::primitive_attr AttributesOf(std::string_view epilogue);

// Of float32.
dnnl::memory::desc DenseForm(at::IntArrayRef sizes, dnnl::memory::format_tag tag);

// What computes with a weight: the library, or kernels of hearth's own.
enum class WeightUser : uint8_t {
  kLibrary,
  kProduct,      // kernels/product.h: of a matrix [inner, columns], or of a convolution of pixels
  kConvolution,  // kernels/convolution.h
  kDepthwise,    // kernels/depthwise.h
  kWinograd,     // kernels/winograd.h
};

struct WeightForm {
  dnnl::memory::desc form;  // the library's
  std::string text;         // of two forms, the same if and only if they are
  WeightUser user = WeightUser::kLibrary;
  int64_t groups = 1;  // of a convolution
  // Of kWinograd's: of how many groups one is made, and the tiles.
  int64_t merged = 1;
  kernels::WinogradTile tile = kernels::WinogradTile::kTwo;
};
// Null of one that no text tells from others.
std::shared_ptr<const WeightForm> MakeWeightForm(const dnnl::memory::desc& form);

// The form for one of hearth's own kernels; null where the processor lacks what these are for.
std::shared_ptr<const WeightForm> OwnForm(WeightUser user, int64_t groups = 1, int64_t merged = 1,
                                          kernels::WinogradTile tile = kernels::WinogradTile::kTwo);

// Shared among the threads of the calling thread's operators. Denormal numbers are read as zero.
void MultiplyOnThreads(const kernels::Product& product);

// Whether the library has code of its own for it, and not only what serves for everything.
bool IsOptimized(const dnnl::primitive_desc_base& primitive);
// Whether it is a convolution that the library computes as products of matrices, copying the input for them.
bool IsByProducts(const dnnl::primitive_desc_base& primitive);

// A call's primitive, and the memory that it wants.
struct PreparedCall {
  dnnl::primitive primitive;
  dnnl::memory::desc input, weight, bias, result, scratch;
  size_t packed = 0;  // number of the packed weight
  std::vector<int64_t> result_sizes;
};

template <typename Primitive>
PreparedCall CallOf(const typename Primitive::primitive_desc& made, std::vector<int64_t> result_sizes = {}) {
  return {.primitive = Primitive(made),
          .input = made.src_desc(),
          .weight = made.weights_desc(),
          .bias = made.bias_desc(),
          .result = made.dst_desc(),
          .scratch = made.scratchpad_desc(),
          .result_sizes = std::move(result_sizes)};
}

// What a primitive of a call was made for. The number of threads is the calling thread's.
struct PrimitiveKey {
  at::IntArrayRef sizes;  // of the input
  bool has_bias = false;
  std::string_view epilogue;
  int threads = 1;
};

// The primitives of one call: those of its last kinds of inputs. Thread-safe.
class PrimitiveTable {
 public:
  using Maker = std::function<std::optional<PreparedCall>()>;
  // Null where `make` has none: that is remembered, too.
  std::shared_ptr<const PreparedCall> Get(const PrimitiveKey& key, const Maker& make);
  // Null where none was made.
  std::shared_ptr<const PreparedCall> Find(const PrimitiveKey& key);

 private:
  static constexpr size_t kMost = 16;

  struct Entry {
    std::vector<int64_t> sizes;
    bool has_bias;
    std::string epilogue;
    int threads;
    std::shared_ptr<const PreparedCall> prepared;
  };

  std::vector<Entry>::const_iterator Search(const PrimitiveKey& key) const;  // with the lock held

  std::shared_mutex mutex_;
  std::vector<Entry> entries_;
  size_t oldest_ = 0;
};

// Runs it on tensors that lie as its descriptors say. Denormal numbers are read as zero. Throws c10::Error where the
// library fails.
void Execute(const PreparedCall& prepared, const at::Tensor& input, const at::Tensor& weight, const at::Tensor* bias,
             at::Tensor& result);

}  // namespace hearth::libraries
