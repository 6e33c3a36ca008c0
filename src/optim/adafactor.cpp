#include "optim/adafactor.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "kernels/cpu/gemm.h"
#include "nn/packed_rows.h"

namespace hone::optim {
namespace {

constexpr int64_t kChunk = 256;  // rows of a task

class MatrixStep {
 public:
  MatrixStep(const Adafactor& options, const nn::Parameter& parameter, Isa isa, float scale,
             const AdafactorArrays& arrays)
      : o_(options),
        parameter_(parameter),
        isa_(isa),
        scale_(scale),
        a_(arrays),
        keep_(static_cast<float>(1 -
                                 std::pow(static_cast<double>(options.step), options.decay_rate))),
        width_(nn::row_width(parameter)),
        share_(nn::row_count(parameter) / std::ssize(parameter.tensors)) {
    for (int64_t tensor = 0; tensor < std::ssize(parameter.tensors); ++tensor) {
      for (int64_t at = 0; at < share_; at += kChunk) {
        const int64_t first = tensor * share_ + at;
        chunks_.push_back({tensor, first, first + std::min(kChunk, share_ - at)});
      }
    }
  }

  void run(ThreadPool& pool) {
    average(pool);
    const std::vector<float> factors = clip(pool);
    // Rows are stored by whole panels, which know no tensors.
    const int64_t panel = kernels::panel_rows(isa_);
    const int64_t step = (kChunk + panel - 1) / panel * panel;
    const int64_t rows = share_ * std::ssize(parameter_.tensors);
    pool.run((rows + step - 1) / step, [&](int64_t task, int) {
      update(task * step, std::min(rows, (task + 1) * step), factors);
    });
  }

 private:
  struct Chunk {
    int64_t tensor, first, end;
  };
  template <typename Take>
  void read(const float* array, int64_t first, int64_t end, const Take& take) const {
    nn::read_rows(parameter_, {isa_, DType::f32, array}, first, end,
                  [&](int64_t at, int64_t count, const float* rows) {
                    for (int64_t i = 0; i < count; ++i) take(at + i, rows + i * width_);
                  });
  }

  /// Brings the averages of rows and columns up to these gradients.
  void average(ThreadPool& pool) {
    std::vector<std::vector<double>> columns(chunks_.size());
    pool.run(std::ssize(chunks_), [&](int64_t task, int) {
      const Chunk& chunk = chunks_[static_cast<size_t>(task)];
      std::vector<double>& sums = columns[static_cast<size_t>(task)];
      sums.resize(static_cast<size_t>(width_));
      read(a_.gradient, chunk.first, chunk.end, [&](int64_t row, const float* g) {
        double sum = 0;
        for (int64_t i = 0; i < width_; ++i) {
          const double square = std::pow(double{g[i]} * scale_, 2) + o_.eps;
          sum += square;
          sums[static_cast<size_t>(i)] += square;
        }
        blend(a_.rows[row], sum / static_cast<double>(width_));
      });
    });
    std::vector<double> sums(static_cast<size_t>(width_));
    for (size_t i = 0; i < chunks_.size(); ++i) {
      std::transform(sums.begin(), sums.end(), columns[i].begin(), sums.begin(), std::plus<>());
      if (chunks_[i].end % share_ != 0) continue;
      for (int64_t column = 0; column < width_; ++column) {
        double& sum = sums[static_cast<size_t>(column)];
        blend(a_.columns[chunks_[i].tensor * width_ + column], sum / static_cast<double>(share_));
        sum = 0;
      }
    }
    for (int64_t tensor = 0; tensor < std::ssize(parameter_.tensors); ++tensor) {
      const float* rows = a_.rows + tensor * share_;
      means_.push_back(std::accumulate(rows, rows + share_, 0.) / static_cast<double>(share_));
    }
    for (int64_t i = 0; i < width_ * std::ssize(parameter_.tensors); ++i) {
      roots_.push_back(1 / std::sqrt(a_.columns[i]));
    }
  }

  void blend(float& average, double value) const {
    average = keep_ * average + (1 - keep_) * static_cast<float>(value);
  }

  /// Gives what the gradient's element in column i is multiplied by: `row_factor` times this.
  float row_factor(int64_t row) const {
    const double mean = means_[static_cast<size_t>(row / share_)];
    return static_cast<float>(std::sqrt(mean / a_.rows[row])) * scale_;
  }
  const float* roots_of(int64_t row) const { return roots_.data() + row / share_ * width_; }

