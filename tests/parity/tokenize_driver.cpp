// Encodes what it reads from standard input, for the scripts beside it that compare hone's
// tokenizers with `tokenizers`.
//
//   tokenize_driver PATH [--family F] [--max-length N] [--strategy S] [--left] [--no-special]
//                   [--threads N] [--bench SECONDS]
//
// In: records of u32 size, text, u32 size of the pair or 0xFFFFFFFF, pair.
// Out: for each record u32 n, or 0xFFFFFFFF, u32 size and an error message; u32 untruncated; then
// n times i32 id, i32 type, u32 begin, u32 end, u32 special, u32 size, token.
// --bench prints seconds (of the clock, of the processor) a pass, tokens and bytes instead;
// --threads above 1 goes by batches.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "base/thread_pool.h"
#include "text/tokenizer.h"

namespace {

using hone::text::EncodeOptions;
using hone::text::Encoding;
using hone::text::TextInput;
using hone::text::Tokenizer;
using hone::text::Truncation;

constexpr uint32_t kNone = 0xFFFFFFFF;

struct Arguments {
  std::string path;
  std::string family;
  EncodeOptions options;
  int threads = 1;
  double bench = 0;
};

Arguments parse(int argc, char** argv) {
  Arguments out;
  Truncation truncation;
  bool truncates = false;
  for (int i = 1; i < argc; ++i) {
    const std::string flag = argv[i];
    const auto value = [&] { return std::string(i + 1 < argc ? argv[++i] : ""); };
    if (flag == "--family") {
      out.family = value();
    } else if (flag == "--max-length") {
      truncates = true;
      truncation.max_length = std::strtoul(value().c_str(), nullptr, 10);
    } else if (flag == "--strategy") {
      const std::string name = value();
      truncation.strategy = name == "only_first"    ? Truncation::Strategy::only_first
                            : name == "only_second" ? Truncation::Strategy::only_second
                                                    : Truncation::Strategy::longest_first;
    } else if (flag == "--left") {
      truncation.direction = Truncation::Direction::left;
    } else if (flag == "--no-special") {
      out.options.add_special_tokens = false;
    } else if (flag == "--threads") {
      out.threads = std::atoi(value().c_str());
    } else if (flag == "--bench") {
      out.bench = std::atof(value().c_str());
    } else {
      out.path = flag;
    }
  }
  if (truncates) out.options.truncation = truncation;
  return out;
}

std::string read_all() {
  std::string all;
  char buffer[1 << 16];
  for (size_t got; (got = std::fread(buffer, 1, sizeof(buffer), stdin)) > 0;)
    all.append(buffer, got);
  return all;
}

std::vector<TextInput> split_records(std::string_view all) {
  std::vector<TextInput> inputs;
  const auto number = [&] {
    uint32_t n = kNone;
    if (all.size() >= 4) std::memcpy(&n, all.data(), 4);
    all.remove_prefix(std::min<size_t>(4, all.size()));
    return n;
  };
  const auto text = [&](uint32_t n) {
    const std::string_view found = all.substr(0, n);
    all.remove_prefix(found.size());
    return found;
  };
  while (!all.empty()) {
    TextInput input;
    input.text = text(number());
    const uint32_t size = number();
    if (size != kNone) input.pair = text(size);
    inputs.push_back(input);
  }
  return inputs;
}

void put(uint32_t value) { std::fwrite(&value, 4, 1, stdout); }

void put(std::string_view text) {
  put(static_cast<uint32_t>(text.size()));
  std::fwrite(text.data(), 1, text.size(), stdout);
}

void write(const Tokenizer& tokenizer, const Encoding& encoding) {
  put(static_cast<uint32_t>(encoding.size()));
  put(static_cast<uint32_t>(encoding.untruncated));
  for (size_t i = 0; i < encoding.size(); ++i) {
    put(static_cast<uint32_t>(encoding.ids[i]));
    put(static_cast<uint32_t>(encoding.type_ids[i]));
    put(encoding.offsets[i].begin);
    put(encoding.offsets[i].end);
    put(encoding.special[i]);
    put(tokenizer.token(encoding, i));
  }
}

double cpu_seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

void bench(const Tokenizer& tokenizer, const std::vector<TextInput>& inputs,
           const Arguments& args) {
  hone::ThreadPool pool(args.threads);
  Tokenizer::Workspace workspace(tokenizer);
  Encoding encoding;
  std::vector<Encoding> encodings;
  size_t bytes = 0;
  for (const TextInput& input : inputs) bytes += input.text.size() + input.pair.value_or("").size();
  double best = 1e9;
  double best_cpu = 1e9;
  size_t tokens = 0;
  const hone::Stopwatch total;
  do {
    const hone::Stopwatch pass;
    const double cpu = cpu_seconds();
    tokens = 0;
    if (args.threads > 1) {
      tokenizer.encode_batch(inputs, args.options, pool, encodings);
      for (const Encoding& e : encodings) tokens += e.size();
    } else {
      for (const TextInput& input : inputs) {
        tokenizer.encode(input, args.options, workspace, encoding);
        tokens += encoding.size();
      }
    }
    best = std::min(best, pass.seconds());
    best_cpu = std::min(best_cpu, cpu_seconds() - cpu);
  } while (total.seconds() < args.bench);
  std::printf("{\"seconds\": %.6f, \"cpu_seconds\": %.6f, \"tokens\": %zu, \"bytes\": %zu}\n", best,
              best_cpu, tokens, bytes);
}

void run(int argc, char** argv) {
  const Arguments args = parse(argc, argv);
  const Tokenizer tokenizer = Tokenizer::load(args.path, args.family);
  const std::string all = read_all();
  const std::vector<TextInput> inputs = split_records(all);
  if (args.bench > 0) return bench(tokenizer, inputs, args);
  Tokenizer::Workspace workspace(tokenizer);
  Encoding encoding;
  for (const TextInput& input : inputs) {
    try {
      tokenizer.encode(input, args.options, workspace, encoding);
      write(tokenizer, encoding);
    } catch (const hone::Error& e) {
      put(kNone);
      put(std::string_view(e.what()));
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  try {
    run(argc, argv);
    return 0;
  } catch (const hone::Error& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 2;
  }
}
