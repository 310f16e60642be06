#include "jit/fuser/cuda/cuda_source.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string_view>
#include <vector>

#include "jit/fuser/cuda/buffer_accesses.h"
#include "jit/fuser/cuda/device_loops.h"
#include "jit/fuser/cuda/index_widths.h"
#include "jit/fuser/cuda/operations_in_cuda.h"
#include "jit/fuser/cuda/row_plan.h"
#include "jit/fuser/cuda/top_constants.h"
#include "jit/fuser/cuda/vector_plan.h"
#include "jit/fuser/ir/printer.h"
#include "jit/fuser/ir/unsupported.h"

namespace hearth::fuser {
namespace {

// Of a kernel's parameters, from compute capability 7.0 on.
constexpr size_t kMostArgumentBytes = 32764;
// Static shared memory for partial results, which leaves the greater part to local buffers.
constexpr size_t kMostPartialBytes = size_t{16} << 10;
constexpr size_t kWordBytes = 8;
// Of a loop in chunks: elements and calls of functions that are written out, of all its chunks or else of some at a
// time.
constexpr int64_t kMostWorkWrittenOut = 128;
constexpr int64_t kWorkWrittenOut = 32;
// For local buffers and loads that are repeated.
constexpr int64_t kMostRegisters = 72;
constexpr int64_t kMostRegistersOfBlock = kMostRegisters * 256;

std::string NameOfValue(ValueId value) { return "v" + std::to_string(value); }
std::string NameOfBuffer(BufferId buffer) { return "b" + std::to_string(buffer); }

std::string_view FunctorOf(Reduction reduction) {
  constexpr std::string_view kFunctors[kNumReductions] = {"Sum",     "Product",    "Least",
                                                          "Largest", "FirstLeast", "FirstLargest"};
  return kFunctors[static_cast<size_t>(reduction)];
}

// One function of a loop at the top.
class LoopEmitter {
 public:
  LoopEmitter(const Kernel& kernel, const Loop& loop, const DeviceLoop& device_loop, bool wide,
              CudaFunctions* functions)
      : kernel_(kernel),
        loop_(loop),
        device_loop_(device_loop),
        wide_(wide),
        functions_(functions),
        dtypes_(DtypesOf(kernel)),
        widths_(wide ? std::vector<IndexWidth>(kernel.num_values, IndexWidth::kWide) : IndexWidthsIn(kernel, loop)),
        constants_(kernel.num_values) {
    FindConstants(kernel.prologue);
    FindConstants(loop.body);
    if (!wide && device_loop_.rounds_per_thread > 1) vectors_ = VectorPlanOf(kernel, loop, widths_);
    if (!wide && !IsOfThreads()) {
      rows_ = RowPlanOf(kernel, loop);
      KeepRepeatedLoads();
    }
  }

  std::string Emit(const std::string& name) {
    Line("extern \"C\" __global__ void __launch_bounds__(" + std::to_string(device_loop_.threads) + ") " + name +
         "(const Arguments a) {");
    ++depth_;
    EmitTop();
    EmitRounds();
    --depth_;
    Line("}");
    return std::move(text_);
  }

 private:
  // ---- Text ----

  void Line(const std::string& line) {
    text_.append(2 * depth_, ' ');
    text_ += line;
    text_ += '\n';
  }
  void Begin(const std::string& line) {
    Line(line + " {");
    ++depth_;
  }
  void End() {
    --depth_;
    Line("}");
  }

  // ---- Values ----

  void FindConstants(const Body& body) {
    for (const Statement& statement : body) {
      if (statement.loop != nullptr) {
        FindConstants(statement.loop->body);
      } else if (statement.instruction.opcode == Opcode::kConstant) {
        constants_[statement.instruction.result] = &statement.instruction;
      }
    }
  }

  std::string TypeOfValue(ValueId value) const {
    if (widths_[value] == IndexWidth::kNarrow) return "int";
    if (widths_[value] == IndexWidth::kModulo) return "unsigned";
    return std::string(CTypeOf(dtypes_[value]));
  }

  // A constant is written where it is used.
  std::string NameOf(ValueId value) const {
    const Instruction* constant = constants_[value];
    if (constant == nullptr) return NameOfValue(value);
    return widths_[value] == IndexWidth::kNarrow ? IntegerLiteral(constant->integer, Dtype::kInt32)
                                                 : LiteralOf(*constant);
  }

  // As a value of its dtype.
  std::string Operand(ValueId value) const {
    return widths_[value] == IndexWidth::kWide || constants_[value] != nullptr ? WideName(value)
                                                                               : "(long long)" + NameOf(value);
  }
  std::string WideName(ValueId value) const {
    return constants_[value] == nullptr ? NameOfValue(value) : LiteralOf(*constants_[value]);
  }

