#include "jit/fuser/cuda/buffers_in_cuda.h"

#include "jit/fuser/cuda/device_loops.h"
#include "jit/fuser/cuda/operations_in_cuda.h"

namespace hearth::fuser {
namespace {

// Of an address: 64 bits of it, or the low 32.
std::string AddressPart(const LoopCode& code, ValueId value) {
  return code.wide ? code.names.NameOf(value) : "(unsigned)" + code.names.NameOf(value);
}

// Row by row: (i * size1 + j) * size2 + k.
std::string OffsetInLocal(const LoopCode& code, const Buffer& local, std::span<const ValueId> indices) {
  std::string offset;
  for (size_t dimension = 0; dimension < indices.size(); ++dimension) {
    if (dimension > 0) offset = "(" + offset + ") * " + AddressPart(code, local.sizes[dimension]) + " + ";
    offset += AddressPart(code, indices[dimension]);
  }
  if (offset.empty()) return "0";
  return code.wide ? offset : "(int)(" + offset + ")";
}

std::string OffsetByStrides(const LoopCode& code, const Buffer& buffer, std::span<const ValueId> indices) {
  std::string offset;
  bool is_index = false;
  for (size_t dimension = 0; dimension < indices.size(); ++dimension) {
    const ValueId index = indices[dimension];
    const ValueId stride = buffer.strides[dimension];
    if (code.names.IsConstant(stride, 0) || code.names.IsConstant(index, 0)) continue;
    const bool is_one = code.names.IsConstant(stride, 1);
    is_index = offset.empty() && is_one && code.names.WidthOf(index) == IndexWidth::kNarrow;
    if (!offset.empty()) offset += " + ";
    offset += is_index ? code.names.NameOf(index) : AddressPart(code, index);
    if (!is_one) offset += " * " + AddressPart(code, stride);
  }
  if (offset.empty()) return "0";
  return code.wide || is_index ? offset : "(int)(" + offset + ")";
}

std::string PaddedBytesOf(const LoopCode& code, const Buffer& local) {
  const std::string padding = std::to_string(kBlockAlignment);
  std::string bytes = std::to_string(BytesOf(local.dtype)) + "LL";
  for (const ValueId size : local.sizes) {
    bytes += " * " + std::string(code.functions->Use("Maximum")) + "<long long>(" + code.names.Operand(size) + ", 0)";
  }
  return "(" + bytes + " + " + std::to_string(kBlockAlignment - 1) + ") / " + padding + " * " + padding;
}

}  // namespace

std::string NameOfBuffer(BufferId buffer) { return "b" + std::to_string(buffer); }

bool HasLocalsInRegisters(const LoopCode& code) { return !code.wide && code.device_loop.has_locals_in_registers; }

std::set<BufferId> LocalsInScratch(const LoopCode& code) {
  return HasLocalsInRegisters(code) ? std::set<BufferId>() : LocalsOf(code.kernel, code.loop);
}

void DeclareLocalsInScratch(LoopCode& code) {
  const std::set<BufferId> locals = LocalsInScratch(code);
  if (locals.empty()) return;
  code.text.Line("extern __shared__ __align__(" + std::to_string(kBlockAlignment) + ") unsigned char scratch[];");
  std::string of_warp;
  if (code.IsOfWarps()) {
    for (const BufferId local : locals) {
      of_warp += (of_warp.empty() ? "" : " + ") + PaddedBytesOf(code, code.kernel.buffers[local]);
    }
    of_warp = " + warp * (" + of_warp + ")";
  }
  code.text.Line("unsigned char* free_scratch = scratch" + of_warp + ";");
  for (const BufferId local : locals) {
    const std::string type(MemoryCTypeOf(code.kernel.buffers[local].dtype));
    code.text.Line(type + "* const " + NameOfBuffer(local) + " = (" + type + "*)free_scratch;");
    code.text.Line("free_scratch += " + PaddedBytesOf(code, code.kernel.buffers[local]) + ";");
  }
}

std::string ElementOf(const LoopCode& code, BufferId buffer, std::span<const ValueId> indices,
                      const VectorScope& scope) {
  const Buffer& described = code.kernel.buffers[buffer];
  if (described.kind != BufferKind::kLocal) {
    return "a." + NameOfBuffer(buffer) + "[" + OffsetByStrides(code, described, indices) + "]";
  }
  if (HasLocalsInRegisters(code)) {
    return NameOfBuffer(buffer) + "[chunk * " + std::to_string(scope.chunk_width) + " + part]";
  }
  return NameOfBuffer(buffer) + "[" + OffsetInLocal(code, described, indices) + "]";
}

std::string LoadOf(const LoopCode& code, BufferId buffer, std::span<const ValueId> indices, const VectorScope& scope) {
  const std::string element = ElementOf(code, buffer, indices, scope);
  // What a kernel only reads needs no order to be kept with its stores.
  const bool is_input = code.kernel.buffers[buffer].kind == BufferKind::kInput;
  return AsLoaded(code, buffer, is_input ? "__ldg(&" + element + ")" : element);
}

std::string AsLoaded(const LoopCode& code, BufferId buffer, const std::string& element) {
  return code.kernel.buffers[buffer].dtype == Dtype::kBool ? "(" + element + " != 0)" : element;
}

}  // namespace hearth::fuser
