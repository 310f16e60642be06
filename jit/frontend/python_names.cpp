#include "jit/frontend/python_names.h"

#include <c10/core/Layout.h>
#include <c10/core/MemoryFormat.h>
#include <c10/core/QScheme.h>
#include <c10/core/ScalarType.h>

#include <cmath>
#include <limits>
#include <numbers>
#include <unordered_map>
#include <unordered_set>
#include <utility>

namespace hearth {
namespace {

using Kind = NamespaceValue::Kind;

// Modules below torch and what is put before a member's name to make the operator's, where that is all.
const char* OperatorPrefix(std::string_view module) {
  static const auto* const prefixes = new std::unordered_map<std::string_view, const char*>{
      {"torch", ""},
      {"torch.autograd", ""},
      {"torch.functional", ""},
      {"torch.random", ""},
      {"torch._C", ""},
      {"torch._C._nn", ""},
      {"torch._C._VariableFunctions", ""},
      {"torch._VF", ""},
      {"torch.linalg", "linalg_"},
      {"torch.fft", "fft_"},
      {"torch.special", "special_"},
      {"torch.nested", "nested_"},
  };
  const auto found = prefixes->find(module);
  return found == prefixes->end() ? nullptr : found->second;
}

// Functions whose operator has another name, by their full name.
std::string_view Renamed(std::string_view dotted) {
  static const auto* const names = new std::unordered_map<std::string_view, std::string_view>{
      {"math.remainder", "mathremainder"},
      {"torch.jit.wait", "wait"},
      {"torch.jit._wait", "wait"},
      {"torch.jit._unwrap_optional", "_unwrap_optional"},
      {"torch.sparse.addmm", "_sparse_addmm"},
      {"torch.sparse.log_softmax", "_sparse_log_softmax"},
      {"torch.sparse.mm", "_sparse_mm"},
      {"torch.sparse.sampled_addmm", "sparse_sampled_addmm"},
      {"torch.sparse.softmax", "_sparse_softmax"},
      {"torch.sparse.spdiags", "_spdiags"},
      {"torch.nn.functional.logsigmoid", "log_sigmoid"},
  };
  const auto found = names->find(dotted);
  return found == names->end() ? std::string_view() : found->second;
}

// The functions of torch.nn.functional that are operators; the others are Python code.
bool IsFunctionalOperator(std::string_view name) {
  static const auto* const names = new std::unordered_set<std::string_view>{"adaptive_avg_pool1d",
                                                                            "avg_pool1d",
                                                                            "avg_pool2d",
                                                                            "avg_pool3d",
                                                                            "bilinear",
                                                                            "celu_",
                                                                            "channel_shuffle",
                                                                            "conv1d",
                                                                            "conv2d",
                                                                            "conv3d",
                                                                            "conv_tbc",
                                                                            "conv_transpose1d",
                                                                            "conv_transpose2d",
                                                                            "conv_transpose3d",
                                                                            "cosine_similarity",
                                                                            "elu_",
                                                                            "gelu",
                                                                            "hardshrink",
                                                                            "hardtanh_",
                                                                            "leaky_relu_",
                                                                            "linear",
                                                                            "native_channel_shuffle",
                                                                            "one_hot",
                                                                            "pairwise_distance",
                                                                            "pdist",
                                                                            "pixel_shuffle",
                                                                            "pixel_unshuffle",
                                                                            "prelu",
                                                                            "relu_",
                                                                            "rrelu_",
                                                                            "scaled_dot_product_attention",
                                                                            "selu_",
                                                                            "softplus",
                                                                            "softshrink",
                                                                            "threshold_"};
  return names->contains(name);
}

std::optional<SpecialForm> FindForm(std::string_view dotted) {
  static const auto* const forms = new std::unordered_map<std::string_view, SpecialForm>{
      {"torch.jit.annotate", SpecialForm::kAnnotate},
      {"torch.jit.fork", SpecialForm::kFork},
      {"torch.jit._fork", SpecialForm::kFork},
      {"torch.jit._awaitable", SpecialForm::kAwaitable},
      {"torch.jit.isinstance", SpecialForm::kIsInstance},
      {"torch.jit.is_scripting", SpecialForm::kTrue},
      {"torch.jit.is_tracing", SpecialForm::kFalse},
  };
  const auto found = forms->find(dotted);
  return found == forms->end() ? std::nullopt : std::optional(found->second);
}

std::optional<c10::IValue> FindConstant(std::string_view module, std::string_view name) {
  if (module != "torch" && module != "math") return std::nullopt;
  if (name == "pi") return std::numbers::pi;
  if (name == "e") return std::numbers::e;
  if (name == "inf") return std::numeric_limits<double>::infinity();
  if (name == "nan") return std::numeric_limits<double>::quiet_NaN();
  if (module == "math") return name == "tau" ? std::optional<c10::IValue>(2 * std::numbers::pi) : std::nullopt;
  if (const auto number = FindTorchNumber(name)) return *number;
  return std::nullopt;
}

// The context managers of torch that are classes, by every name that Python has for them.
struct LibraryClass {
  std::string_view dotted;
  std::string_view qualified;
};
constexpr LibraryClass kLibraryClasses[] = {
    {"torch.no_grad", "__torch__.torch.autograd.grad_mode.no_grad"},
    {"torch.autograd.no_grad", "__torch__.torch.autograd.grad_mode.no_grad"},
    {"torch.autograd.grad_mode.no_grad", "__torch__.torch.autograd.grad_mode.no_grad"},
    {"torch.autocast", "__torch__.torch.amp.autocast_mode.autocast"},
    {"torch.amp.autocast", "__torch__.torch.amp.autocast_mode.autocast"},
    {"torch.cpu.amp.autocast", "__torch__.torch.cpu.amp.autocast_mode.autocast"},
    {"torch.cuda.amp.autocast", "__torch__.torch.cuda.amp.autocast_mode.autocast"},
    {"torch.profiler.record_function", "__torch__.torch.autograd.profiler.record_function"},
    {"torch.autograd.profiler.record_function", "__torch__.torch.autograd.profiler.record_function"},
};

constexpr std::string_view kGradMode = R"(class no_grad:
  prev : bool
  def __init__(self):
    self.prev = False
  def __enter__(self):
    self.prev = torch.is_grad_enabled()
    torch.set_grad_enabled(False)
  def __exit__(self, exc_type: Any, exc_value: Any, traceback: Any):
    torch.set_grad_enabled(self.prev)
)";

constexpr std::string_view kAutocast = R"(class autocast:
  device : str
  _enabled : bool
  fast_dtype : int
  def __init__(self, device_type: str, dtype: Optional[int]=None, enabled: bool=True,
               cache_enabled: Optional[bool]=None):
    if dtype is None:
      self.fast_dtype = torch.get_autocast_dtype(device_type)
    else:
      self.fast_dtype = dtype
    self._enabled = enabled
    self.device = device_type
  def __enter__(self):
    pass
  def __exit__(self, exc_type: Any, exc_value: Any, traceback: Any):
    pass
)";