  bool IsConstant(ValueId value, int64_t integer) const {
    return constants_[value] != nullptr && constants_[value]->integer == integer;
  }

  // ---- The top: what the loop needs of it ----

  void EmitTop() {
    std::vector<bool> needed(kernel_.num_values);
    Need(loop_.body, &needed);
    for (const BufferId buffer : AccessesOf(loop_.body).all()) {
      for (const ValueId size : kernel_.buffers[buffer].sizes) needed[size] = needed[size] || IsLocal(buffer);
      for (const ValueId stride : kernel_.buffers[buffer].strides) needed[stride] = true;
    }
    for (auto statement = kernel_.prologue.rbegin(); statement != kernel_.prologue.rend(); ++statement) {
      if (!needed[statement->instruction.result]) continue;
      for (const ValueId operand : statement->instruction.operands) needed[operand] = true;
    }
    for (ValueId symbol = 0; symbol < kernel_.symbols.size(); ++symbol) {
      if (!needed[symbol]) continue;
      const std::string type = TypeOfValue(symbol);
      const std::string field = "a." + NameOfValue(symbol);
      const bool is_whole = widths_[symbol] == IndexWidth::kWide;
      Line("const " + type + " " + NameOfValue(symbol) + " = " + (is_whole ? field : "(" + type + ")" + field) + ";");
    }
    for (const Statement& statement : kernel_.prologue) {
      if (needed[statement.instruction.result]) EmitInstruction(statement.instruction);
    }
  }

  static void Need(const Body& body, std::vector<bool>* needed) {
    for (const Statement& statement : body) {
      if (statement.loop == nullptr) {
        for (const ValueId operand : statement.instruction.operands) (*needed)[operand] = true;
        continue;
      }
      const Loop& loop = *statement.loop;
      (*needed)[loop.extent] = true;
      for (const Accumulator& accumulator : loop.accumulators) (*needed)[accumulator.element] = true;
      for (const Carried& carried : loop.carried) (*needed)[carried.initial] = (*needed)[carried.next] = true;
      Need(loop.body, needed);
    }
  }

  // ---- Rounds ----

  bool IsOfThreads() const { return device_loop_.threads_per_round == 1; }
  bool IsOfWarps() const {
    return device_loop_.threads_per_round == kThreadsPerWarp && device_loop_.threads > kThreadsPerWarp;
  }

  void EmitRounds() {
    if (!IsOfThreads()) {
      if (IsOfWarps()) {
        const std::string warps = std::to_string(device_loop_.threads / kThreadsPerWarp);
        Line("const unsigned warp = threadIdx.x / 32;");
        Line("const unsigned lane = threadIdx.x % 32;");
        EmitShared();
        const std::string type = "(" + TypeOfRound() + ")";
        BeginRounds(type + "blockIdx.x * " + warps + " + warp", type + "gridDim.x * " + warps);
      } else {
        EmitShared();
        BeginRounds("blockIdx.x", "gridDim.x");
      }
      if (rows_) EmitRegisters();
      EmitSpreadBody(loop_.body);
      // The next round's threads write what this one's may still read.
      if (!LocalsInScratch().empty() || (!IsOfWarps() && HasReduction(loop_.body))) Meet();
      End();
      return;
    }
    const std::string type = TypeOfRound();
    Line("const " + type + " thread = (" + type + ")blockIdx.x * blockDim.x + threadIdx.x;");
    Line("const " + type + " threads = (" + type + ")gridDim.x * blockDim.x;");
    if (vectors_) EmitVectors();
    BeginRounds(vectors_ ? "in_vectors + thread" : "thread", "threads");
    EmitThreadBody(loop_.body);
    End();
  }

  std::string TypeOfRound() const { return wide_ ? "long long" : "unsigned"; }

  void BeginRounds(const std::string& first, const std::string& step) {
    const std::string rounds = wide_ ? "a.rounds" : "(unsigned)a.rounds";
    Begin("for (" + TypeOfRound() + " round = " + first + "; round < " + rounds + "; round += " + step + ")");
    Line("const " + TypeOfValue(loop_.index) + " " + NameOfValue(loop_.index) + " = round;");
  }

  // ---- Several rounds of a thread together. What they leave over is computed round by round ----

