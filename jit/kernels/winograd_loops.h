// The loops of winograd.cpp, for whatever vectors the namespace around has (vector_avx512.h, vector_avx2.h). Included
// once for each, where code for these is compiled.

// Where kernels are of one pixel.
struct SumsForOne {
  static constexpr int kPatch = 1, kTile = 1;

  static void OfPatch(Vector (&)[kPatch]) {}
  static void OfProducts(const Vector (&x)[kPatch], Vector (&tile)[kTile]) { tile[0] = x[0]; }
};

// Along one dimension: the sums of a patch's numbers that are multiplied, and a tile's numbers as sums of products.
// What is multiplied are values of polynomials: at 0, 1, -1 and infinity.
struct SumsForTwo {
  static constexpr int kPatch = 4, kTile = 2;

  static void OfPatch(Vector (&x)[kPatch]) {
    const Vector first = Subtract(x[0], x[2]), last = Subtract(x[1], x[3]);
    const Vector sum = Add(x[1], x[2]), difference = Subtract(x[2], x[1]);
    x[0] = first, x[1] = sum, x[2] = difference, x[3] = last;
  }
  static void OfProducts(const Vector (&x)[kPatch], Vector (&tile)[kTile]) {
    tile[0] = Add(Add(x[0], x[1]), x[2]);
    tile[1] = Subtract(Subtract(x[1], x[2]), x[3]);
  }
};

// At 0, kNear, -kNear, kFar, -kFar and infinity.
struct SumsForFour {
  static constexpr int kPatch = 6, kTile = 4;
  static constexpr float kNear2 = kNear * kNear, kFar2 = kFar * kFar;

  static void OfPatch(Vector (&x)[kPatch]) {
    const Vector all = Broadcast(-kNear2 - kFar2), product = Broadcast(kNear2 * kFar2);
    const Vector first = MultiplyAdd(product, x[0], MultiplyAdd(all, x[2], x[4]));
    const Vector last = MultiplyAdd(product, x[1], MultiplyAdd(all, x[3], x[5]));
    const Vector far2 = Broadcast(-kFar2), near2 = Broadcast(-kNear2);
    const Vector even_near = MultiplyAdd(far2, x[2], x[4]), even_far = MultiplyAdd(near2, x[2], x[4]);
    const Vector odd_near = Multiply(Broadcast(kNear), MultiplyAdd(far2, x[1], x[3]));
    const Vector odd_far = Multiply(Broadcast(kFar), MultiplyAdd(near2, x[1], x[3]));
    x[0] = first, x[1] = Add(even_near, odd_near), x[2] = Subtract(even_near, odd_near);
    x[3] = Add(even_far, odd_far), x[4] = Subtract(even_far, odd_far), x[5] = last;
  }
  static void OfProducts(const Vector (&x)[kPatch], Vector (&tile)[kTile]) {
    const Vector near_sum = Add(x[1], x[2]), near_difference = Multiply(Broadcast(kNear), Subtract(x[1], x[2]));
    const Vector far_sum = Add(x[3], x[4]), far_difference = Multiply(Broadcast(kFar), Subtract(x[3], x[4]));
    const Vector near2 = Broadcast(kNear2), far2 = Broadcast(kFar2);
    tile[0] = Add(Add(x[0], near_sum), far_sum);
    tile[1] = Add(near_difference, far_difference);
    tile[2] = MultiplyAdd(near2, near_sum, Multiply(far2, far_sum));
    tile[3] = Add(MultiplyAdd(near2, near_difference, Multiply(far2, far_difference)), x[5]);
  }
};

// Of the channels of a vector; their sum, which is not finite if a number is not.
template <typename Rows, typename Columns>
inline Vector SumPatchOfVector(const float* const* pixels, int64_t channel, int64_t count, float* to, int64_t plane) {
  constexpr int kRows = Rows::kPatch, kColumns = Columns::kPatch;
  Vector patch[kRows][kColumns];
#pragma GCC unroll 8
  for (int x = 0; x < kColumns; ++x) {
    Vector column[kRows];
#pragma GCC unroll 8
    for (int y = 0; y < kRows; ++y) column[y] = LoadFirst(pixels[y * kColumns + x] + channel, count);
    Rows::OfPatch(column);
#pragma GCC unroll 8
    for (int y = 0; y < kRows; ++y) patch[y][x] = column[y];
  }
  Vector all = Zeros();
#pragma GCC unroll 8
  for (int y = 0; y < kRows; ++y) {
    Columns::OfPatch(patch[y]);
#pragma GCC unroll 8
    for (int x = 0; x < kColumns; ++x) {
      all = Add(all, patch[y][x]);
      StoreFirst(to + (y * kColumns + x) * plane + channel, count, patch[y][x]);
    }
  }
  return all;
}

// The sums of a patch, each `plane` floats behind the one before. `pixels`: the patch's. Some number of `unfit`, as
// many as a vector has, becomes NaN if one of the patch is not finite.
template <typename Rows, typename Columns>
void SumPatch(const float* const* pixels, int64_t channels, float* to, int64_t plane, float* unfit) {
  Vector all = LoadUnaligned(unfit);
  int64_t channel = 0;
  // A count that is known to the compiler makes whole vectors of loads and stores.
  for (; channel + kLanes <= channels; channel += kLanes)
    all = MultiplyAdd(SumPatchOfVector<Rows, Columns>(pixels, channel, kLanes, to, plane), Zeros(), all);
  if (channel < channels)
    all = MultiplyAdd(SumPatchOfVector<Rows, Columns>(pixels, channel, channels - channel, to, plane), Zeros(), all);
  StoreUnaligned(unfit, all);
}

// A tile of its products, with what follows but the activation. `pixels`: the tile's, null for those outside of the
// result; whole vectors can be read from the products.
template <typename Rows, typename Columns>
void SumTile(const float* products, int64_t plane, const float* bias, int64_t columns, bool adds,
             float* const* pixels) {
  constexpr int kHeight = Rows::kTile, kPatchWidth = Columns::kPatch, kWidth = Columns::kTile;
  for (int64_t i = 0; i < columns; i += kLanes) {
    const int64_t count = columns - i;
    Vector rows[kHeight][kPatchWidth];
#pragma GCC unroll 8
    for (int x = 0; x < kPatchWidth; ++x) {
      Vector column[Rows::kPatch], sums[kHeight];
#pragma GCC unroll 8
      for (int y = 0; y < Rows::kPatch; ++y) column[y] = LoadUnaligned(products + (y * kPatchWidth + x) * plane + i);
      Rows::OfProducts(column, sums);
#pragma GCC unroll 8
      for (int y = 0; y < kHeight; ++y) rows[y][x] = sums[y];
    }
    const Vector offset = bias == nullptr ? Zeros() : LoadFirst(bias + i, count);
#pragma GCC unroll 8
    for (int y = 0; y < kHeight; ++y) {
      Vector tile[kWidth];
      Columns::OfProducts(rows[y], tile);
#pragma GCC unroll 8
      for (int x = 0; x < kWidth; ++x) {
        float* const to = pixels[y * kWidth + x];
        if (to == nullptr) continue;
        Vector sum = Add(tile[x], offset);
        if (adds) sum = Add(sum, LoadFirst(to + i, count));
        StoreFirst(to + i, count, sum);
      }
    }
  }
}