  /// Gives, by tensor, the learning rate behind the clipping of the update.
  std::vector<float> clip(ThreadPool& pool) const {
    std::vector<double> squares(chunks_.size());
    pool.run(std::ssize(chunks_), [&](int64_t task, int) {
      const Chunk& chunk = chunks_[static_cast<size_t>(task)];
      read(a_.gradient, chunk.first, chunk.end, [&](int64_t row, const float* g) {
        const float factor = row_factor(row);
        const float* roots = roots_of(row);
        double sum = 0;
        for (int64_t i = 0; i < width_; ++i) {
          const double u = double{g[i]} * factor * roots[i];
          sum += u * u;
        }
        squares[static_cast<size_t>(task)] += sum;
      });
    });
    std::vector<double> sums(parameter_.tensors.size());
    for (size_t i = 0; i < chunks_.size(); ++i) {
      sums[static_cast<size_t>(chunks_[i].tensor)] += squares[i];
    }
    std::vector<float> rates;
    for (const double sum : sums) {
      const double rms = std::sqrt(sum / static_cast<double>(share_ * width_));
      rates.push_back(static_cast<float>(o_.lr / std::max(1., rms / o_.clip_threshold)));
    }
    return rates;
  }

  void update(int64_t first, int64_t end, const std::vector<float>& rates) const {
    std::vector<float> weights;
    weights.reserve(static_cast<size_t>((end - first) * width_));
    read(a_.weights, first, end,
         [&](int64_t, const float* row) { weights.insert(weights.end(), row, row + width_); });
    const auto keep = static_cast<float>(1 - o_.lr * o_.weight_decay);
    read(a_.gradient, first, end, [&](int64_t row, const float* g) {
      const float factor = row_factor(row) * rates[static_cast<size_t>(row / share_)];
      const float* roots = roots_of(row);
      float* w = weights.data() + (row - first) * width_;
      for (int64_t i = 0; i < width_; ++i) w[i] = w[i] * keep - g[i] * factor * roots[i];
    });
    nn::store_rows(parameter_, {isa_, DType::f32, a_.weights}, weights.data(), first, end - first);
  }

  const Adafactor& o_;
  const nn::Parameter& parameter_;
  Isa isa_;
  float scale_;
  AdafactorArrays a_;
  float keep_;
  int64_t width_, share_;
  std::vector<Chunk> chunks_;
  std::vector<double> means_;  ///< mean of the rows' averages, one a tensor
  std::vector<float> roots_;   ///< by tensor and column, 1 / sqrt of its average
};

void update_vector(const Adafactor& o, const nn::Parameter& parameter, float scale,
                   const AdafactorArrays& a) {
  const auto keep = static_cast<float>(1 - std::pow(static_cast<double>(o.step), o.decay_rate));
  const int64_t share = parameter.weight.width / std::ssize(parameter.tensors);
  for (int64_t first = 0; first < parameter.weight.width; first += share) {
    double sum = 0;
    const auto update = [&](int64_t i) {
      return double{a.gradient[i]} * scale / std::sqrt(double{a.squares[i]});
    };
    for (int64_t i = first; i < first + share; ++i) {
      const double square = std::pow(double{a.gradient[i]} * scale, 2) + o.eps;
      a.squares[i] = keep * a.squares[i] + (1 - keep) * static_cast<float>(square);
      sum += std::pow(update(i), 2);
    }
    const double rms = std::sqrt(sum / static_cast<double>(share));
    const double rate = o.lr / std::max(1., rms / o.clip_threshold);
    for (int64_t i = first; i < first + share; ++i) {
      a.weights[i] = static_cast<float>(a.weights[i] - rate * update(i));
    }
  }
}

}  // namespace

void adafactor(const Adafactor& options, const nn::Parameter& parameter, Isa isa,
               const kernels::GradientUse& use, const AdafactorArrays& arrays, ThreadPool& pool) {
  if (parameter.is_vector()) {
    update_vector(options, parameter, use.scale, arrays);
  } else {
    MatrixStep(options, parameter, isa, use.scale, arrays).run(pool);
  }
}

}  // namespace hone::optim
