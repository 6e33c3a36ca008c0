// hone's matrix product against oneDNN's, call by call in turn. Every result is checked before it
// is timed. See --help.

#include <fmt/format.h>

#include <time.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <thread>

#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "gemm_cases.h"
#include "kernels/cpu/peak.h"

namespace hone::bench {
namespace {

constexpr const char* kHelp =
    "gemm_bench [--out FOLDER] [--m 1,32,...] [--threads 1,2] [--dtype fp32,bf16,int8]\n"
    "           [--shapes 768x768,...  (N x K)] [--budget-ms 80] [--hot]\n"
    "HONE_ISA chooses ours and caps oneDNN's. Weights come from memory, as in a model of many\n"
    "layers, unless --hot. --out writes gemm.md and gemm.json there.\n";

struct Options {
  std::vector<int64_t> m = {1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096};
  std::vector<int64_t> threads = {1, 2};
  std::vector<DType> dtypes = {DType::f32, DType::bf16, DType::i8};
  std::vector<std::pair<int64_t, int64_t>> shapes = {{768, 768},  {2304, 768}, {3072, 768},
                                                     {768, 3072}, {384, 384},  {1152, 384},
                                                     {1536, 384}, {384, 1536}};
  double budget_ms = 80;
  bool hot = false;
  std::string out;
  std::string command;  // the line that started it
};

struct Timing {
  double median = 0, p10 = 0, p90 = 0;  // seconds
};

struct Row {
  Case c;
  double peak;  // GFLOP/s
  Timing ours, theirs;
  double ratio;  // median over neighbouring batches of theirs / ours, the best call of each
  bool theirs_invariant;
  bool has_theirs() const { return theirs.median > 0; }
  double gflop() const { return 2e-9 * static_cast<double>(c.m * c.n * c.k); }
};

double quantile(std::vector<double> values, double q) {
  std::sort(values.begin(), values.end());
  return values[static_cast<size_t>(q * static_cast<double>(values.size() - 1) + 0.5)];
}

Timing timing(const std::vector<double>& seconds) {
  return {quantile(seconds, 0.5), quantile(seconds, 0.1), quantile(seconds, 0.9)};
}

/// Both against a sum in double, on rows and columns spread over C.
void verify(const Case& c, const Inputs& in, const std::vector<float>& got, const char* who) {
  const double rounding = c.dtype == DType::bf16 ? 0x1p-8 : 0;
  for (int64_t i = 0; i < c.m; i += std::max<int64_t>(1, c.m / 7)) {
    for (int64_t j = 0; j < c.n; j += 61) {
      double sum = in.bias[j];
      for (int64_t p = 0; p < c.k; ++p) sum += double{in.a[i * c.k + p]} * in.weight[j * c.k + p];
      const double error = std::abs(got[i * c.n + j] - sum);
      if (!(error <= 1e-6 * static_cast<double>(c.k) + rounding * std::abs(sum))) {
        fail(ErrorKind::internal, "{}: m {} n {} k {}: C[{}][{}] is {}, should be {}", who, c.m,
             c.n, c.k, i, j, got[i * c.n + j], sum);
      }
    }
  }
}

/// Has the last row the same bits alone?
bool is_invariant(const Case& c, const Inputs& in, const std::vector<float>& together) {
  Case alone = c;
  alone.m = 1;
  alone.copies = 1;
  Inputs row = in;
  row.a.assign(in.a.end() - c.k, in.a.end());
  const auto product = make_onednn(alone, row);
  product->run();
  return std::equal(together.end() - c.n, together.end(), product->result().begin());
}

/// Seconds; with one thread those the thread has run, so that other work on the machine, which only
/// makes it wait, is not counted.
double now(int threads) {
  timespec time{};
  clock_gettime(threads == 1 ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

/// A few calls after one that is not counted; the best of them. With several threads it first waits
/// until the other side's workers, which spin for milliseconds (OpenMP's), have gone to sleep.
double time_batch(Product& product, int threads, std::vector<double>& all) {
  if (threads > 1) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  product.run();
  std::vector<double> batch;
  const Stopwatch total;
  while (batch.empty() || (batch.size() < 50 && total.seconds() < 3e-3)) {
    const double start = now(threads);
    product.run();
    batch.push_back(now(threads) - start);
  }
  all.insert(all.end(), batch.begin(), batch.end());
  return *std::min_element(batch.begin(), batch.end());
}

Row measure(const Case& c, double peak, double budget_ms, ThreadPool& pool) {
  const Inputs inputs(c);
  const auto ours = make_hone(c, inputs, pool);
  const auto theirs = make_onednn(c, inputs);  // null where it has no such product
  ours->run();
  verify(c, inputs, ours->result(), "hone");
  Row row{c, peak, {}, {}, 0, false};
  if (theirs) {
    theirs->run();
    verify(c, inputs, theirs->result(), "oneDNN");
    row.theirs_invariant = is_invariant(c, inputs, theirs->result());
  }
  std::vector<double> a, b, ratio;
  const Stopwatch total;
  while (ratio.size() < (a.empty() || a.back() < 5e-3 ? 15 : 5) ||
         (total.seconds() * 1e3 < budget_ms && ratio.size() < 500)) {
    const double ours_best = time_batch(*ours, c.threads, a);
    ratio.push_back(theirs ? time_batch(*theirs, c.threads, b) / ours_best : 0);
  }
  row.ours = timing(a);
  if (theirs) row.theirs = timing(b);
  row.ratio = quantile(ratio, 0.5);
  return row;
}

std::string cell(const Timing& t) {
  return t.median == 0
             ? ""
             : fmt::format("{:.1f} ({:.1f}–{:.1f})", t.median * 1e6, t.p10 * 1e6, t.p90 * 1e6);
}

std::string markdown(const std::vector<Row>& rows) {
  std::string text =
      "| dtype | threads | N | K | m | hone µs (p10–p90) | oneDNN µs (p10–p90) | hone GFLOP/s | of "
      "peak | oneDNN GFLOP/s | hone / oneDNN | oneDNN's rows invariant |\n"
      "|---|---|---|---|---|---|---|---|---|---|---|---|\n";
  for (const Row& row : rows) {
    const double rate = row.gflop() / row.ours.p10;
    text += fmt::format("| {} | {} | {} | {} | {} | {} | {} | {:.0f} | {:.0f}% | ",
                        dtype_name(row.c.dtype), row.c.threads, row.c.n, row.c.k, row.c.m,
                        cell(row.ours), cell(row.theirs), rate, 100 * rate / row.peak);
    if (row.has_theirs()) {
      text += fmt::format("{:.0f} | {:.2f} | {} |\n", row.gflop() / row.theirs.p10, row.ratio,
                          row.theirs_invariant ? "yes" : "no");
    } else {
      text += "none | | |\n";
    }
  }
  return text;
}

nlohmann::json json(const std::vector<Row>& rows) {
  nlohmann::json list = nlohmann::json::array();
  for (const Row& row : rows) {
    list.push_back(
        {{"dtype", dtype_name(row.c.dtype)},
         {"isa", isa_name(row.c.isa)},
         {"threads", row.c.threads},
         {"m", row.c.m},
         {"n", row.c.n},
         {"k", row.c.k},
         {"peak_gflops", row.peak},
         {"hone_us", {row.ours.median * 1e6, row.ours.p10 * 1e6, row.ours.p90 * 1e6}},
         {"onednn_us", {row.theirs.median * 1e6, row.theirs.p10 * 1e6, row.theirs.p90 * 1e6}},
         {"ratio", row.ratio},
         {"onednn_invariant", row.theirs_invariant}});
  }
  return list;
}

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, separator);) parts.push_back(part);
  return parts;
}

std::vector<int64_t> integers(const std::string& text) {
  std::vector<int64_t> values;
  for (const std::string& part : split(text, ',')) values.push_back(std::stoll(part));
  return values;
}

Options parse(int argc, char** argv) {
  Options options;
  options.command = "gemm_bench";
  for (int i = 1; i < argc; ++i) options.command.append(" ").append(argv[i]);
  for (int i = 1; i < argc; ++i) {
    const std::string flag = argv[i];
    if (flag == "--hot") {
      options.hot = true;
      continue;
    }
    if (flag == "--help" || i + 1 == argc) {
      std::fputs(kHelp, stdout);
      std::exit(flag == "--help" ? 0 : 2);
    }
    const std::string value = argv[++i];
    if (flag == "--m") options.m = integers(value);
    if (flag == "--threads") options.threads = integers(value);
    if (flag == "--budget-ms") options.budget_ms = std::stod(value);
    if (flag == "--out") options.out = value;
    if (flag == "--dtype") {
      options.dtypes.clear();
      for (const std::string& name : split(value, ',')) {
        options.dtypes.push_back(name == "int8"   ? DType::i8
                                 : name == "bf16" ? DType::bf16
                                                  : DType::f32);
      }
    }
    if (flag == "--shapes") {
      options.shapes.clear();
      for (const std::string& shape : split(value, ',')) {
        options.shapes.push_back(
            {std::stoll(shape), std::stoll(shape.substr(shape.find('x') + 1))});
      }
    }
  }
  return options;
}

constexpr int64_t kColdBytes = 96 << 20;  // three times the last cache of the machines at hand

std::vector<Row> run(const Options& options, Isa isa) {
  std::vector<Row> rows;
  for (DType dtype : options.dtypes) {
    for (int64_t threads : options.threads) {
      ThreadPool pool(static_cast<int>(threads));
      const double peak = kernels::measured_peak(isa, dtype, pool);
      fmt::print("# {} threads {} measured peak {:.0f} GFLOP/s\n", dtype_name(dtype), threads,
                 peak);
      for (const auto& [n, k] : options.shapes) {
        for (int64_t m : options.m) {
          const int64_t bytes = n * k * static_cast<int64_t>(dtype_size(dtype));
          const int copies = options.hot ? 1 : static_cast<int>(kColdBytes / bytes + 1);
          rows.push_back(measure({isa, dtype, static_cast<int>(threads), m, n, k, copies}, peak,
                                 options.budget_ms, pool));
          const std::string table = markdown({rows.back()});
          fmt::print("{}", table.substr(table.rfind('\n', table.size() - 2) + 1));
          std::fflush(stdout);
        }
      }
    }
  }
  return rows;
}

void write(const Options& options, Isa isa, const std::vector<Row>& rows) {
  OutputFile text(options.out + "/gemm.md");
  text.write(fmt::format(
      "# Matrix products: hone against oneDNN\n\n{}, {}; fp32 sums, bias fused; weights {}, both "
      "on "
      "huge pages. Made by `{}`.\n\n"
      "Calls of both in turn; one thread's times are what it ran, several threads' what passed. "
      "Times are medians with tenths; rates and the share of the measured "
      "peak (multiply-adds on registers alone, same run) are of the fastest tenth, which other "
      "work "
      "on the machine disturbs least; hone / oneDNN is the median over neighbouring batches of the "
      "ratio of their best calls, above 1 where hone is faster. hone is used throughout: its rows "
      "have the same bits in any batch; the last column says whether oneDNN's last row had.\n\n",
      cpu_info().name, isa_name(isa), options.hot ? "in the caches" : "from memory",
      options.command));
  text.write(markdown(rows));
  text.commit();
  OutputFile data(options.out + "/gemm.json");
  data.write(nlohmann::json{{"cpu", cpu_info().name}, {"cases", json(rows)}}.dump(1) + "\n");
  data.commit();
}

}  // namespace
}  // namespace hone::bench

int main(int argc, char** argv) {
  try {
    using namespace hone;
    const bench::Options options = bench::parse(argc, argv);
    const Isa isa = chosen_isa();
    bench::cap_onednn(isa);
    const std::vector<bench::Row> rows = bench::run(options, isa);
    if (!options.out.empty()) bench::write(options, isa, rows);
  } catch (const std::exception& error) {
    fmt::print(stderr, "gemm_bench: {}\n", error.what());
    return 1;
  }
}