  void EmitVectors() {
    const int width = vectors_->width;
    const std::string stride = " * " + std::to_string(width) + "ULL";
    const std::vector<const Instruction*> accesses = InOrder(loop_.body, vectors_->accesses);
    const std::vector<const Instruction*> inner_accesses = InOrder(loop_.body, vectors_->inner_accesses);
    std::vector<const Instruction*> all = accesses;
    all.insert(all.end(), inner_accesses.begin(), inner_accesses.end());
    std::string aligned;
    std::set<BufferId> buffers;
    for (const Instruction* access : all) {
      if (!buffers.insert(access->buffer).second) continue;
      aligned += (aligned.empty() ? "" : " && ") + ("(unsigned long long)a." + NameOfBuffer(access->buffer)) + " % " +
                 std::to_string(width * BytesOf(access->dtype)) + " == 0";
    }
    Line("const unsigned in_vectors = " + aligned + " ? (unsigned)a.rounds / " + std::to_string(width) + " * " +
         std::to_string(width) + " : 0;");
    Begin("for (unsigned long long first = thread" + stride + "; first < in_vectors; first += threads" + stride + ")");
    const auto in_memory = [&](const Instruction& access) {
      const std::string constant = access.opcode == Opcode::kStore ? "" : "const ";
      return "*(" + constant + TypeOfVector(access, width) + "*)(a." + NameOfBuffer(access.buffer) + " + first)";
    };
    for (const Instruction* access : accesses) {
      const bool is_store = access->opcode == Opcode::kStore;
      const std::string type = TypeOfVector(*access, width);
      Line(is_store ? type + " " + NameOfVector(*access) + ";"
                    : "const " + type + " " + NameOfVector(*access) + " = " + in_memory(*access) + ";");
    }
    const bool has_quotient = vectors_->quotient != kNoValue;
    if (has_quotient) {
      const std::string constant = vectors_->is_even ? "const " : "";
      Line(constant + "int quotient = (unsigned)first / (unsigned)" + NameOf(vectors_->extent) + ";");
      Line(constant + "int rest = (unsigned)first % (unsigned)" + NameOf(vectors_->extent) + ";");
    }
    for (const Instruction* access : inner_accesses) {
      Line(TypeOfVector(*access, width) + " " + NameOfVector(*access) + ";");
    }
    Line("#pragma unroll");
    Begin("for (int part = 0; part < " + std::to_string(width) + "; ++part)");
    Line("const int " + NameOfValue(loop_.index) + " = (int)first + part;");
    in_vectors_ = &vectors_->accesses;
    EmitThreadBody(loop_.body);
    in_vectors_ = nullptr;
    if (has_quotient && !vectors_->is_even) {
      Begin("if (++rest == " + NameOf(vectors_->extent) + ")");
      Line("rest = 0;");
      Line("++quotient;");
      End();
    }
    End();
    for (const Instruction* access : accesses) {
      if (access->opcode == Opcode::kStore) Line(in_memory(*access) + " = " + NameOfVector(*access) + ";");
    }
    End();
  }

  // ---- Vectors: elements of a buffer that are loaded or stored at once ----

  static std::vector<const Instruction*> InOrder(const Body& body, const std::set<const Instruction*>& accesses) {
    std::vector<const Instruction*> in_order;
    for (const Statement& statement : body) {
      if (accesses.contains(&statement.instruction)) in_order.push_back(&statement.instruction);
    }
    return in_order;
  }

  bool IsInVector(const Instruction& access) const { return in_vectors_ != nullptr && in_vectors_->contains(&access); }

  bool IsInInnerVector(const Instruction& access) const {
    return vectors_ && in_vectors_ == &vectors_->accesses && vectors_->inner_accesses.contains(&access);
  }

  std::string TypeOfVector(const Instruction& access, int width) {
    return std::string(functions_->Use("Vector")) + "<" + std::string(MemoryCTypeOf(access.dtype)) + ", " +
           std::to_string(width) + ">";
  }
  static std::string NameOfVector(const Instruction& access) {
    return access.opcode == Opcode::kStore ? "stored" + std::to_string(access.buffer)
                                           : "loaded" + std::to_string(access.result);
  }

  // ---- Loops that are spread over threads in chunks (row_plan.h) ----

  void KeepRepeatedLoads() {
    int64_t registers = HasLocalsInRegisters() ? rows_->LocalElements(device_loop_.threads_per_round) : 0;
    for (const RepeatedLoad& repeated : rows_->repeated) {
      registers += repeated.Registers(device_loop_.threads_per_round);
      if (registers > kMostRegisters || registers * device_loop_.threads > kMostRegistersOfBlock) return;
      for (const Instruction* load : repeated.loads) kept_.emplace(load, repeated.loads.front());
    }
  }

