// Operands of tiles that are no matrices of evenly spaced rows. The place of
// element k of row r is from + rowOf(r) + stepOf(k); both are functions that the
// generator writes.
template <typename T, typename RowOf, typename StepOf> struct GatheredChunks {
  struct Place {
    const T *row;
    int k; // beyond the last element where there is no such row
  };
  const T *from;
  RowOf rowOf;
  StepOf stepOf;
  int first;         // the tile's first row
  int rows, columns; // the sizes of the operand
  __device__ __forceinline__ Place place(int r, int chunk, int k) const {
    const bool valid = first + r < rows;
    return {valid ? from + rowOf(first + r) : from, valid ? k + chunk * (16 / static_cast<int>(sizeof(T))) : 1 << 30};
  }
  __device__ __forceinline__ bool has(const Place &place) const { return place.k < columns; }
  __device__ __forceinline__ const T *at(const Place &place) const { return place.row + stepOf(place.k); }
  template <int Step> __device__ __forceinline__ void advance(Place &place) const { place.k += Step; }
};

// The same where the elements of a chunk are not neighbours in memory, or lie
// where no 16 bytes can be copied at a time. RowsAreNeighbours: those of
// neighbouring rows are neighbours.
template <typename T, bool RowsAreNeighbours, typename RowOf, typename StepOf>
struct GatheredElements : GatheredChunks<T, RowOf, StepOf> {};

template <typename T, bool RowsAreNeighbours, typename RowOf, typename StepOf>
struct TakesRows<GatheredElements<T, RowsAreNeighbours, RowOf, StepOf>> {
  static constexpr bool value = RowsAreNeighbours;
};

// Plain stores: the barrier at the start of each stage makes them visible.
template <typename T, bool RowsAreNeighbours, typename RowOf, typename StepOf>
__device__ __forceinline__ void sendChunk(unsigned to, const GatheredElements<T, RowsAreNeighbours, RowOf, StepOf> &source,
                                          const typename GatheredChunks<T, RowOf, StepOf>::Place &place) {
  constexpr int count = 16 / sizeof(T);
  Pack<T, count> values = {};
#pragma unroll
  for (int i = 0; i < count; ++i)
    if (place.k + i < source.columns)
      values[i] = place.row[source.stepOf(place.k + i)];
  const uint4 bits = *reinterpret_cast<const uint4 *>(&values);
  asm volatile("st.shared.v4.b32 [%0], {%1, %2, %3, %4};" ::"r"(to), "r"(bits.x), "r"(bits.y), "r"(bits.z), "r"(bits.w) : "memory");
}

template <typename T, typename RowOf, typename StepOf>
__device__ __forceinline__ GatheredChunks<T, RowOf, StepOf> gatherChunks(const T *from, RowOf rowOf, StepOf stepOf, int first,
                                                                         int rows, int columns) {
  return {from, rowOf, stepOf, first, rows, columns};
}
template <bool RowsAreNeighbours, typename T, typename RowOf, typename StepOf>
__device__ __forceinline__ GatheredElements<T, RowsAreNeighbours, RowOf, StepOf>
gatherElements(const T *from, RowOf rowOf, StepOf stepOf, int first, int rows, int columns) {
  return {{from, rowOf, stepOf, first, rows, columns}};
}
