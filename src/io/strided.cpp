#include "io/strided.h"

#include <algorithm>
#include <cstring>
#include <memory>

namespace hone::io {
namespace {

constexpr int64_t kWindow = 256 * 1024;  // bytes read at once
constexpr int64_t kPage = 4096;          // a smaller gap is cheaper to read than to skip

/// One dimension of a box: how far a step goes in the file and in the output, in elements.
struct Axis {
  int64_t size;
  int64_t in;
  int64_t out;
};

/// Copies boxes of a tensor, each in file order.
class Gather {
 public:
  Gather(const InputFile& file, const TensorInfo& tensor, int64_t first, void* out)
      : file_(file),
        tensor_(tensor),
        volumes_(contiguous_strides(tensor.shape)),
        element_(static_cast<int64_t>(dtype_size(tensor.dtype))),
        first_(first),
        out_(static_cast<char*>(out)),
        window_(new char[kWindow]) {}

  /// Cuts elements [begin, end), counted within the sub-tensor of dimensions `dim` and on that
  /// starts at `in` and `linear`, into boxes.
  void range(size_t dim, int64_t begin, int64_t end, int64_t in, int64_t linear) {
    const int64_t volume = volumes_[dim];
    const int64_t stride = tensor_.place.strides[dim];
    const int64_t head = begin / volume;
    if (begin % volume != 0) {
      const int64_t stop = std::min(end, (head + 1) * volume);
      range(dim + 1, begin - head * volume, stop - head * volume, in + head * stride,
            linear + head * volume);
      begin = stop;
    }
    const int64_t low = begin / volume;
    const int64_t high = end / volume;
    if (low < high) {
      box(dim, high - low, in + low * stride, linear + low * volume);
      begin = high * volume;
    }
    if (begin < end) {
      range(dim + 1, 0, end - begin, in + high * stride, linear + high * volume);
    }
  }

 private:
  /// Copies `size` steps of dimension `dim`, and the dimensions after it whole.
  void box(size_t dim, int64_t size, int64_t in, int64_t linear) {
    std::vector<Axis> axes = {{size, tensor_.place.strides[dim], volumes_[dim]}};
    for (size_t d = dim + 1; d < volumes_.size(); ++d) {
      axes.push_back({tensor_.shape[d], tensor_.place.strides[d], volumes_[d]});
    }
    std::erase_if(axes, [](const Axis& a) { return a.size == 1; });
    std::stable_sort(axes.begin(), axes.end(),
                     [](const Axis& a, const Axis& b) { return a.in > b.in; });
    if (axes.empty()) axes.push_back({1, 1, 1});
    const Axis inner = axes.back();
    axes.pop_back();
    const int64_t gap = axes.empty() ? INT64_MAX / 16 : axes.back().in - inner.size * inner.in;
    read_ahead_ = gap * element_ < kPage;

    std::vector<int64_t> index(axes.size(), 0);
    for (;;) {
      run(inner, in, linear - first_);
      size_t d = axes.size();
      while (d > 0 && ++index[d - 1] == axes[d - 1].size) {
        --d;
        index[d] = 0;
        in -= (axes[d].size - 1) * axes[d].in;
        linear -= (axes[d].size - 1) * axes[d].out;
      }
      if (d == 0) return;
      in += axes[d - 1].in;
      linear += axes[d - 1].out;
    }
  }

  void run(const Axis& axis, int64_t in, int64_t to) {
    const int64_t step = axis.in * element_;
    // Steps of a page or more are read one by one, closer ones together with what lies between.
    const int64_t most = step < kPage ? (kWindow - element_) / std::max<int64_t>(step, 1) + 1 : 1;
    for (int64_t done = 0; done < axis.size;) {
      const int64_t count = std::min(most, axis.size - done);
      const char* from = bytes_at(tensor_.place.offset + static_cast<uint64_t>(in * element_),
                                  (count - 1) * step + element_);
      scatter(from, axis, count, to);
      done += count;
      in += count * axis.in;
      to += count * axis.out;
    }
  }

  void scatter(const char* from, const Axis& axis, int64_t count, int64_t to) {
    switch (element_) {
      case 1:
        return scatter_as<uint8_t>(from, axis, count, to);
      case 2:
        return scatter_as<uint16_t>(from, axis, count, to);
      case 4:
        return scatter_as<uint32_t>(from, axis, count, to);
      default:
        return scatter_as<uint64_t>(from, axis, count, to);
    }
  }

  template <typename T>
  void scatter_as(const char* from, const Axis& axis, int64_t count, int64_t to) {
    T* out = reinterpret_cast<T*>(out_) + to;
    for (int64_t i = 0; i < count; ++i) {
      std::memcpy(out + i * axis.out, from + i * axis.in * element_, sizeof(T));
    }
  }

  const char* bytes_at(uint64_t offset, int64_t bytes) {
    if (offset < start_ || offset + static_cast<uint64_t>(bytes) > end_) {
      const int64_t ahead = read_ahead_ ? kWindow : bytes;
      end_ = std::min(file_.size(), offset + static_cast<uint64_t>(ahead));
      start_ = offset;
      file_.read(start_, window_.get(), std::max(end_ - start_, static_cast<uint64_t>(bytes)));
    }
    return window_.get() + (offset - start_);
  }

  const InputFile& file_;
  const TensorInfo& tensor_;
  const std::vector<int64_t> volumes_;
  const int64_t element_;
  const int64_t first_;
  char* const out_;
  const std::unique_ptr<char[]> window_;
  uint64_t start_ = 0;  ///< the window holds bytes [start_, end_) of the file
  uint64_t end_ = 0;
  bool read_ahead_ = false;
};

}  // namespace

std::vector<int64_t> contiguous_strides(const std::vector<int64_t>& shape) {
  std::vector<int64_t> strides(shape.size(), 1);
  for (size_t d = shape.size(); d-- > 1;) strides[d - 1] = strides[d] * shape[d];
  return strides;
}

void read_strided(const InputFile& file, const TensorInfo& tensor, int64_t first, int64_t count,
                  void* out) {
  if (count > 0) Gather(file, tensor, first, out).range(0, first, first + count, 0, 0);
}

}  // namespace hone::io
