#include "jit/fuser/ir/random_kernels.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "jit/fuser/ir/builder.h"
#include "jit/fuser/ir/scalar_math.h"
#include "jit/fuser/ir/specified_results.h"

namespace hearth::fuser {
namespace {

// How many rounds loops inside one another may run.
constexpr int64_t kMostRounds = 3000;
constexpr Opcode kFirstFunction = Opcode::kExp;

// A number that is a value of the kernel and known here.
struct KnownNumber {
  ValueId id;
  int64_t value;
};

// A loop's index and which of the dimensions it runs over.
struct KnownIndex {
  ValueId id;
  size_t dimension;
};

struct KnownBuffer {
  BufferId id;
  Dtype dtype;
  std::vector<size_t> dimensions;
};

// What the body being made can see.
struct Surroundings {
  std::vector<KnownIndex> indices;
  std::vector<ValueId> values;
  std::vector<KnownBuffer> readable;
  int64_t rounds = 1;
  // Whether no other round of a loop shares the local buffers: the loops around are one at the top and sequential ones.
  bool alone = true;
};

class CaseGenerator {
 public:
  CaseGenerator(uint64_t seed, const RandomKernelOptions& options) : options_(options), random_(seed) {}

  RandomCase Make() {
    MakeDimensions();
    const size_t num_inputs = 1 + Below(4);
    for (size_t i = 0; i < num_inputs; ++i) readable_.push_back(MakeBuffer(BufferKind::kInput, AnyDtype()));
    const size_t num_outputs = 1 + Below(3);
    for (size_t i = 0; i < num_outputs; ++i) {
      budget_ = options_.size;
      MakeOutput();
    }
    return {k_.Finish(), std::move(symbols_), std::move(buffers_)};
  }

 private:
  // ---- Chance ----

  // Not std::uniform_int_distribution, which differs between libraries.
  size_t Below(size_t bound) { return static_cast<size_t>(random_() % bound); }
  bool OneIn(size_t number) { return Below(number) == 0; }
  template <class T>
  const T& Any(const std::vector<T>& of) {
    return of[Below(of.size())];
  }

  Dtype AnyDtype() {
    for (;;) {
      const auto dtype = static_cast<Dtype>(Below(kNumDtypes));
      if (!options_.reduced_dtypes && IsReduced(dtype)) continue;
      // Floating point is what kernels are about.
      if (IsFloating(dtype) || OneIn(2)) return dtype;
    }
  }

  double AnyReal(Dtype dtype) {
    const double infinity = std::numeric_limits<double>::infinity();
    const double special[] = {
        std::numeric_limits<double>::quiet_NaN(), infinity, -infinity, 0.0, -0.0, 1e-40, 6e-8, 65504, -3.4e38};
    if (OneIn(12)) return RoundTo(dtype, special[Below(std::size(special))]);
    if (OneIn(3)) return static_cast<double>(Below(17)) - 8;
    return RoundTo(dtype, std::ldexp(static_cast<double>(random_() >> 11), -50) - 4);
  }

  int64_t AnyInteger(Dtype dtype) {
    if (OneIn(8)) return static_cast<int64_t>(Wrap(random_(), dtype));
    const int64_t extremes[] = {std::numeric_limits<int64_t>::min() >> (64 - 8 * BytesOf(dtype)), -1,
                                std::numeric_limits<int64_t>::max() >> (64 - 8 * BytesOf(dtype))};
    const int64_t value = OneIn(10) ? extremes[Below(3)] : static_cast<int64_t>(Below(21)) - 8;
    return static_cast<int64_t>(Wrap(static_cast<Bits>(value), dtype));
  }

  Bits AnyBits(Dtype dtype) {
    return IsFloating(dtype) ? BitsOf(AnyReal(dtype), dtype) : static_cast<Bits>(AnyInteger(dtype));
  }

  // ---- Symbols and buffers ----

  KnownNumber NewSymbol(int64_t value) {
    symbols_.push_back(value);
    return {k_.Symbol(), value};
  }

