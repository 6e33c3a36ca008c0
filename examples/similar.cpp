// similar MODEL TEXT...: embeds texts, compares them all, and shows where the time went.
#include <hone/hone.h>
#include <cmath>
#include <cstdio>
#include <numeric>

namespace {

double cosine(const std::vector<float>& a, const std::vector<float>& b) {
  const auto dot = [](const std::vector<float>& x, const std::vector<float>& y) {
    return std::inner_product(x.begin(), x.end(), y.begin(), 0.);
  };
  const double lengths = std::sqrt(dot(a, a) * dot(b, b));
  return lengths > 0 ? dot(a, b) / lengths : 0;
}

void print_similarities(const std::vector<hone::Text>& texts,
                        const std::vector<std::vector<float>>& vectors) {
  std::printf("cosine similarity\n    ");
  for (size_t i = 0; i < texts.size(); ++i) std::printf(" %6zu", i + 1);
  std::printf("\n");
  size_t best[2] = {0, 0};
  double highest = -2;
  for (size_t i = 0; i < texts.size(); ++i) {
    std::printf("%4zu", i + 1);
    for (size_t j = 0; j < texts.size(); ++j) {
      const double similarity = cosine(vectors[i], vectors[j]);
      std::printf(" %6.3f", similarity);
      if (j <= i || similarity <= highest) continue;
      highest = similarity;
      best[0] = i;
      best[1] = j;
    }
    std::printf("  %s\n", texts[i].text.c_str());
  }
  if (texts.size() < 2) return;
  std::printf("most similar: %zu and %zu (%.3f)\n", best[0] + 1, best[1] + 1, highest);
}

void print_times(const std::vector<hone::TimeSpent>& times) {
  double total = 0;
  for (const hone::TimeSpent& time : times) total += time.seconds;
  std::printf("\nwhere the time went (%.1f ms)\n", total * 1e3);
  std::printf("  %-20s %6s %9s %7s %9s\n", "", "calls", "ms", "share", "GFLOP/s");
  for (const hone::TimeSpent& time : times) {
    std::printf("  %-20s %6lld %9.3f %6.1f%%", time.name.c_str(),
                static_cast<long long>(time.calls), time.seconds * 1e3, 100 * time.seconds / total);
    if (time.gflops > 0) std::printf(" %9.1f", time.gflops);
    std::printf("\n");
  }
}

}  // namespace

int main(int count, char** words) {
  if (count < 3) {
    std::fprintf(stderr, "usage: similar MODEL TEXT...\n");
    return 2;
  }
  try {
    hone::ModelOptions options;
    options.use = hone::Use::embed;
    options.time_ops = true;
    hone::Model model = hone::Model::load(words[1], options);
    const std::vector<hone::Text> texts(words + 2, words + count);
    print_similarities(texts, model.embed(texts));
    print_times(model.times());
    return 0;
  } catch (const hone::Error& error) {
    std::fprintf(stderr, "similar: %s\n", error.what());
    return 1;
  }
}
