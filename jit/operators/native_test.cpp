// Every native operator against LibTorch's own operation of the same schema: same results, same changes to the
// arguments, same error texts, over edge values of the schema's types. Where LibTorch ends the process or never
// returns, the native operator must raise instead.
#include "jit/operators/native.h"
#include "jit/operators/native_support.h"

#include <ATen/Context.h>
#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <random>
#include <sstream>

#include "jit/operators/registry.h"

namespace hearth {
namespace {

using c10::IValue;
using c10::TypeKind;
using c10::TypePtr;

constexpr int64_t kMinInt = std::numeric_limits<int64_t>::min();
constexpr int64_t kMaxInt = std::numeric_limits<int64_t>::max();

struct Outcome {
  std::vector<IValue> results;
  std::vector<IValue> arguments;  // as the call left them
  std::string error;
};

bool SameBits(double a, double b) {
  if (std::isnan(a) && std::isnan(b)) return true;
  return std::bit_cast<uint64_t>(a) == std::bit_cast<uint64_t>(b);
}

// `tolerance`: how far a tensor's numbers may differ, relatively.
bool SameWithin(double tolerance, const IValue& a, const IValue& b);
bool Same(const IValue& a, const IValue& b) { return SameWithin(0, a, b); }
bool SameWithin(double tolerance, const IValue& a, const IValue& b) {
  if (a.tagKind() != b.tagKind()) return false;
  if (a.isDouble()) return SameBits(a.toDouble(), b.toDouble());
  if (a.isComplexDouble()) {
    const auto x = a.toComplexDouble();
    const auto y = b.toComplexDouble();
    return SameBits(x.real(), y.real()) && SameBits(x.imag(), y.imag());
  }
  if (a.isTensor()) {
    const at::Tensor& x = a.toTensor();
    const at::Tensor& y = b.toTensor();
    if (x.defined() != y.defined()) return false;
    if (!x.defined()) return true;
    return x.dtype() == y.dtype() && x.sizes() == y.sizes() && x.strides() == y.strides() &&
           (x.numel() <= 0 || at::allclose(x.to(at::kComplexDouble), y.to(at::kComplexDouble), tolerance, 0, true));
  }
  if (a.isList()) {
    const auto x = a.toListRef();
    const auto y = b.toListRef();
    return *a.type() == *b.type() && x.size() == y.size() && std::equal(x.begin(), x.end(), y.begin(), Same);
  }
  if (a.isTuple()) {
    const auto& x = a.toTupleRef().elements();
    const auto& y = b.toTupleRef().elements();
    return x.size() == y.size() && std::equal(x.begin(), x.end(), y.begin(), Same);
  }
  if (a.isGenericDict()) {
    const auto x = a.toGenericDict();
    const auto y = b.toGenericDict();
    if (x.size() != y.size()) return false;
    return std::equal(x.begin(), x.end(), y.begin(), [](const auto& p, const auto& q) {
      return Same(p.key(), q.key()) && Same(p.value(), q.value());
    });
  }
  return a == b;
}

std::string Show(const std::vector<IValue>& values) {
  std::ostringstream out;
  for (const IValue& value : values) out << "[" << value.tagKind() << " " << value << "] ";
  return out.str();
}

// A deep copy; what was one object stays one.
IValue CopyOf(const IValue& value, std::map<const void*, IValue>& copies) {
  if (!value.isTensor() && !value.isList() && !value.isGenericDict()) return value;
  IValue& copy = copies[value.internalToPointer()];
  if (!copy.isNone()) return copy;
  if (value.isTensor()) {
    copy = value.toTensor().clone();
  } else if (value.isList()) {
    const c10::List<IValue> list = value.toList();
    c10::List<IValue> copied(list.elementType());
    for (const IValue& element : value.toListRef()) copied.push_back(CopyOf(element, copies));
    copy = copied;
  } else {
    const auto dict = value.toGenericDict();
    c10::impl::GenericDict copied(dict.keyType(), dict.valueType());
    for (const auto& entry : dict) copied.insert(CopyOf(entry.key(), copies), CopyOf(entry.value(), copies));
    copy = copied;
  }
  return copy;
}

std::vector<IValue> CopyOf(const std::vector<IValue>& values) {
  std::map<const void*, IValue> memo;
  std::vector<IValue> copies;
  for (const IValue& value : values) copies.push_back(CopyOf(value, memo));
  return copies;
}

// Some messages quote another one with its C++ backtrace.
std::string WithoutBacktrace(const std::string& message) {
  return message.substr(0, message.find("\nException raised from"));
}

template <typename Call>
Outcome Record(const std::vector<IValue>& arguments, Call call) {
  Outcome outcome;
  outcome.arguments = CopyOf(arguments);
  at::manual_seed(0);
  try {
    call(outcome);
  } catch (const c10::Error& error) {
    outcome.error = WithoutBacktrace(error.what_without_backtrace());
  } catch (const std::exception& error) {
    outcome.error = error.what();
  }
  return outcome;
}

Outcome RunBoxed(const Operator& op, const std::vector<IValue>& arguments) {
  return Record(arguments, [&](Outcome& outcome) {
    torch::jit::Stack stack = outcome.arguments;
    if (op.is_vararg()) stack.emplace_back(static_cast<int64_t>(arguments.size()));
    op.Run(stack);
    outcome.results = std::move(stack);
  });
}

Outcome RunNative(const Operator& op, const std::vector<IValue>& arguments) {
  return Record(arguments, [&](Outcome& outcome) {
    std::vector<const IValue*> pointers;
    for (const IValue& argument : outcome.arguments) pointers.push_back(&argument);
    std::vector<IValue> results(std::max<size_t>(1, op.schema().returns().size()));
    op.native()({pointers.data(), pointers.size()}, results.data());
    results.resize(op.schema().returns().size());
    outcome.results = std::move(results);
  });
}

// Edge values of a type. A type variable is bound to one type for a whole call.
class Values {
 public:
  Values(bool small, TypePtr variable) : small_(small), variable_(std::move(variable)) {}