  KnownNumber Known(int64_t value) { return {k_.Integer(value), value}; }
  KnownNumber Product(KnownNumber a, KnownNumber b) {
    return {k_.Call(Opcode::kMultiply, {a.id, b.id}), a.value * b.value};
  }

  void MakeDimensions() {
    const std::vector<int64_t> sizes = {1, 2, 3, 4, 5, 7, 8, 9, 16, 17, 33};
    const size_t number = 1 + Below(3);
    for (size_t i = 0; i < number; ++i) {
      const int64_t size = OneIn(25) ? 0 : Any(sizes);
      dimensions_.push_back(OneIn(3) ? Known(size) : NewSymbol(size));
    }
    if (OneIn(3)) {
      scalar_ = k_.Symbol(Dtype::kFloat64);
      symbols_.push_back(static_cast<int64_t>(BitsOf(AnyReal(Dtype::kFloat64), Dtype::kFloat64)));
    }
  }

  KnownBuffer MakeBuffer(BufferKind kind, Dtype dtype) {
    KnownBuffer known{0, dtype, {}};
    const size_t rank = Below(4);
    int64_t elements = 1;
    for (size_t i = 0; i < rank; ++i) {
      const size_t dimension = Below(dimensions_.size());
      if (elements * dimensions_[dimension].value > kMostRounds) break;
      elements *= dimensions_[dimension].value;
      known.dimensions.push_back(dimension);
    }
    std::vector<ValueId> sizes;
    for (const size_t dimension : known.dimensions) sizes.push_back(dimensions_[dimension].id);
    const std::vector<KnownNumber> strides = MakeStrides(known.dimensions, kind == BufferKind::kInput);

    RandomBuffer buffer;
    std::vector<ValueId> stride_ids;
    int64_t extent = 1;
    for (size_t i = 0; i < strides.size(); ++i) {
      stride_ids.push_back(strides[i].id);
      const int64_t reach = (dimensions_[known.dimensions[i]].value - 1) * strides[i].value;
      extent += reach < 0 ? -reach : reach;
      if (reach < 0) buffer.origin -= reach;
    }
    if (elements == 0) extent = 0;
    buffer.memory.resize(static_cast<size_t>(extent) * BytesOf(dtype));
    for (size_t at = 0; at < buffer.memory.size(); at += BytesOf(dtype)) {
      WriteElement(buffer.memory.data() + at, dtype, AnyBits(dtype));
    }
    buffers_.push_back(std::move(buffer));
    known.id = kind == BufferKind::kInput ? k_.Input(dtype, std::move(sizes), std::move(stride_ids))
                                          : k_.Output(dtype, std::move(sizes), std::move(stride_ids));
    return known;
  }

  // In a random order of the dimensions, some backwards, with gaps, and, where elements may share memory, some of 0.
  std::vector<KnownNumber> MakeStrides(const std::vector<size_t>& dimensions, bool may_share) {
    std::vector<KnownNumber> strides(dimensions.size());
    std::vector<size_t> order;
    for (size_t i = 0; i < dimensions.size(); ++i) {
      order.insert(order.begin() + static_cast<ptrdiff_t>(OneIn(3) ? Below(i + 1) : 0), i);
    }
    KnownNumber next = Known(OneIn(8) ? 2 : 1);
    for (const size_t i : order) {
      strides[i] = next;
      if (may_share && OneIn(6)) {
        strides[i] = Known(0);
        continue;
      }
      if (OneIn(8)) strides[i] = {k_.Call(Opcode::kNegate, {next.id}), -next.value};
      if (OneIn(6)) strides[i] = NewSymbol(strides[i].value);
      next = Product(next, dimensions_[dimensions[i]]);
    }
    return strides;
  }

  // ---- One output: loops over its elements, each of which is computed and stored ----

  void MakeOutput() {
    const KnownBuffer output = MakeBuffer(BufferKind::kOutput, AnyDtype());
    RandomBuffer& buffer = buffers_.back();
    buffer.approximate = options_.functions && IsFloating(output.dtype) && OneIn(3);
    Surroundings top;
    top.readable = readable_;
    if (output.dimensions.empty()) {
      k_.Parallel(k_.Integer(1), [&](ValueId) { MakeElements(output, {}, top); });
    } else {
      const size_t dimension = output.dimensions[0];
      k_.Parallel(dimensions_[dimension].id, [&](ValueId index) {
        MakeElements(output, {index}, Inside(top, index, dimension, LoopKind::kParallel));
      });
    }
    if (!buffers_.back().approximate) readable_.push_back(output);
  }

