#include "jit/definitions/definition_lists.h"
#include "jit/definitions/scalar_rules.h"
#include "jit/definitions/shared_rules.h"

#include <cstdint>
#include <cstdlib>
#include <limits>
#include <string>
#include <utility>

namespace hearth {
namespace {

using Kind = ValueFacts::Kind;

// What an argument `device` says; `otherwise` where it is None.
std::optional<c10::Device> GivenDevice(const Call& call, std::optional<c10::Device> otherwise) {
  if (call.is_none("device")) return otherwise;
  const c10::IValue* device = call.constant("device");
  // "cuda" without a number is whichever is current.
  if (device == nullptr || !device->isDevice()) return {};
  const c10::Device given = device->toDevice();
  return given.is_cpu() || given.has_index() ? std::optional(given) : std::nullopt;
}

bool IsStrided(const Call& call) {
  if (call.is_none("layout")) return true;
  const std::optional<int64_t> layout = call.number("layout");
  return layout == static_cast<int64_t>(c10::kStrided);
}

void GiveNew(Call& call, Dtype dtype, std::optional<c10::Device> device, std::optional<KnownSizes> sizes) {
  ValueFacts& facts = call.out();
  facts.kind = Kind::kTensor;
  facts.dtype = dtype;
  facts.device = device;
  facts.plain = IsStrided(call);
  if (call.is_none("memory_format")) call.GiveOrder(StrideOrder::Default(true));
  facts.requires_grad = call.has("requires_grad") ? call.flag("requires_grad") : std::optional(false);
  if (sizes) {
    for (KnownSize& size : *sizes) {
      if (size && *size < 0) size = {};
    }
  }
  facts.sizes = std::move(sizes);
}
void New(Call& call) {
  GiveNew(call, GivenDtype(call, DefaultDtype()), GivenDevice(call, c10::kCPU), call.numbers("size"));
}
void NewFull(Call& call) {
  Dtype number = DtypeOfNumber(*call.node().input(1)->type());
  if (number == c10::kDouble) number = DefaultDtype();
  GiveNew(call, GivenDtype(call, number), GivenDevice(call, c10::kCPU), call.numbers("size"));
}
// How many steps there are from the start up to the end, which is left out.
KnownSize LengthOfRange(Call& call) {
  const KnownSize end = call.computed("end");
  if (!call.has("start")) return end;
  const KnownSize step = call.has("step") ? call.computed("step") : KnownSize(1);
  if (!step || *step == 0 || *step == std::numeric_limits<int64_t>::min()) return {};
  const KnownSize way = call.sizes().Multiply(call.sizes().Subtract(end, call.computed("start")), *step > 0 ? 1 : -1);
  const int64_t width = std::abs(*step);
  return width == 1 ? way : call.sizes().Divide(call.sizes().Add(way, width - 1), width);
}
void NewRange(Call& call) {
  Dtype dtype = c10::kLong;
  const KnownSize length = LengthOfRange(call);
  for (size_t i = 0; i < call.num_inputs(); ++i) {
    const std::string& name = call.node().op()->schema().arguments()[i].name();
    if (name != "start" && name != "end" && name != "step") continue;
    const Dtype number = DtypeOfNumber(*call.node().input(i)->type());
    if (number != c10::kLong && number != c10::kBool && dtype) dtype = number ? Dtype(DefaultDtype()) : Dtype();
  }
  GiveNew(call, GivenDtype(call, dtype), GivenDevice(call, c10::kCPU), KnownSizes{length});
}
void NewIdentity(Call& call) {
  const KnownSize rows = call.computed("n"), columns = call.has("m") ? call.computed("m") : rows;
  GiveNew(call, GivenDtype(call, DefaultDtype()), GivenDevice(call, c10::kCPU), KnownSizes{rows, columns});
}
void NewLike(Call& call) {
  const ValueFacts like = call.in(0);
  GiveNew(call, GivenDtype(call, like.dtype), GivenDevice(call, like.device), like.sizes);
  call.out().plain &= like.plain;
  call.out().order = {};
  if (call.is_none("memory_format") && like.contiguous()) call.GiveOrder(like.order);
}
void NewAsMethod(Call& call) {
  const ValueFacts like = call.in(0);
  GiveNew(call, GivenDtype(call, like.dtype), GivenDevice(call, like.device), call.numbers("size"));
  call.out().plain &= like.plain;
  if (!call.out().plain) call.out().order = {};
}
void NewScalar(Call& call) {
  Dtype dtype = DtypeOfNumber(*call.node().input(0)->type());
  if (!dtype) return;
  if (dtype == c10::kDouble) dtype = DefaultDtype();
  GiveNew(call, GivenDtype(call, dtype), GivenDevice(call, c10::kCPU), KnownSizes());
}

// Of a flat list of numbers.
void NewFromList(Call& call) {
  const auto* list = call.node().input(0)->type()->castRaw<c10::ListType>();
  Dtype dtype = list == nullptr ? Dtype() : DtypeOfNumber(*list->getElementType());
  if (!dtype) return;
  if (dtype == c10::kDouble) dtype = DefaultDtype();
  const c10::IValue* constant = call.constant(size_t{0});
  KnownSizes sizes(1);
  if (call.in(0).length()) sizes[0] = static_cast<int64_t>(*call.in(0).length());
  if (constant != nullptr && constant->isList()) sizes[0] = static_cast<int64_t>(constant->toListRef().size());
  // Of none at all the dtype is the default one.
  if (sizes[0] == 0) dtype = DefaultDtype();
  if (!sizes[0]) dtype.reset();
  GiveNew(call, GivenDtype(call, dtype), GivenDevice(call, c10::kCPU), std::move(sizes));
}
void NewFromData(Call& call) {
  if (call.node().input(0)->type()->kind() == c10::TypeKind::ListType) return NewFromList(call);
  if (!call.is_tensor_type(0)) NewScalar(call);
}
void NewSpaced(Call& call) {
  const c10::IValue* steps = call.constant("steps");
  KnownSizes sizes(1);
  if (steps != nullptr && steps->isInt()) sizes[0] = steps->toInt();
  GiveNew(call, GivenDtype(call, Dtype()), GivenDevice(call, c10::kCPU), std::move(sizes));
}

void NumberToTensor(Call& call) {
  GiveNew(call, DtypeOfNumber(*call.node().input(0)->type()), c10::kCPU, KnownSizes());
}

void To(Call& call) {
  const ValueFacts like = call.in(0);
  if (call.has("other")) {
    const ValueFacts& other = call.in(call.find("other"));
    call.Give(0, like, other.dtype, like.sizes);
    call.out().device = other.device;
    call.out().plain = like.plain && other.plain;
    call.out().requires_grad.reset();
    return;
  }
  call.Give(0, like, GivenDtype(call, like.dtype), like.sizes);
  call.out().device = GivenDevice(call, like.device);
  call.out().plain &= IsStrided(call);
  if (call.is_none("memory_format")) call.GiveOrder(OrderOfNewLike(call.sizes(), like));
}

void TypeAs(Call& call) {
  call.Give(0, call.in(0), call.in(1).dtype, call.in(0).sizes);
  call.out().device = call.in(1).device;
}

void BoxIndices(Call& call) { call.Give(0, call.in(0), c10::kLong, UnknownSizes(1)); }
void RegionsOfInterest(Call& call) { call.Give(0, call.in(0), call.in(0).dtype, UnknownSizes(4)); }

void SameTensor(Call& call) { call.out() = call.in(0); }

using enum OperatorClass;

const OperatorDefinition kDefinitions[] = {
    {.name = "aten::zeros", .kind = kCreation, .facts = New},
    {.name = "aten::ones", .kind = kCreation, .facts = New},
    {.name = "aten::empty", .kind = kCreation, .facts = New, .uninitialized = true},
    {.name = "aten::rand", .kind = kCreation, .facts = New},
    {.name = "aten::randn", .kind = kCreation, .facts = New},
    {.name = "aten::full", .kind = kCreation, .facts = NewFull},
    {.name = "aten::arange", .kind = kCreation, .facts = NewRange},
    {.name = "aten::eye", .kind = kCreation, .facts = NewIdentity},
    {.name = "aten::zeros_like", .kind = kCreation, .facts = NewLike, .scalar = scalar::Zeros},
    {.name = "aten::ones_like", .kind = kCreation, .facts = NewLike, .scalar = scalar::Ones},
    {.name = "aten::full_like", .kind = kCreation, .facts = NewLike, .scalar = scalar::Filled},
    {.name = "aten::empty_like", .kind = kCreation, .facts = NewLike, .uninitialized = true},
    {.name = "aten::rand_like", .kind = kCreation, .facts = NewLike},
    {.name = "aten::randn_like", .kind = kCreation, .facts = NewLike},
    {.name = "aten::new_zeros", .kind = kCreation, .facts = NewAsMethod, .scalar = scalar::Zeros},
    {.name = "aten::new_ones", .kind = kCreation, .facts = NewAsMethod, .scalar = scalar::Ones},
    {.name = "aten::new_full", .kind = kCreation, .facts = NewAsMethod, .scalar = scalar::Filled},
    {.name = "aten::new_empty", .kind = kCreation, .facts = NewAsMethod, .uninitialized = true},
    {.name = "aten::tensor", .kind = kCreation, .facts = NewFromData},
    {.name = "aten::as_tensor", .kind = kCreation, .facts = NewFromData},
    {.name = "aten::linspace", .kind = kCreation, .facts = NewSpaced},
    {.name = "aten::to", .kind = kConversion, .facts = To, .scalar = scalar::To},
    {.name = "aten::type_as", .kind = kConversion, .facts = TypeAs, .hides_aliases = true},
    {.name = "torchvision::nms", .facts = BoxIndices},
    {.name = "torchvision::roi_align", .facts = RegionsOfInterest},
    {.name = "prim::NumToTensor", .kind = kCreation, .facts = NumberToTensor, .raises = Raises::kNotOnOneOperand},
    {.name = "prim::unchecked_unwrap_optional",
     .kind = kScalar,
     .facts = SameTensor,
     .number = number::Convert,
     .folding = Folding::kScalars},
    {.name = "aten::_unwrap_optional",
     .kind = kScalar,
     .facts = SameTensor,
     .number = number::Convert,
     .folding = Folding::kScalars},
    {.name = "aten::bernoulli", .kind = kRandom, .in_place = true},
    {.name = "aten::normal", .kind = kRandom, .in_place = true},
    {.name = "aten::uniform", .kind = kRandom, .in_place = true},
    {.name = "aten::to_dense", .kind = kConversion, .hides_aliases = true},
    {.name = "aten::to_mkldnn", .kind = kConversion, .hides_aliases = true},
    {.name = "aten::to_sparse", .kind = kConversion, .hides_aliases = true},
    {.name = "aten::to_sparse_csr", .kind = kConversion, .hides_aliases = true},
    {.name = "aten::to_sparse_csc", .kind = kConversion, .hides_aliases = true},
    {.name = "aten::to_sparse_bsr", .kind = kConversion, .hides_aliases = true},
    {.name = "aten::to_sparse_bsc", .kind = kConversion, .hides_aliases = true},
    {.name = "aten::dequantize", .kind = kConversion, .hides_aliases = true},
    {.name = "aten::quantize_per_tensor", .kind = kConversion, .hides_aliases = true},
    {.name = "aten::conj_physical", .kind = kConversion, .hides_aliases = true},
    {.name = "aten::pin_memory", .kind = kConversion, .hides_aliases = true},
    {.name = "aten::data", .kind = kConversion, .hides_aliases = true},
    {.name = "aten::_cast_Byte", .kind = kConversion, .hides_aliases = true},
    {.name = "aten::_cast_Char", .kind = kConversion, .hides_aliases = true},
    {.name = "aten::_cast_Short", .kind = kConversion, .hides_aliases = true},
    {.name = "aten::_cast_Int", .kind = kConversion, .hides_aliases = true},
    {.name = "aten::_cast_Long", .kind = kConversion, .hides_aliases = true},
    {.name = "aten::_cast_Half", .kind = kConversion, .hides_aliases = true},
    {.name = "aten::_cast_Float", .kind = kConversion, .hides_aliases = true},
    {.name = "aten::_cast_Double", .kind = kConversion, .hides_aliases = true},
    {.name = "prim::data", .kind = kConversion, .hides_aliases = true},
};

}  // namespace

std::span<const OperatorDefinition> CreationDefinitions() { return kDefinitions; }

}  // namespace hearth