  void EmitRegisters() {
    const int64_t threads = device_loop_.threads_per_round;
    if (HasLocalsInRegisters()) {
      for (const auto& [local, elements] : rows_->locals) {
        Line(std::string(MemoryCTypeOf(kernel_.buffers[local].dtype)) + " " + NameOfBuffer(local) + "[" +
             std::to_string(elements.Chunks(threads) * elements.width) + "];");
      }
    }
    for (const RepeatedLoad& repeated : rows_->repeated) {
      const Instruction& first = *repeated.loads.front();
      if (!kept_.contains(&first)) continue;
      Line(TypeOfVector(first, repeated.elements.width) + " " + NameOfKept(first) + "[" +
           std::to_string(repeated.elements.Chunks(threads)) + "];");
    }
  }

  static std::string NameOfKept(const Instruction& first) { return "kept" + std::to_string(first.result); }

  bool HasLocalsInRegisters() const { return rows_ && device_loop_.has_locals_in_registers; }
  std::set<BufferId> LocalsInScratch() const {
    return HasLocalsInRegisters() ? std::set<BufferId>() : LocalsOf(kernel_, loop_);
  }

  void EmitChunks(const Loop& loop, const RowLoop& row_loop) {
    const auto& [extent, width] = row_loop.elements;
    const int64_t at_a_time = int64_t{width} * device_loop_.threads_per_round;
    const int64_t chunks = row_loop.elements.Chunks(device_loop_.threads_per_round);
    Line("#pragma unroll" + ChunksWrittenOut(loop, row_loop, chunks));
    Begin("for (int chunk = 0; chunk < " + std::to_string(chunks) + "; ++chunk)");
    const std::string index = "const " + TypeOfValue(loop.index) + " " + NameOfValue(loop.index) + " = ";
    Line("const int first = (chunk * " + std::to_string(device_loop_.threads_per_round) + " + (int)" +
         NumberOfThread() + ") * " + std::to_string(width) + ";");
    const bool may_be_beyond = extent % at_a_time != 0;
    if (may_be_beyond) Begin("if (first < " + std::to_string(extent) + ")");
    Line(index + "first;");
    const std::vector<const Instruction*> accesses = InOrder(loop.body, row_loop.accesses);
    const auto pointer = [&](const Instruction& access) { return "&" + Element(access.buffer, IndicesOf(access)); };
    for (const Instruction* access : accesses) {
      const std::string vector = TypeOfVector(*access, width) + " " + NameOfVector(*access);
      if (access->opcode == Opcode::kStore) {
        Line(vector + ";");
        continue;
      }
      const auto kept = kept_.find(access);
      const std::string in_register = kept == kept_.end() ? "" : NameOfKept(*kept->second) + "[chunk]";
      if (kept == kept_.end() || kept->second == access) {
        Line((kept == kept_.end() ? "const " + vector : in_register) + " = " +
             std::string(functions_->Use("LoadVector")) + "<" + std::string(MemoryCTypeOf(access->dtype)) + ", " +
             std::to_string(width) + ">(" + pointer(*access) + ");");
      }
      if (kept != kept_.end()) Line("const " + vector + " = " + in_register + ";");
    }
    if (width > 1) Line("#pragma unroll");
    Begin("for (int part = 0; part < " + std::to_string(width) + "; ++part)");
    Line(index + "first + part;");
    in_vectors_ = &row_loop.accesses;
    chunk_width_ = width;
    EmitThreadBody(loop.body);
    in_vectors_ = nullptr;
    Accumulate(loop);
    End();
    for (const Instruction* access : accesses) {
      if (access->opcode != Opcode::kStore) continue;
      Line("*(" + TypeOfVector(*access, width) + "*)" + pointer(*access) + " = " + NameOfVector(*access) + ";");
    }
    if (may_be_beyond) End();
    End();
  }

  // All, if those elements are few, or the loop uses arrays in registers.
  std::string ChunksWrittenOut(const Loop& loop, const RowLoop& row_loop, int64_t chunks) const {
    const bool has_kept =
        std::ranges::any_of(row_loop.accesses, [&](const Instruction* access) { return kept_.contains(access); });
    const std::set<BufferId> buffers = AccessesOf(loop.body).all();
    const bool has_locals =
        HasLocalsInRegisters() && std::ranges::any_of(buffers, [&](BufferId buffer) { return IsLocal(buffer); });
    const int64_t work_of_chunk = int64_t{row_loop.elements.width} * (1 + row_loop.calls);
    if (has_kept || has_locals || chunks * work_of_chunk <= kMostWorkWrittenOut) return "";
    return " " + std::to_string(std::max<int64_t>(1, kWorkWrittenOut / work_of_chunk));
  }

  // ---- Shared memory ----