  std::vector<IValue> Of(const TypePtr& type) const {
    switch (type->kind()) {
      case TypeKind::IntType:
      case TypeKind::SymIntType:
        if (small_) return {0, 1, -1, 2, 3};
        return {0, 1, -1, 2, -2, 3, 5, -7, 64, 70, -64, 16777217, kMaxInt, kMaxInt - 1, kMinInt, kMinInt + 1};
      case TypeKind::FloatType:
        if (small_) return {0.0, 1.0, 0.5, -1.0};
        return {0.0, -0.0, 1.0,  -1.0, 0.5,   1.5,          2.5,      -2.5,
                3.0, 0.1,  1e-8, 1e20, -1e30, std::nan(""), INFINITY, -INFINITY};
      case TypeKind::BoolType:
        return {true, false};
      case TypeKind::ComplexType:
        return {c10::complex<double>(0, 0), c10::complex<double>(1, 2), c10::complex<double>(-0.5, -1),
                c10::complex<double>(std::nan(""), INFINITY)};
      case TypeKind::StringType:
        if (small_) return {"mean", "ij,jk->ik", "nearest"};
        return {"",
                "a",
                "ab",
                "aab aab",
                " x  y\t\n",
                "\xc3\xa9t\xc3\xa9",
                "Hello, World",
                "a,b,,c",
                "aaaa",
                "aa",
                "{} and {}",
                "%s is %d",
                "100%",
                "0x1f",
                " \n\t\f\v",
                "tab\tbed"};
      case TypeKind::NumberType:
        return {2, -3, 0.5, true, c10::complex<double>(1, 2)};
      case TypeKind::NoneType:
        return {IValue()};
      case TypeKind::DeviceObjType:
        return {c10::Device("cpu"), c10::Device("cuda"), c10::Device("cuda:1")};
      case TypeKind::OptionalType: {
        std::vector<IValue> values = Of(type->containedType(0));
        values.emplace_back();
        return values;
      }
      case TypeKind::ListType:
        return Lists(type->containedType(0));
      case TypeKind::DictType:
        return Dicts(type->containedType(0), type->containedType(1));
      case TypeKind::TupleType:
        return {};
      case TypeKind::VarType:
        return Of(variable_);
      case TypeKind::AnyEnumType:
        return {};
      case TypeKind::AnyType:
        return {c10::ivalue::Tuple::create({1, "x", 2.5}), c10::ivalue::Tuple::create({})};
      case TypeKind::TensorType:
        return Tensors();
      default:
        return {};
    }
  }