// Both fixed to one device, $D, whose own dtype is $T.
constexpr std::string_view kDeviceAutocast = R"(class autocast:
  device : str
  _enabled : bool
  fast_dtype : int
  def __init__(self, enabled: bool=True, dtype: int=$T, cache_enabled: bool=True):
    self._enabled = enabled
    self.device = "$D"
    self.fast_dtype = dtype
  def __enter__(self):
    pass
  def __exit__(self, exc_type: Any, exc_value: Any, traceback: Any):
    pass
)";

constexpr std::string_view kProfiler = R"(class record_function:
  name : str
  args : Optional[str]
  record : Optional[__torch__.torch.classes.profiler._RecordFunction]
  def __init__(self, name: str, args: Optional[str]=None):
    self.name = name
    self.args = args
    self.record = None
  def __enter__(self):
    self.record = ops.profiler._record_function_enter_new(self.name, self.args)
    return self
  def __exit__(self, exc_type: Any, exc_value: Any, traceback: Any):
    record = self.record
    assert record is not None
    ops.profiler._record_function_exit(record)
)";

std::string DeviceAutocast(std::string_view device, c10::ScalarType dtype) {
  std::string text(kDeviceAutocast);
  text.replace(text.find("$T"), 2, std::to_string(static_cast<int>(dtype)));
  return text.replace(text.find("$D"), 2, device);
}

}  // namespace