  std::string PaddedBytesOf(const Buffer& local) {
    const std::string padding = std::to_string(kBlockAlignment);
    std::string bytes = std::to_string(BytesOf(local.dtype)) + "LL";
    for (const ValueId size : local.sizes) {
      bytes += " * " + std::string(functions_->Use("Maximum")) + "<long long>(" + Operand(size) + ", 0)";
    }
    return "(" + bytes + " + " + std::to_string(kBlockAlignment - 1) + ") / " + padding + " * " + padding;
  }

  void EmitShared() {
    const std::set<BufferId> locals = LocalsInScratch();
    if (!locals.empty()) {
      Line("extern __shared__ __align__(" + std::to_string(kBlockAlignment) + ") unsigned char scratch[];");
      std::string of_warp;
      if (IsOfWarps()) {
        for (const BufferId local : locals) {
          of_warp += (of_warp.empty() ? "" : " + ") + PaddedBytesOf(kernel_.buffers[local]);
        }
        of_warp = " + warp * (" + of_warp + ")";
      }
      Line("unsigned char* free_scratch = scratch" + of_warp + ";");
    }
    for (const BufferId local : locals) {
      const std::string type(MemoryCTypeOf(kernel_.buffers[local].dtype));
      Line(type + "* const " + NameOfBuffer(local) + " = (" + type + "*)free_scratch;");
      Line("free_scratch += " + PaddedBytesOf(kernel_.buffers[local]) + ";");
    }
    if (IsOfWarps()) return;
    size_t partial_bytes = 0;
    for (const Statement& statement : loop_.body) {
      if (statement.loop == nullptr) continue;
      for (const Accumulator& accumulator : statement.loop->accumulators) {
        Line("__shared__ " + TypeOfPartial(accumulator) + " partial" + std::to_string(accumulator.result) + "[" +
             std::to_string(kThreadsPerWarp) + "];");
        partial_bytes += kThreadsPerWarp * (IsArgReduction(accumulator.reduction) ? 2 : 1) * kWordBytes;
      }
    }
    if (partial_bytes > kMostPartialBytes) throw Unsupported("no CUDA code for so many reductions in a round");
  }

  std::string TypeOfPartial(const Accumulator& accumulator) const {
    const std::string type(CTypeOf(dtypes_[accumulator.element]));
    if (!IsArgReduction(accumulator.reduction)) return type;
    return std::string(functions_->Use("First")) + "<" + type + ">";
  }

  // ---- Statements that all threads of a block or warp compute alike, and loops that are spread over them ----

  void Meet() { Line(IsOfWarps() ? "__syncwarp();" : "__syncthreads();"); }
  std::string NumberOfThread() const { return IsOfWarps() ? "lane" : "threadIdx.x"; }

  void EmitSpreadBody(const Body& body) {
    BufferAccesses since_meeting;
    for (const Statement& statement : body) {
      BufferAccesses accesses = AccessesOf(statement);
      std::erase_if(accesses.loaded,
                    [&](BufferId buffer) { return kernel_.buffers[buffer].kind == BufferKind::kInput; });
      for (std::set<BufferId>* of_threads : {&accesses.loaded, &accesses.stored}) {
        std::erase_if(*of_threads, [&](BufferId buffer) { return IsLocal(buffer) && HasLocalsInRegisters(); });
      }
      if (Conflict(since_meeting, accesses)) {
        Meet();
        since_meeting = {};
      }
      Add(accesses, &since_meeting);
      if (statement.loop != nullptr) {
        EmitSpreadLoop(statement);
        // The threads of a block meet in reductions.
        if (!IsOfWarps() && statement.loop->kind == LoopKind::kReduce) since_meeting = {};
      } else if (statement.instruction.opcode == Opcode::kStore) {
        Begin("if (" + NumberOfThread() + " == 0)");
        EmitInstruction(statement.instruction);
        End();
      } else {
        EmitInstruction(statement.instruction);
      }
    }
  }

  void EmitSpreadLoop(const Statement& statement) {
    const Loop& loop = *statement.loop;
    if (loop.kind == LoopKind::kSequential) {
      throw Unsupported("no CUDA code for a sequential loop whose rounds a block computes: " + Print(statement));
    }
    DeclareAccumulators(loop);
    if (rows_ && rows_->loops.contains(&loop)) {
      EmitChunks(loop, rows_->loops.at(&loop));
    } else {
      BeginLoop(loop, NumberOfThread(), IsOfWarps() ? "32" : "blockDim.x");
      EmitThreadBody(loop.body);
      Accumulate(loop);
      End();
    }
    for (const Accumulator& accumulator : loop.accumulators) {
      const std::string result = NameOfValue(accumulator.result);
      const std::string functor(functions_->Use(FunctorOf(accumulator.reduction)));
      const bool is_arg = IsArgReduction(accumulator.reduction);
      if (is_arg) functions_->Use("OfLaneFirst");
      const std::string identity =
          is_arg ? TypeOfPartial(accumulator) + "{" + NothingOf(accumulator) + "}" : IdentityOfElement(accumulator);
      const std::string reduced =
          IsOfWarps() ? std::string(functions_->Use("WarpReduce")) + "(" + Partial(accumulator) + ", " + functor + "())"
                      : std::string(functions_->Use("BlockReduce")) + "(" + Partial(accumulator) + ", " + identity +
                            ", partial" + std::to_string(accumulator.result) + ", " + functor + "())";
      Line("const " + TypeOfValue(accumulator.result) + " " + result + " = " +
           ResultOfAccumulator(accumulator, reduced) + ";");
    }
  }