  static bool IsTop(const Surroundings& around) { return around.indices.empty(); }

  Surroundings Inside(const Surroundings& around, ValueId index, size_t dimension, LoopKind kind) const {
    Surroundings inside = around;
    inside.alone = around.alone && (IsTop(around) || kind == LoopKind::kSequential);
    inside.indices.push_back({index, dimension});
    inside.rounds *= std::max<int64_t>(dimensions_[dimension].value, 1);
    return inside;
  }

  // `indices` are those of the loops that are there already.
  void MakeElements(const KnownBuffer& output, const std::vector<ValueId>& indices, Surroundings around) {
    if (options_.local_buffers && around.alone && OneIn(3)) FillLocal(&around);
    if (OneIn(4)) around.values.push_back(MakeReduction(&around));
    if (indices.size() == output.dimensions.size()) {
      // The element itself is this round's alone, so it may be loaded before it is stored.
      ValueId value =
          OneIn(6) ? Mixed(output.dtype, k_.Load(output.id, indices), &around) : Expression(output.dtype, 5, &around);
      if (buffers_.back().approximate) value = FunctionOf(output.dtype, &around);
      k_.Store(output.id, indices, value);
      return;
    }
    const size_t dimension = output.dimensions[indices.size()];
    const auto go_on = [&](ValueId index, const Surroundings& inside) {
      std::vector<ValueId> more = indices;
      more.push_back(index);
      MakeElements(output, more, inside);
    };
    if (!options_.sequential_loops || !OneIn(3)) {
      k_.Parallel(dimensions_[dimension].id,
                  [&](ValueId index) { go_on(index, Inside(around, index, dimension, LoopKind::kParallel)); });
      return;
    }
    MakeScan(dimension, &around, go_on);
  }

  // A sequential loop whose carried values its body sees.
  template <class Function>
  void MakeScan(size_t dimension, Surroundings* around, const Function& body) {
    std::vector<ValueId> initial;
    const size_t number = Below(3);
    for (size_t i = 0; i < number; ++i) initial.push_back(Expression(AnyDtype(), 1, around));
    const std::vector<ValueId> results =
        k_.Sequential(dimensions_[dimension].id, initial, [&](ValueId index, std::span<const ValueId> carried) {
          Surroundings inside = Inside(*around, index, dimension, LoopKind::kSequential);
          inside.values.insert(inside.values.end(), carried.begin(), carried.end());
          body(index, inside);
          std::vector<ValueId> next;
          for (const ValueId value : carried) {
            next.push_back(OneIn(6) ? carried.front() : Mixed(k_.DtypeOf(value), value, &inside));
            if (k_.DtypeOf(next.back()) != k_.DtypeOf(value)) next.back() = value;
          }
          return next;
        });
    around->values.insert(around->values.end(), results.begin(), results.end());
  }

  // A local buffer all of whose elements are stored, so that what follows may load any.
  void FillLocal(Surroundings* around) {
    KnownBuffer local{0, AnyDtype(), {}};
    std::vector<ValueId> sizes;
    int64_t rounds = around->rounds;
    for (size_t i = 0; i < 2; ++i) {
      const size_t dimension = Below(dimensions_.size());
      rounds *= std::max<int64_t>(dimensions_[dimension].value, 1);
      if (rounds > kMostRounds || (i > 0 && OneIn(2))) break;
      local.dimensions.push_back(dimension);
      sizes.push_back(dimensions_[dimension].id);
    }
    local.id = k_.Local(local.dtype, sizes);
    FillLocalFrom(local, {}, *around);
    around->readable.push_back(local);
  }

