#include "jit/operators/native.h"

#include <vector>

#include "jit/operators/native_support.h"

namespace hearth {

std::span<const NativeEntry> NativeOperators() {
  static const std::vector<NativeEntry> all = [] {
    std::vector<NativeEntry> entries;
    for (std::span<const NativeEntry> part :
         {native::ScalarNatives(),         native::MathNatives(),           native::ListNatives(),
          native::DictNatives(),           native::StringNatives(),         native::StringPadNatives(),
          native::StringSearchNatives(),   native::ChannelShuffleNatives(), native::ValueNatives(),
          native::TensorQueryNatives(),    native::SmallTensorNatives(),    native::TensorMathNatives(),
          native::TensorShapeNatives(),    native::TensorLayerNatives(),    native::IntoMemoryNatives(),
          native::LinearNatives(),         native::AttentionNatives(),      native::CellNatives(),
          native::ConcatenationNatives(),  native::ConvolutionNatives(),    native::EmbeddingNatives(),
          native::PoolingNatives(),        native::RecurrenceNatives(),     native::FusedNatives(),
          native::GpuConvolutionNatives(), native::GroupNormNatives(),      native::GroupScalesNatives(),
          native::UpsamplingNatives(),     native::CopyNatives(),           native::ReductionNatives(),
          native::SoftmaxNatives(),        native::SpreadChannelsNatives(), native::GroupedLinearNatives()}) {
      entries.insert(entries.end(), part.begin(), part.end());
    }
    return entries;
  }();
  return all;
}

}  // namespace hearth