 private:
  TypePtr Bound(const TypePtr& type) const { return type->kind() == TypeKind::VarType ? variable_ : type; }

  std::vector<IValue> Lists(const TypePtr& contained) const {
    const TypePtr element = Bound(contained);
    const std::vector<IValue> elements = Of(element);
    std::vector<IValue> lists;
    // Of increasing length, and with the same element again at the end.
    for (const size_t length : {0, 1, 2, 3, 4}) {
      c10::List<IValue> list(element->kind() == TypeKind::SymIntType ? c10::IntType::get() : element);
      for (size_t i = 0; i < length && !elements.empty(); ++i)
        list.push_back(elements[(i * 2 + length) % elements.size()]);
      if (length == 4 && !elements.empty()) list.push_back(list.get(0));
      lists.emplace_back(list);
    }
    return lists;
  }

  std::vector<IValue> Dicts(const TypePtr& key, const TypePtr& value) const {
    const std::vector<IValue> keys = Of(Bound(key));
    const std::vector<IValue> values = Of(Bound(value));
    std::vector<IValue> dicts;
    for (const size_t size : {0, 1, 3}) {
      c10::impl::GenericDict dict(Bound(key), Bound(value));
      for (size_t i = 0; i < size; ++i) dict.insert_or_assign(keys[i % keys.size()], values[i % values.size()]);
      dicts.emplace_back(dict);
    }
    return dicts;
  }

  std::vector<IValue> Tensors() const {
    const at::Tensor ramp = at::arange(6, at::kFloat).reshape({2, 3}) / 4 - 0.5;
    return {at::scalar_tensor(2, at::kLong),
            at::scalar_tensor(-1.5, at::kDouble),
            at::scalar_tensor(true, at::kBool),
            ramp,
            ramp.t(),
            at::tensor({1, 0, 2}, at::kLong),
            at::arange(2 * 3 * 4 * 4, at::kFloat).reshape({2, 3, 4, 4}) / 50 - 0.9,
            at::eye(3),
            at::empty({0, 3}, at::kFloat)};
  }