  void FillLocalFrom(const KnownBuffer& local, const std::vector<ValueId>& indices, Surroundings around) {
    if (indices.size() == local.dimensions.size()) {
      k_.Store(local.id, indices, Expression(local.dtype, 2, &around));
      return;
    }
    const size_t dimension = local.dimensions[indices.size()];
    const auto go_on = [&](ValueId index, LoopKind kind) {
      std::vector<ValueId> more = indices;
      more.push_back(index);
      FillLocalFrom(local, more, Inside(around, index, dimension, kind));
    };
    if (options_.sequential_loops && OneIn(5)) {
      k_.Sequential(dimensions_[dimension].id, {}, [&](ValueId index, std::span<const ValueId>) {
        go_on(index, LoopKind::kSequential);
        return std::vector<ValueId>{};
      });
    } else if (OneIn(4)) {
      // Stores and sums in one loop.
      k_.Reduce(dimensions_[dimension].id, [&](ValueId index) {
        go_on(index, LoopKind::kReduce);
        return std::vector<KernelBuilder::Reduced>{{Reduction::kSum, index}};
      });
    } else {
      k_.Parallel(dimensions_[dimension].id, [&](ValueId index) { go_on(index, LoopKind::kParallel); });
    }
  }

  // ---- Expressions ----

  ValueId Expression(Dtype dtype, int depth, Surroundings* around) {
    if (--budget_ < 0 || depth <= 0) return Leaf(dtype, around);
    std::vector<ValueId> same;
    for (const ValueId value : around->values) {
      if (k_.DtypeOf(value) == dtype) same.push_back(value);
    }
    // Most often one of the last: those from outside of a loop are the same in all its rounds.
    if (!same.empty() && OneIn(4))
      return same[same.size() - 1 - Below(std::min<size_t>(same.size(), OneIn(4) ? 9 : 2))];
    ValueId value = kNoValue;
    switch (Below(11)) {
      case 0:
        value = Leaf(dtype, around);
        break;
      case 1:
        value = SpecifiedCast(k_, dtype, Expression(AnyDtype(), depth - 1, around));
        break;
      case 2:
        value = k_.Call(Opcode::kSelect, {Expression(Dtype::kBool, depth - 1, around),
                                          Expression(dtype, depth - 1, around), Expression(dtype, depth - 1, around)});
        break;
      case 3:
        value = BitcastTo(dtype, depth, around);
        break;
      case 4:
      case 5:
        value = SpecifiedCast(k_, dtype, MakeReduction(around));
        break;
      default:
        value = Mixed(dtype, kNoValue, around, depth);
    }
    around->values.push_back(value);
    return value;
  }

  // An operation that gives the dtype, on `first` where there is one.
  ValueId Mixed(Dtype dtype, ValueId first, Surroundings* around, int depth = 3) {
    if (IsReduced(dtype)) {
      const ValueId wide = first == kNoValue ? kNoValue : k_.Cast(first, Dtype::kFloat32);
      return SpecifiedCast(k_, dtype, Mixed(Dtype::kFloat32, wide, around, depth));
    }
    if (dtype == Dtype::kBool && first == kNoValue && !OneIn(3)) return Comparison(depth, around);
    const Opcode opcode = AnyOpcode(dtype);
    std::vector<ValueId> operands;
    for (int i = 0; i < InfoOf(opcode).num_operands; ++i) {
      operands.push_back(i == 0 && first != kNoValue ? first : Expression(dtype, depth - 1, around));
    }
    if (opcode == Opcode::kCopySign) operands[1] = WithoutNan(k_, operands[1]);
    const ValueId result = k_.Call(opcode, operands);
    return opcode == Opcode::kMinimum || opcode == Opcode::kMaximum ? WithPlainZero(k_, result) : result;
  }

  Opcode AnyOpcode(Dtype dtype) {
    for (;;) {
      const auto opcode = static_cast<Opcode>(Below(static_cast<size_t>(kFirstFunction)));
      const bool picks = opcode == Opcode::kSelect || opcode == Opcode::kWithin;
      if (opcode < Opcode::kAdd || IsComparison(opcode) || picks) continue;
      if (Takes(InfoOf(opcode).operands, dtype)) return opcode;
    }
  }

