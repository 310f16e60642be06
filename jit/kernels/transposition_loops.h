// The loops of transposition.cpp, for whatever vectors the namespace around has.

void CopyTransposedInTiles(const float* from, int64_t from_stride, float* to, int64_t to_stride, int64_t rows,
                           int64_t columns) {
  for (int64_t j = 0; j < columns; j += kLanes) {
    const int64_t of_columns = std::min<int64_t>(columns - j, kLanes);
    for (int64_t i = 0; i < rows; i += kLanes) {
      const int64_t of_rows = std::min<int64_t>(rows - i, kLanes);
      Vector tile[kLanes];
      for (int64_t k = 0; k < kLanes; ++k)
        tile[k] = k < of_columns ? LoadFirst(from + (j + k) * from_stride + i, of_rows) : Zeros();
      Transpose(tile);
      for (int64_t k = 0; k < of_rows; ++k) StoreFirst(to + (i + k) * to_stride + j, of_columns, tile[k]);
    }
  }
}