  // ---- Statements of one thread ----

  void EmitThreadBody(const Body& body) {
    for (const Statement& statement : body) {
      if (statement.loop == nullptr) {
        EmitInstruction(statement.instruction);
      } else {
        EmitThreadLoop(*statement.loop);
      }
    }
  }

  void EmitThreadLoop(const Loop& loop) {
    DeclareAccumulators(loop);
    for (const Carried& carried : loop.carried) {
      Line(TypeOfValue(carried.result) + " " + NameOfValue(carried.result) + " = " + Operand(carried.initial) + ";");
    }
    BeginLoop(loop, "0", "1");
    for (const Carried& carried : loop.carried) {
      Line("const " + TypeOfValue(carried.value) + " " + NameOfValue(carried.value) + " = " +
           NameOfValue(carried.result) + ";");
    }
    EmitThreadBody(loop.body);
    Accumulate(loop);
    for (const Carried& carried : loop.carried) {
      Line(NameOfValue(carried.result) + " = " + Operand(carried.next) + ";");
    }
    End();
    for (const Accumulator& accumulator : loop.accumulators) {
      Line("const " + TypeOfValue(accumulator.result) + " " + NameOfValue(accumulator.result) + " = " +
           ResultOfAccumulator(accumulator, Partial(accumulator)) + ";");
    }
  }

  void BeginLoop(const Loop& loop, const std::string& first, const std::string& step) {
    const std::string index = NameOfValue(loop.index);
    Begin("for (" + TypeOfValue(loop.index) + " " + index + " = " + first + "; " + index + " < " + NameOf(loop.extent) +
          "; " + index + " += " + step + ")");
  }

  // ---- Reductions: what a thread has of the result so far is in a variable of its own ----

  static std::string Partial(const Accumulator& accumulator) { return "p" + std::to_string(accumulator.result); }

  std::string IdentityOfElement(const Accumulator& accumulator) const {
    return IdentityInCuda(accumulator.reduction, dtypes_[accumulator.element]);
  }
  std::string NothingOf(const Accumulator& accumulator) const { return IdentityOfElement(accumulator) + ", -1"; }

  void DeclareAccumulators(const Loop& loop) {
    for (const Accumulator& accumulator : loop.accumulators) {
      const std::string declaration = TypeOfPartial(accumulator) + " " + Partial(accumulator);
      if (IsArgReduction(accumulator.reduction)) {
        Line(declaration + " = {" + NothingOf(accumulator) + "};");
      } else {
        Line(declaration + " = " + IdentityOfElement(accumulator) + ";");
      }
    }
  }

  void Accumulate(const Loop& loop) {
    for (const Accumulator& accumulator : loop.accumulators) {
      const std::string functor(functions_->Use(FunctorOf(accumulator.reduction)));
      std::string element = Operand(accumulator.element);
      if (IsArgReduction(accumulator.reduction)) {
        element = TypeOfPartial(accumulator) + "{" + element + ", " + Operand(loop.index) + "}";
      }
      Line(Partial(accumulator) + " = " + functor + "()(" + Partial(accumulator) + ", " + element + ");");
    }
  }

  std::string ResultOfAccumulator(const Accumulator& accumulator, const std::string& partial) const {
    if (!IsArgReduction(accumulator.reduction)) return partial;
    return std::string(functions_->Use("Maximum")) + "<long long>(" + partial + ".index, 0)";
  }

  // ---- Instructions ----

