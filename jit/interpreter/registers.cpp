#include "jit/interpreter/registers.h"

namespace hearth {

int32_t RegisterAllocator::Allocate(bool scalar, int32_t wanted) {
  if (wanted != kNoRegister && !registers_[wanted].busy && registers_[wanted].scalar == scalar) {
    registers_[wanted].busy = true;
    return wanted;
  }
  for (size_t i = 0; i < registers_.size(); ++i) {
    Register& reg = registers_[i];
    if (reg.busy || reg.scalar != scalar || reg.reservations > 0) continue;
    reg.busy = true;
    return static_cast<int32_t>(i);
  }
  registers_.push_back({scalar, true, 0});
  return static_cast<int32_t>(registers_.size() - 1);
}

std::vector<bool> RegisterAllocator::Snapshot() const {
  std::vector<bool> busy(registers_.size());
  for (size_t i = 0; i < registers_.size(); ++i) busy[i] = registers_[i].busy;
  return busy;
}

void RegisterAllocator::Restore(const std::vector<bool>& busy) {
  for (size_t i = 0; i < registers_.size(); ++i) registers_[i].busy = i < busy.size() && busy[i];
}

}  // namespace hearth