std::optional<int64_t> FindTorchNumber(std::string_view name) {
  static const auto* const numbers = [] {
    auto* made = new std::unordered_map<std::string_view, int64_t>{
        {"strided", static_cast<int64_t>(c10::Layout::Strided)},
        {"sparse_coo", static_cast<int64_t>(c10::Layout::Sparse)},
        {"sparse_csr", static_cast<int64_t>(c10::Layout::SparseCsr)},
        {"sparse_csc", static_cast<int64_t>(c10::Layout::SparseCsc)},
        {"sparse_bsr", static_cast<int64_t>(c10::Layout::SparseBsr)},
        {"sparse_bsc", static_cast<int64_t>(c10::Layout::SparseBsc)},
        {"jagged", static_cast<int64_t>(c10::Layout::Jagged)},
        {"contiguous_format", static_cast<int64_t>(c10::MemoryFormat::Contiguous)},
        {"channels_last", static_cast<int64_t>(c10::MemoryFormat::ChannelsLast)},
        {"channels_last_3d", static_cast<int64_t>(c10::MemoryFormat::ChannelsLast3d)},
        {"preserve_format", static_cast<int64_t>(c10::MemoryFormat::Preserve)},
        {"per_tensor_affine", static_cast<int64_t>(c10::kPerTensorAffine)},
        {"per_channel_affine", static_cast<int64_t>(c10::kPerChannelAffine)},
        {"per_tensor_symmetric", static_cast<int64_t>(c10::kPerTensorSymmetric)},
        {"per_channel_symmetric", static_cast<int64_t>(c10::kPerChannelSymmetric)},
        {"per_channel_affine_float_qparams", static_cast<int64_t>(c10::kPerChannelAffineFloatQParams)},
    };
    const std::pair<std::string_view, c10::ScalarType> dtypes[] = {
        {"uint8", c10::ScalarType::Byte},
        {"int8", c10::ScalarType::Char},
        {"int16", c10::ScalarType::Short},
        {"short", c10::ScalarType::Short},
        {"int32", c10::ScalarType::Int},
        {"int", c10::ScalarType::Int},
        {"int64", c10::ScalarType::Long},
        {"long", c10::ScalarType::Long},
        {"uint16", c10::ScalarType::UInt16},
        {"uint32", c10::ScalarType::UInt32},
        {"uint64", c10::ScalarType::UInt64},
        {"float16", c10::ScalarType::Half},
        {"half", c10::ScalarType::Half},
        {"float32", c10::ScalarType::Float},
        {"float", c10::ScalarType::Float},
        {"float64", c10::ScalarType::Double},
        {"double", c10::ScalarType::Double},
        {"complex32", c10::ScalarType::ComplexHalf},
        {"chalf", c10::ScalarType::ComplexHalf},
        {"complex64", c10::ScalarType::ComplexFloat},
        {"cfloat", c10::ScalarType::ComplexFloat},
        {"complex128", c10::ScalarType::ComplexDouble},
        {"cdouble", c10::ScalarType::ComplexDouble},
        {"bool", c10::ScalarType::Bool},
        {"bfloat16", c10::ScalarType::BFloat16},
        {"float8_e4m3fn", c10::ScalarType::Float8_e4m3fn},
        {"float8_e5m2", c10::ScalarType::Float8_e5m2},
        {"qint8", c10::ScalarType::QInt8},
        {"quint8", c10::ScalarType::QUInt8},
        {"qint32", c10::ScalarType::QInt32},
        {"quint4x2", c10::ScalarType::QUInt4x2},
        {"quint2x4", c10::ScalarType::QUInt2x4},
    };
    for (const auto& [name, dtype] : dtypes) made->emplace(name, static_cast<int64_t>(dtype));
    return made;
  }();
  const auto found = numbers->find(name);
  if (found == numbers->end()) return std::nullopt;
  return found->second;
}