  ValueId Comparison(int depth, Surroundings* around) {
    Dtype dtype = AnyDtype();
    if (IsReduced(dtype)) dtype = Dtype::kFloat32;
    const auto opcode = static_cast<Opcode>(static_cast<size_t>(Opcode::kEqual) + Below(4));
    return k_.Call(opcode, {Expression(dtype, depth - 1, around), Expression(dtype, depth - 1, around)});
  }

  ValueId BitcastTo(Dtype dtype, int depth, Surroundings* around) {
    std::vector<Dtype> as_wide;
    for (size_t i = 1; i < kNumDtypes; ++i) {
      const auto other = static_cast<Dtype>(i);
      if (BytesOf(other) == BytesOf(dtype) && (options_.reduced_dtypes || !IsReduced(other))) as_wide.push_back(other);
    }
    if (dtype == Dtype::kBool) return Leaf(dtype, around);
    const Dtype from = Any(as_wide);
    if (!IsReduced(from)) {
      const ValueId value = Expression(from, depth - 1, around);
      return k_.Bitcast(IsFloating(from) ? WithoutNan(k_, value) : value, dtype);
    }
    return k_.Bitcast(k_.Cast(WithoutNan(k_, Expression(Dtype::kFloat32, depth - 1, around)), from), dtype);
  }

  // ---- Reductions ----

  ValueId MakeReduction(Surroundings* around) {
    const size_t dimension = Below(dimensions_.size());
    if (around->rounds * dimensions_[dimension].value > kMostRounds) return Leaf(AnyDtype(), around);
    const std::vector<ValueId> results = k_.Reduce(dimensions_[dimension].id, [&](ValueId index) {
      Surroundings inside = Inside(*around, index, dimension, LoopKind::kReduce);
      std::vector<KernelBuilder::Reduced> reduced;
      const size_t number = 1 + (OneIn(3) ? Below(3) : 0);
      while (reduced.size() < number) {
        const auto reduction = OneIn(3) ? Reduction::kSum : static_cast<Reduction>(Below(kNumReductions));
        Dtype dtype = AnyDtype();
        if (OneIn(3)) dtype = OneIn(3) ? Dtype::kFloat64 : Dtype::kFloat32;
        if (!Takes(OperandsOf(reduction), dtype)) continue;
        reduced.push_back({reduction, ExactElement(k_, reduction, Expression(dtype, 2, &inside))});
      }
      return reduced;
    });
    for (const ValueId result : results) around->values.push_back(WithPlainZero(k_, result));
    return around->values.back();
  }

  // ---- Functions ----

  ValueId FunctionOf(Dtype dtype, Surroundings* around) {
    const Dtype computed = IsReduced(dtype) ? Dtype::kFloat32 : dtype;
    const auto opcode = static_cast<Opcode>(static_cast<size_t>(kFirstFunction) +
                                            Below(kNumOpcodes - static_cast<size_t>(kFirstFunction)));
    std::vector<ValueId> operands;
    for (int i = 0; i < InfoOf(opcode).num_operands; ++i) {
      const ValueId operand = Expression(computed, 3, around);
      // Large arguments would ask for more bits of pi, or of the exponent, than a back end must have.
      operands.push_back(OneIn(4) ? WithPlainZero(k_, operand) : Clamped(k_, operand, -20, 20));
    }
    const bool periodic = opcode == Opcode::kSin || opcode == Opcode::kCos || opcode == Opcode::kTan;
    if (periodic || opcode == Opcode::kPower) {
      for (ValueId& operand : operands) operand = Clamped(k_, operand, -20, 20);
    }
    return k_.Cast(k_.Call(opcode, operands), dtype);
  }

  // ---- Leaves ----

