// The globals that a pickle may name, and nothing else.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace hearth {

enum class Global : uint8_t {
  // Values: the number that came with them.
  kDtype,        // torch.float32
  kStorageType,  // torch.FloatStorage
  kQScheme,
  kClass,       // __torch__.Foo, found by the delegate
  kPythonType,  // torch.Tensor, torch.nn.parameter.Parameter: only as an argument
  // Functions.
  kRebuildTensorV2,
  kRebuildTensorV3,
  kRebuildQTensor,
  kRebuildSparseTensor,
  kRebuildMetaTensor,
  kRebuildParameter,
  kRebuildParameterWithState,
  kRebuildFromTypeV2,
  kDevice,
  kSize,
  kComplex,
  kOrderedDict,
  kGetLayout,
  kEncode,
  kBuildIntList,
  kBuildDoubleList,
  kBuildBoolList,
  kBuildTensorList,
  kRestoreTypeTag,
};

struct GlobalEntry {
  Global global{};
  int64_t number = 0;  // a ScalarType or QScheme, where the global stands for one
};

// `name` is module and name with a newline between, as the pickle has them. Classes of an archive are not looked for.
std::optional<GlobalEntry> FindGlobal(std::string_view name);

}  // namespace hearth