PythonMember FindPythonMember(std::string_view module, std::string_view name, OperatorTable& operators) {
  const std::string dotted = std::string(module).append(".").append(name);
  if (dotted == "torch.ops") return {NamespaceValue{Kind::kOperators, "ops"}, {}};
  if (dotted == "torch.classes") return {NamespaceValue{Kind::kArchive, "__torch__.torch.classes"}, {}};
  if (const auto form = FindForm(dotted)) return {SpecialFormValue{*form}, {}};
  if (const std::string_view renamed = Renamed(dotted); !renamed.empty()) {
    return {OperatorValue{operators.Find("aten", renamed)}, {}};
  }
  if (dotted == "torch.jit._awaitable_wait" || dotted == "torch.jit._awaitable_nowait") {
    return {OperatorValue{operators.Find("prim", name.substr(1))}, {}};
  }
  if (module == "math" || (module == "torch.nn.functional" && IsFunctionalOperator(name))) {
    if (const OperatorSet* set = operators.Find("aten", name); set->known()) return {OperatorValue{set}, {}};
  } else if (const char* prefix = OperatorPrefix(module)) {
    const OperatorSet* set = operators.Find("aten", std::string(prefix).append(name));
    if (set->known()) return {OperatorValue{set}, {}};
  }
  if (auto constant = FindConstant(module, name)) return {Unbound{}, std::move(constant)};
  if (module == "torch.nn.functional") {
    return {Unbound{"is a function of the torch package that is written in Python: only an archive carries its code"},
            {}};
  }
  if (module == "torch" || OperatorPrefix(module) != nullptr) {
    // A submodule, or an operator that does not exist: told apart where it is used.
    if (OperatorPrefix(dotted) || dotted == "torch.jit" || dotted == "torch.nn" || dotted == "torch.sparse" ||
        dotted == "torch.amp" || dotted == "torch.cpu" || dotted == "torch.cuda" || dotted == "torch.profiler" ||
        dotted.starts_with("torch.autograd.")) {
      return {NamespaceValue{Kind::kPython, {}}, {}};
    }
    const char* const prefix = OperatorPrefix(module);
    return {OperatorValue{operators.Find("aten", std::string(prefix).append(name))}, {}};
  }
  return {NamespaceValue{Kind::kPython, {}}, {}};
}

std::string_view FindLibraryClass(std::string_view dotted) {
  for (const LibraryClass& one : kLibraryClasses) {
    if (one.dotted == dotted) return one.qualified;
  }
  return {};
}

std::string FindLibrarySource(std::string_view qualifier) {
  if (qualifier == "__torch__.torch.autograd.grad_mode") return std::string(kGradMode);
  if (qualifier == "__torch__.torch.autograd.profiler") return std::string(kProfiler);
  if (qualifier == "__torch__.torch.amp.autocast_mode") return std::string(kAutocast);
  if (qualifier == "__torch__.torch.cpu.amp.autocast_mode") return DeviceAutocast("cpu", c10::ScalarType::BFloat16);
  if (qualifier == "__torch__.torch.cuda.amp.autocast_mode") return DeviceAutocast("cuda", c10::ScalarType::Half);
  return {};
}

}  // namespace hearth
