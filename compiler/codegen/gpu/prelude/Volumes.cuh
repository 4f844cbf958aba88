// The windows of a convolution over channels-last volumes as rows, as Windows are
// those over images: three numbers are those of depth, height and width.
template <typename T, int KD, int KH, int KW> struct VolumeWindows {
  struct Place {
    const T *volume;
    int z, y, x;       // the window's first pixel
    int kd, kh, kw, c; // the place inside the window
  };
  const T *from;
  long long strides[4]; // in memory: of volumes, planes, rows and columns
  int first, rows, outSizes[3], sizes[3], channels, step[3], padding[3], dilation[3];
  __device__ __forceinline__ Place place(int r, int chunk, int k) const {
    const int row = first + r, x = row % outSizes[2], y = row / outSizes[2] % outSizes[1];
    const int plane = row / outSizes[2] / outSizes[1], z = plane % outSizes[0], n = plane / outSizes[0];
    k += chunk * (16 / static_cast<int>(sizeof(T)));
    const int tap = k / channels;
    return {from + n * strides[0],
            row < rows ? z * step[0] - padding[0] : -(1 << 28),
            y * step[1] - padding[1],
            x * step[2] - padding[2],
            tap / KW / KH,
            tap / KW % KH,
            tap % KW,
            k % channels};
  }
  __device__ __forceinline__ int depth(const Place &place) const { return place.z + place.kd * dilation[0]; }
  __device__ __forceinline__ int row(const Place &place) const { return place.y + place.kh * dilation[1]; }
  __device__ __forceinline__ int column(const Place &place) const { return place.x + place.kw * dilation[2]; }
  __device__ __forceinline__ bool has(const Place &place) const {
    const int z = depth(place), y = row(place), x = column(place);
    return place.kd < KD && z >= 0 && z < sizes[0] && y >= 0 && y < sizes[1] && x >= 0 && x < sizes[2];
  }
  __device__ __forceinline__ const T *at(const Place &place) const {
    return place.volume + depth(place) * strides[1] + row(place) * strides[2] + column(place) * strides[3] + place.c;
  }
  template <int Step> __device__ __forceinline__ void advance(Place &place) const {
    place.c += Step;
    while (place.c >= channels) {
      place.c -= channels;
      if (++place.kw == KW) {
        place.kw = 0;
        if (++place.kh == KH) {
          place.kh = 0;
          ++place.kd;
        }
      }
    }
  }
};