  void EmitInstruction(const Instruction& instruction) {
    // The loop over the parts is written out.
    if (IsInInnerVector(instruction)) {
      const std::string memory = "&" + Element(instruction.buffer, IndicesOf(instruction));
      const std::string type = TypeOfVector(instruction, vectors_->width);
      const std::string loaded = "*(const " + type + "*)(" + memory + ")";
      const bool is_certain = instruction.opcode == Opcode::kLoad;
      Line("if (part == 0) " + NameOfVector(instruction) + " = " +
           (is_certain ? loaded : Operand(instruction.operands[0]) + " ? " + loaded + " : " + type + "()") + ";");
    }
    switch (instruction.opcode) {
      case Opcode::kConstant:
        return;
      case Opcode::kStore:
        EmitStore(instruction);
        return;
      default:
        Line("const " + TypeOfValue(instruction.result) + " " + NameOfValue(instruction.result) + " = " +
             ExpressionOfInstruction(instruction) + ";");
    }
  }

  std::string ExpressionOfInstruction(const Instruction& instruction) {
    const std::vector<ValueId>& operands = instruction.operands;
    switch (instruction.opcode) {
      case Opcode::kLoad:
        return IsInVector(instruction) || IsInInnerVector(instruction)
                   ? AsLoaded(instruction.buffer, NameOfVector(instruction) + ".of[part]")
                   : LoadOf(instruction.buffer, operands);
      case Opcode::kLoadIf: {
        if (IsInInnerVector(instruction)) {
          return AsLoaded(instruction.buffer, NameOfVector(instruction) + ".of[part]");
        }
        const Instruction zero{.opcode = Opcode::kConstant, .dtype = instruction.dtype};
        return Operand(operands[0]) + " ? " + LoadOf(instruction.buffer, IndicesOf(instruction)) + " : " +
               LiteralOf(zero);
      }
      case Opcode::kBitcast:
        return BitsAs(Operand(operands[0]), dtypes_[operands[0]], instruction.dtype);
      default:
        if (vectors_ && in_vectors_ != nullptr && instruction.result == vectors_->quotient) return "quotient";
        if (vectors_ && in_vectors_ != nullptr && instruction.result == vectors_->rest) {
          return vectors_->is_even ? "rest + part" : "rest";
        }
        return ArithmeticOf(instruction);
    }
  }

  std::string ArithmeticOf(const Instruction& instruction) {
    const std::vector<ValueId>& operands = instruction.operands;
    const IndexWidth width = widths_[instruction.result];
    if (width == IndexWidth::kModulo) return ModuloOf(instruction);
    std::vector<std::string> names;
    // Comparisons of what fits need no more than that, either.
    const Dtype dtype = dtypes_[operands.back()];
    const bool narrow = dtype == Dtype::kInt64 && instruction.opcode != Opcode::kCast && AreNarrow(operands, dtype) &&
                        (width == IndexWidth::kNarrow || IsComparison(instruction.opcode));
    for (const ValueId operand : operands) names.push_back(narrow ? NameOf(operand) : Operand(operand));
    if (narrow) return ExpressionOf(instruction.opcode, Dtype::kInt32, names, functions_);
    std::string expression = instruction.opcode == Opcode::kCast
                                 ? ConversionOf(names[0], dtype, instruction.dtype, functions_)
                                 : ExpressionOf(instruction.opcode, dtype, names, functions_);
    return width == IndexWidth::kNarrow ? "(int)(" + expression + ")" : expression;
  }

  bool AreNarrow(std::span<const ValueId> operands, Dtype dtype) const {
    return std::ranges::all_of(operands, [&](ValueId operand) {
      return dtypes_[operand] != dtype || widths_[operand] == IndexWidth::kNarrow;
    });
  }

  std::string ModuloOf(const Instruction& instruction) const {
    const std::string a = "(unsigned)" + NameOf(instruction.operands[0]);
    const std::string b = "(unsigned)" + NameOf(instruction.operands.back());
    switch (instruction.opcode) {
      case Opcode::kAdd:
        return a + " + " + b;
      case Opcode::kSubtract:
        return a + " - " + b;
      case Opcode::kMultiply:
        return a + " * " + b;
      default:
        return "0u - " + a;
    }
  }

  // ---- Memory ----

  bool IsLocal(BufferId buffer) const { return kernel_.buffers[buffer].kind == BufferKind::kLocal; }

  std::string Element(BufferId buffer, std::span<const ValueId> indices) const {
    if (IsLocal(buffer) && HasLocalsInRegisters()) {
      return NameOfBuffer(buffer) + "[chunk * " + std::to_string(chunk_width_) + " + part]";
    }
    return (IsLocal(buffer) ? NameOfBuffer(buffer) : "a." + NameOfBuffer(buffer)) + "[" + OffsetOf(buffer, indices) +
           "]";
  }

