// The loop of peak.cpp, for each kind of vectors (kernels/for_both_vectors.h). As many sums as a product holds in
// registers are more than enough to keep all units busy.
int64_t MultiplyAndAdd(int64_t steps) {
  Vector sums[kSumRegisters];
  for (int i = 0; i < kSumRegisters; ++i) sums[i] = Broadcast(static_cast<float>(i));
  const Vector factor = Broadcast(0.999F), summand = Broadcast(0.001F);
  for (int64_t step = 0; step < steps; ++step) {
#pragma GCC unroll 24
    for (Vector& sum : sums) sum = MultiplyAdd(sum, factor, summand);
  }
  asm volatile("" : "+m"(sums));  // they are wanted
  return 2 * steps * kSumRegisters * kLanes;
}