  bool small_;
  TypePtr variable_;
};

// Squares that are added as they are computed are rounded once less; a softmax has other exponentials.
double ToleranceOf(const std::string& name) {
  const bool is_norm = name == "aten::linalg_vector_norm" || name == "aten::norm.ScalarOpt_dim";
  return is_norm || name == "aten::softmax.int" || name == "aten::softmax.int_out" ? 1e-6 : 0;
}

// Calls that LibTorch does not survive, or that are not this test's business.
bool Excluded(const std::string& name, const std::vector<IValue>& arguments) {
  const auto is = [&](size_t i, int64_t value) { return arguments[i].isInt() && arguments[i].toInt() == value; };
  const auto is_empty = [&](size_t i) { return arguments[i].isString() && arguments[i].toStringRef().empty(); };
  const auto is_real = [&](size_t i) { return arguments[i].isInt() || arguments[i].isDouble(); };
  if (name == "aten::remainder" && !(is_real(0) && is_real(1))) return true;
  if (name == "aten::remainder.int" || name == "aten::remainder")
    return is(1, 0) || is(1, -1) || is(1, kMaxInt) || is(1, kMinInt) || is(1, kMaxInt - 1) || is(1, kMinInt + 1);
  if (name == "aten::divmod.int" || name == "aten::floordiv.int") return is(0, kMinInt) && is(1, -1);
  if (name == "aten::gcd.int") return is(0, kMinInt) || is(1, kMinInt);
  if (name == "aten::count" || name == "aten::replace" || name == "aten::rsplit") return is_empty(1);
  if (name == "aten::mul_.t" || name == "aten::mul.left_t") return arguments[1].toInt() > 100;
  if (name == "aten::mul.right_") return arguments[0].toInt() > 100;
  if (name == "prim::rangelist") return arguments[0].toInt() > 100;
  const bool widens = name == "aten::ljust" || name == "aten::rjust" || name == "aten::zfill";
  if (widens || name == "aten::expandtabs") return arguments[1].toInt() > 100 || arguments[1].toInt() < -100;
  if (name == "aten::center") return arguments[1].toInt() > 100 || arguments[1].toInt() < 0;
  if (name == "prim::Print") return true;
  return name == "aten::warn" || name == "aten::set_grad_enabled" || name == "aten::device.with_index" ||
         name == "aten::empty.memory_format" || name == "aten::empty_like" || name == "aten::new_empty";
}

// LibTorch's own operations index tables with these, whatever they are.
bool IsEnumeration(const std::string& name) { return name == "dtype" || name == "layout" || name == "memory_format"; }

class NativeOperatorTest : public testing::TestWithParam<NativeEntry> {};

const Operator* Find(std::string_view name) {
  const size_t dot = name.find('.');
  const std::string base(name.substr(0, dot));
  const std::string overload(dot == std::string_view::npos ? "" : name.substr(dot + 1));
  return OperatorRegistry::Global().Find(c10::Symbol::fromQualString(base), overload);
}

TEST_P(NativeOperatorTest, DoesWhatLibTorchDoes) {
  const std::string name(GetParam().name);
  const Operator* op = Find(name);
  ASSERT_NE(op, nullptr) << name << " is no operator";
  ASSERT_EQ(op->native(), GetParam().function) << name << " is not called natively";
  if (!op->has_boxed()) GTEST_SKIP();

  const std::vector<c10::Argument>& parameters = op->schema().arguments();
  const auto is_tensor = [](const c10::Argument& argument) {
    return argument.type()->isSubtypeOf(*c10::TensorType::get()) || argument.type()->str().find("Tensor") == 0 ||
           argument.type()->kind() == TypeKind::DeviceObjType;
  };
  // Sizes and dimensions are kept small where tensors would be made of them.
  const bool on_tensors = std::any_of(parameters.begin(), parameters.end(), is_tensor) ||
                          std::any_of(op->schema().returns().begin(), op->schema().returns().end(), is_tensor);

  std::mt19937 random(1);
  int compared = 0;
  int succeeded = 0;
  for (const TypePtr& variable : std::initializer_list<TypePtr>{c10::IntType::get(), c10::FloatType::get(),
                                                                c10::StringType::get(), c10::BoolType::get()}) {
    const Values values(on_tensors, variable);
    std::vector<std::vector<IValue>> choices;
    for (const c10::Argument& parameter : parameters) {
      choices.push_back(values.Of(parameter.type()));
      if (IsEnumeration(parameter.name())) choices.back() = {0, parameter.default_value().value_or(IValue(6))};
      if (choices.back().empty()) GTEST_SKIP() << "no values of type " << parameter.type()->str();
      if (parameter.default_value()) choices.back().push_back(*parameter.default_value());
    }
    size_t all = 1;
    for (const auto& choice : choices) all = std::min<size_t>(all * choice.size(), 1000000);
    const size_t rounds = std::min<size_t>(all, on_tensors ? 150 : 2000);
    for (size_t round = 0; round < rounds; ++round) {
      // Every combination if they are few, else some of them.
      std::vector<IValue> arguments;
      size_t index = round;
      for (const auto& choice : choices) {
        const bool usual = on_tensors && arguments.size() > 1 && random() % 3 != 0;
        arguments.push_back(usual ? choice.back()
                                  : choice[rounds == all ? index % choice.size() : random() % choice.size()]);
        index /= choice.size();
      }
      if (op->is_vararg()) {
        const std::vector<IValue> extra = values.Of(c10::NumberType::get());
        if (name == "aten::percentFormat") {
          arguments.push_back(random() % 2 != 0 ? IValue(c10::ivalue::Tuple::create({"x", 2}))
                                                : extra[random() % extra.size()]);
        } else {
          for (size_t i = random() % 4; i > 0; --i) arguments.push_back(extra[random() % extra.size()]);
        }
      }
      if (Excluded(name, arguments)) continue;
      const Outcome expected = RunBoxed(*op, arguments);
      const Outcome actual = RunNative(*op, arguments);
      ++compared;
      if (expected.error.empty()) ++succeeded;
      // LibTorch's own assertions name its files.
      if (expected.error.find("INTERNAL ASSERT") != std::string::npos) continue;
      EXPECT_EQ(actual.error, expected.error) << name << " of " << Show(arguments);
      EXPECT_TRUE(std::equal(actual.results.begin(), actual.results.end(), expected.results.begin(),
                             expected.results.end(), std::bind_front(SameWithin, ToleranceOf(name))))
          << name << " of " << Show(arguments) << "\ngave " << Show(actual.results) << "\nnot  "
          << Show(expected.results);
      // One that was given other sizes for a result that then failed holds what was in that memory.
      if (!expected.error.empty() && op->schema().overload_name().ends_with("out")) continue;
      EXPECT_TRUE(std::equal(actual.arguments.begin(), actual.arguments.end(), expected.arguments.begin(),
                             std::bind_front(SameWithin, ToleranceOf(name))))
          << name << " of " << Show(arguments) << "\nleft " << Show(actual.arguments) << "\nnot  "
          << Show(expected.arguments);
      if (HasFailure()) return;
    }
  }
  RecordProperty("compared", compared);
  RecordProperty("succeeded", succeeded);
}

std::vector<NativeEntry> All() { return {NativeOperators().begin(), NativeOperators().end()}; }

INSTANTIATE_TEST_SUITE_P(All, NativeOperatorTest, testing::ValuesIn(All()),
                         [](const testing::TestParamInfo<NativeEntry>& info) {
                           std::string name;
                           for (char c : info.param.name) name += std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
                           return name + "_" + std::to_string(info.index);
                         });

std::string ErrorOf(std::string_view name, std::vector<IValue> arguments) {
  return RunNative(*Find(name), arguments).error;
}

TEST(NativeArgumentTest, NumbersLieWhereTheyAreRead) {
  EXPECT_EQ(native::Get<int64_t>(int64_t{-0x123456789abcdef}), -0x123456789abcdef);
  EXPECT_TRUE(native::Get<bool>(true));
  EXPECT_FALSE(native::Get<bool>(false));
  EXPECT_THROW(native::Get<int64_t>(true), c10::Error);
  EXPECT_THROW(native::Get<int64_t>(IValue()), c10::Error);
  EXPECT_THROW(native::Get<bool>(int64_t{1}), c10::Error);
}

TEST(NativeRepairTest, DivisionThatEndsTheProcessInLibTorchRaisesOrIsRight) {
  EXPECT_EQ(ErrorOf("aten::remainder.int", {5, 0}), "ZeroDivisionError: integer division or modulo by zero");
  EXPECT_EQ(ErrorOf("aten::remainder", {5, 0}), "ZeroDivisionError: integer division or modulo by zero");
  EXPECT_EQ(ErrorOf("aten::floordiv.int", {kMinInt, -1}), "integer overflow in division");
  EXPECT_EQ(ErrorOf("aten::divmod.int", {kMinInt, -1}), "integer overflow in division");
  EXPECT_EQ(RunNative(*Find("aten::remainder.int"), {kMinInt, -1}).results[0].toInt(), 0);
  // As Python has it: the divisor's sign, no overflow on the way.
  EXPECT_EQ(RunNative(*Find("aten::remainder.int"), {-5, kMaxInt}).results[0].toInt(), kMaxInt - 5);
  EXPECT_EQ(RunNative(*Find("aten::remainder.int"), {5, kMinInt}).results[0].toInt(), kMinInt + 5);
  EXPECT_EQ(RunNative(*Find("aten::remainder.int"), {5, kMaxInt}).results[0].toInt(), 5);
}

TEST(NativeRepairTest, AWidthThatKeepsLibTorchBusyForEverRaisesOrIsRight) {
  EXPECT_EQ(RunNative(*Find("aten::center"), {"abc", -5, "*"}).results[0].toStringRef(), "abc");
  for (const char* name : {"aten::center", "aten::ljust", "aten::rjust"}) {
    EXPECT_NE(ErrorOf(name, {"abc", kMaxInt, "*"}), "") << name;
  }
  EXPECT_NE(ErrorOf("aten::zfill", {"abc", kMaxInt}), "");
  EXPECT_NE(ErrorOf("aten::expandtabs", {"\t", kMaxInt}), "");
}

// "" if it raises nothing.
std::string BoxedErrorOf(const char* name, torch::jit::Stack arguments) {
  try {
    Find(name)->Run(arguments);
  } catch (const c10::Error& failed) {
    return failed.what_without_backtrace();
  }
  return "";
}

TEST(NativeRepairTest, IndicesThatLibTorchTrustsAreLookedAt) {
  const at::Tensor wild = at::full({1, 3}, 1000000, at::kLong);
  const c10::List<int64_t> lengths({5});
  EXPECT_NE(
      BoxedErrorOf("aten::ctc_loss.IntList", {at::ones({5, 1, 4}), wild, lengths, c10::List<int64_t>({3}), 0, 1, false})
          .find("targets must lie between 0 and 3"),
      std::string::npos);
  const at::Tensor pivots = at::full({3}, 1000000, at::kInt);
  EXPECT_NE(BoxedErrorOf("aten::linalg_ldl_solve", {at::eye(3), pivots, at::ones({3, 1}), false}).find("pivots"),
            std::string::npos);
  const IValue none;
  EXPECT_NE(BoxedErrorOf("aten::_sparse_coo_tensor_unsafe",
                         {wild, at::ones({3}), c10::List<int64_t>({4}), none, none, none, none, none})
                .find("indices of a sparse tensor"),
            std::string::npos);
  EXPECT_NE(BoxedErrorOf("aten::segment_reduce",
                         {at::ones({4}), "sum", at::full({1}, 1000000, at::kLong), none, none, 0, true, none}),
            "");
}

TEST(NativeRepairTest, WeightsPackedForACpuAreReadThereOnly) {
  torch::jit::Stack packed = {at::quantize_per_tensor(at::ones({3, 4}), 0.1, 0, at::kQInt8), IValue()};
  Find("quantized::linear_prepack")->Run(packed);
  EXPECT_NE(BoxedErrorOf("quantized::linear", {at::ones({2, 4}, at::kMeta), packed[0], 1.0, 0})
                .find("has its weights packed for cpu, and its input is on meta"),
            std::string::npos);
}

TEST(NativeRepairTest, AnEmptyPatternThatLibTorchSearchesForEverRaises) {
  EXPECT_NE(ErrorOf("aten::count", {"abc", "", 0, -1}), "");
  EXPECT_NE(ErrorOf("aten::replace", {"abc", "", "x", -1}), "");
  EXPECT_NE(ErrorOf("aten::rsplit", {"abc", "", -1}), "");
}

}  // namespace
}  // namespace hearth