  std::string OffsetOf(BufferId id, std::span<const ValueId> indices) const {
    const Buffer& buffer = kernel_.buffers[id];
    std::string offset;
    bool is_index = false;
    for (size_t dimension = 0; dimension < indices.size(); ++dimension) {
      const ValueId index = indices[dimension];
      if (IsLocal(id)) {
        // Row by row: (i * size1 + j) * size2 + k.
        if (dimension > 0) offset = "(" + offset + ") * " + AddressPart(buffer.sizes[dimension]) + " + ";
        offset += AddressPart(index);
        continue;
      }
      const ValueId stride = buffer.strides[dimension];
      if (IsConstant(stride, 0) || IsConstant(index, 0)) continue;
      const bool is_one = IsConstant(stride, 1);
      is_index = offset.empty() && is_one && widths_[index] == IndexWidth::kNarrow;
      if (!offset.empty()) offset += " + ";
      offset += is_index ? NameOf(index) : AddressPart(index);
      if (!is_one) offset += " * " + AddressPart(stride);
    }
    if (offset.empty()) return "0";
    return wide_ || is_index ? offset : "(int)(" + offset + ")";
  }

  // Of an address: 64 bits of it, or the low 32.
  std::string AddressPart(ValueId value) const { return wide_ ? NameOf(value) : "(unsigned)" + NameOf(value); }

  // What a kernel only reads needs no order to be kept with its stores.
  std::string LoadOf(BufferId buffer, std::span<const ValueId> indices) const {
    const std::string element = Element(buffer, indices);
    const bool is_input = kernel_.buffers[buffer].kind == BufferKind::kInput;
    return AsLoaded(buffer, is_input ? "__ldg(&" + element + ")" : element);
  }

  std::string AsLoaded(BufferId buffer, const std::string& element) const {
    return kernel_.buffers[buffer].dtype == Dtype::kBool ? "(" + element + " != 0)" : element;
  }

  void EmitStore(const Instruction& store) {
    const std::string element =
        IsInVector(store) ? NameOfVector(store) + ".of[part]" : Element(store.buffer, IndicesOf(store));
    Line(element + " = " + Operand(store.operands[0]) + ";");
  }

  const Kernel& kernel_;
  const Loop& loop_;
  const DeviceLoop device_loop_;
  const bool wide_;
  CudaFunctions* const functions_;
  const std::vector<Dtype> dtypes_;
  const std::vector<IndexWidth> widths_;
  std::vector<const Instruction*> constants_;  // by value; null of others
  std::optional<VectorPlan> vectors_;          // where a thread computes a round, perhaps
  std::optional<RowPlan> rows_;                // where several do
  // Loads whose elements stay in registers, with the first load of these.
  std::map<const Instruction*, const Instruction*> kept_;
  const std::set<const Instruction*>* in_vectors_ = nullptr;  // accesses of the body that is being written
  int chunk_width_ = 1;                                       // of the chunk that is
  std::string text_;
  size_t depth_ = 0;
};

std::string ArgumentsOf(const Kernel& kernel) {
  const size_t num_outer = kernel.num_inputs() + kernel.num_outputs();
  if ((num_outer + kernel.symbols.size() + 1) * kWordBytes > kMostArgumentBytes) {
    throw Unsupported("no CUDA code for so many buffers and symbols");
  }
  std::string text = "struct Arguments {\n";
  for (BufferId buffer = 0; buffer < num_outer; ++buffer) {
    const bool is_input = kernel.buffers[buffer].kind == BufferKind::kInput;
    text += std::string("  ") + (is_input ? "const " : "") + std::string(MemoryCTypeOf(kernel.buffers[buffer].dtype)) +
            "* " + NameOfBuffer(buffer) + ";\n";
  }
  for (ValueId symbol = 0; symbol < kernel.symbols.size(); ++symbol) {
    text += "  " + std::string(CTypeOf(kernel.symbols[symbol])) + " " + NameOfValue(symbol) + ";\n";
  }
  return text + "  long long rounds;\n};\n";
}

}  // namespace

std::string EmitCudaSource(const Kernel& prepared) {
  CudaFunctions functions;
  std::string text = ArgumentsOf(prepared);
  const std::vector<DeviceLoop> device_loops = DeviceLoopsOf(prepared);
  for (size_t index = 0; index < prepared.body.size(); ++index) {
    const Loop& loop = *prepared.body[index].loop;
    const std::string name = "loop_" + std::to_string(index);
    text += "\n" + LoopEmitter(prepared, loop, device_loops[index], /*wide=*/false, &functions).Emit(name);
    text += "\n" + LoopEmitter(prepared, loop, device_loops[index], /*wide=*/true, &functions).Emit(name + "_wide");
  }
  const std::string definitions = functions.Definitions();
  return definitions.empty() ? text : definitions.substr(1) + "\n" + text;
}

}  // namespace hearth::fuser