  ValueId Leaf(Dtype dtype, Surroundings* around) {
    if (dtype == Dtype::kInt64 && !around->indices.empty() && OneIn(3)) return Any(around->indices).id;
    if (dtype == Dtype::kFloat64 && scalar_ != kNoValue && OneIn(3)) return scalar_;
    // An index that is loaded with an index that is loaded, and no further.
    if (gather_depth_ < 3 && !OneIn(4)) {
      for (int attempt = 0; attempt < 6; ++attempt) {
        const KnownBuffer& buffer = Any(around->readable);
        // Another dtype's buffer, or one whose elements are the same in all rounds, only where no better was met.
        if (buffer.dtype != dtype && attempt < 5) continue;
        if (attempt < 3 && !HasInnermost(buffer, *around)) continue;
        const ValueId loaded = LoadFrom(buffer, around);
        if (loaded != kNoValue) return SpecifiedCast(k_, dtype, loaded);
      }
    }
    if (IsFloating(dtype)) return k_.Constant(dtype, AnyReal(dtype));
    return k_.Integer(AnyInteger(dtype), dtype);
  }

  static bool HasInnermost(const KnownBuffer& buffer, const Surroundings& around) {
    return !around.indices.empty() &&
           std::count(buffer.dimensions.begin(), buffer.dimensions.end(), around.indices.back().dimension) > 0;
  }

  // None where the buffer has no elements that could be loaded.
  ValueId LoadFrom(const KnownBuffer& buffer, Surroundings* around) {
    std::vector<ValueId> indices;
    ValueId condition = kNoValue;
    for (const size_t dimension : buffer.dimensions) {
      const KnownNumber size = dimensions_[dimension];
      std::vector<ValueId> direct;
      for (const KnownIndex& index : around->indices) {
        if (index.dimension == dimension) direct.push_back(index.id);
      }
      const size_t kind = Below(8);
      if (!direct.empty() && kind < 5) {
        indices.push_back(OneIn(3) ? Any(direct) : direct.back());
      } else if (!direct.empty() && kind == 5) {
        const ValueId last = k_.Call(Opcode::kSubtract, {size.id, k_.Integer(1)});
        indices.push_back(k_.Call(Opcode::kSubtract, {last, Any(direct)}));
      } else if (kind == 6) {
        indices.push_back(MaybeOutside(around));
        condition = AndInside(condition, indices.back(), size.id);
      } else if (size.value == 0) {
        return kNoValue;
      } else {
        ++gather_depth_;
        const ValueId any =
            OneIn(3) ? k_.Integer(static_cast<int64_t>(Below(100))) : Expression(Dtype::kInt64, 1, around);
        --gather_depth_;
        indices.push_back(k_.Call(Opcode::kRemainder, {any, size.id}));
        if (OneIn(2)) indices.back() = k_.Call(Opcode::kWithin, {indices.back(), size.id});
      }
    }
    if (condition != kNoValue) return k_.LoadIf(condition, buffer.id, indices);
    return k_.Load(buffer.id, indices);
  }

  ValueId MaybeOutside(Surroundings* around) {
    const ValueId base = around->indices.empty() ? k_.Integer(0) : Any(around->indices).id;
    return k_.Call(Opcode::kAdd, {base, k_.Integer(static_cast<int64_t>(Below(9)) - 4)});
  }

  ValueId AndInside(ValueId condition, ValueId index, ValueId size) {
    const ValueId inside = k_.Call(
        Opcode::kAnd, {k_.Call(Opcode::kLessOrEqual, {k_.Integer(0), index}), k_.Call(Opcode::kLess, {index, size})});
    return condition == kNoValue ? inside : k_.Call(Opcode::kAnd, {condition, inside});
  }

  const RandomKernelOptions& options_;
  std::mt19937_64 random_;
  KernelBuilder k_;
  std::vector<int64_t> symbols_;
  std::vector<RandomBuffer> buffers_;
  std::vector<KnownNumber> dimensions_;
  ValueId scalar_ = kNoValue;
  // Inputs, and outputs that loops before have stored.
  std::vector<KnownBuffer> readable_;
  int budget_ = 0;
  int gather_depth_ = 0;
};

}  // namespace

RandomCase MakeRandomCase(uint64_t seed, const RandomKernelOptions& options) {
  return CaseGenerator(seed, options).Make();
}

std::vector<BufferMemory> MemoryOf(std::vector<RandomBuffer>& buffers) {
  std::vector<BufferMemory> memory;
  memory.reserve(buffers.size());
  for (RandomBuffer& buffer : buffers) memory.push_back({buffer.memory, buffer.origin});
  return memory;
}

}  // namespace hearth::fuser
