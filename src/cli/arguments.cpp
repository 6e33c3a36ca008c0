#include "cli/arguments.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdlib>
#include <numeric>

#include "base/error.h"
#include "cli/version.h"
#include "device/cuda.h"

namespace hone::cli {
namespace {

constexpr int64_t kMostThreads = 4096;

/// Gives an option's name with all separators alike.
std::string folded(std::string_view name) {
  std::string out(name);
  std::replace(out.begin(), out.end(), '_', '-');
  return out;
}

size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 0; i < a.size(); ++i) {
    size_t diagonal = std::exchange(row[0], i + 1);
    for (size_t j = 0; j < b.size(); ++j) {
      const size_t changed = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({changed, diagonal + 1, row[j] + 1});
    }
  }
  return row.back();
}

int64_t whole_number(const std::string& name, const std::string& given, int64_t low, int64_t high) {
  const char* end = given.data() + given.size();
  int64_t value = 0;
  const auto [stop, error] = std::from_chars(given.data(), end, value);
  if (error != std::errc() || stop != end || value < low || value > high) {
    fail(ErrorKind::usage, "{}: expected a whole number from {} to {}, got {}", name, low, high,
         quote(given));
  }
  return value;
}

double real_number(const std::string& name, const std::string& given, double low, double high) {
  const char* end = given.data() + given.size();
  double value = 0;
  const auto [stop, error] = std::from_chars(given.data(), end, value);
  if (error != std::errc() || stop != end || !(value >= low && value <= high)) {
    fail(ErrorKind::usage, "{}: expected a number from {} to {}, got {}", name, low, high,
         quote(given));
  }
  return value;
}

/// Empty where it is not set. Kubernetes sets HONE_PORT to tcp://... where a service has the name
/// "hone"; no option takes that.
std::string variable_value(const std::string& variable) {
  const char* value = std::getenv(variable.c_str());
  if (!value || std::string_view(value).starts_with("tcp://")) return {};
  return value;
}

/// Set while declaration_of() runs a subcommand for its declaration alone.
thread_local Declaration* wanted_declaration = nullptr;

std::string first_name(const std::string& names) { return names.substr(0, names.find(',')); }

}  // namespace

std::optional<std::string> nearest(std::string_view name, const std::vector<std::string>& known) {
  std::optional<std::string> best;
  size_t least = std::max<size_t>(2, name.size() / 3) + 1;
  for (const std::string& candidate : known) {
    size_t distance = edit_distance(folded(name), folded(candidate));
    if (name.size() > 3 && candidate.starts_with(name)) distance = 1;
    if (distance >= least) continue;
    least = distance;
    best = candidate;
  }
  return best;
}

struct Arguments::App {
  CLI::App app;
  std::vector<std::string> names;  ///< every long name, with its dashes
  std::vector<std::string> flags;  ///< the long names that take no value
  std::vector<std::pair<std::string, std::string>> replaced;
  std::vector<CLI::Option*> hidden;
  bool advanced = false;
  std::string example;

  CLI::Option* add(const std::string& option_names, const std::string& value,
                   const std::function<void(const std::string&)>& take, const std::string& help) {
    note(option_names);
    CLI::Option* option = app.add_option_function<std::string>(option_names, take, help)
                              ->take_last()
                              ->type_name(value);
    if (advanced) hidden.push_back(option);
    return option;
  }
  void add_flag(const std::string& option_names, bool& target, const std::string& help) {
    const size_t before = names.size();
    note(option_names);
    flags.insert(flags.end(), names.begin() + static_cast<ptrdiff_t>(before), names.end());
    CLI::Option* option = app.add_flag(option_names, target, help);
    if (advanced) hidden.push_back(option);
  }
  void hide(bool all) {
    for (CLI::Option* option : hidden) option->group(all ? "More" : "");
  }
  void note(const std::string& option_names) {
    for (std::string& name : CLI::detail::split(option_names, ',')) {
      if (name.starts_with("--")) names.push_back(std::move(name));
    }
  }
};

Arguments::Arguments(std::string command, std::string summary)
    : command_(std::move(command)), app_(std::make_unique<App>()) {
  app_->app.name("hone " + command_);
  app_->app.description(std::move(summary));
  app_->app.set_help_flag("-h,--help", "this help");
  app_->app.get_formatter()->column_width(30);
  app_->note("--help");
}

Arguments::~Arguments() = default;

void Arguments::text(const std::string& names, const std::string& value, std::string& target,
                     const std::string& help) {
  app_->add(
      names, value, [&target](const std::string& given) { target = given; }, help);
}

void Arguments::texts(const std::string& names, const std::string& value,
                      std::vector<std::string>& target, const std::string& help) {
  app_->note(names);
  CLI::Option* option =
      app_->app
          .add_option_function<std::vector<std::string>>(
              names, [&target](const std::vector<std::string>& given) { target = given; }, help)
          ->expected(1)
          ->take_all()
          ->type_name(value);
  if (app_->advanced) app_->hidden.push_back(option);
}

void Arguments::lists(const std::string& names, const std::string& value,
                      std::vector<std::string>& target, const std::string& help) {
  texts(names, value, target, help);
  app_->app.get_option(first_name(names))->expected(1, CLI::detail::expected_max_vector_size);
}

void Arguments::integer(const std::string& names, int64_t low, int64_t high, int64_t& target,
                        const std::string& help) {
  const std::string name = first_name(names);
  app_->add(
      names, "N",
      [=, &target](const std::string& given) { target = whole_number(name, given, low, high); },
      help);
}

void Arguments::real(const std::string& names, double low, double high, double& target,
                     const std::string& help) {
  const std::string name = first_name(names);
  app_->add(
      names, "X",
      [=, &target](const std::string& given) { target = real_number(name, given, low, high); },
      help);
}

void Arguments::advanced() { app_->advanced = true; }

void Arguments::replaced(const std::string& name, const std::string& advice) {
  app_->replaced.emplace_back(name, advice);
}

void Arguments::flag(const std::string& names, bool& target, const std::string& help) {
  app_->add_flag(names, target, help);
}

void Arguments::positional(const std::string& name, std::string& target, const std::string& help) {
  app_->app.add_option(name, target, help)->type_name(" ");
}

void Arguments::example(const std::string& line) { app_->example = line; }

void Arguments::take_dtype(const std::string& dtype) {
  common_.dtype_given = true;
  if (dtype == "fp32" || dtype == "float32") {
    common_.dtype = DType::f32;
  } else if (dtype == "bf16" || dtype == "bfloat16") {
    common_.dtype = DType::bf16;
  } else if (dtype == "int8") {
    common_.dtype = DType::i8;
  } else if (dtype == "fp8" && !allow_fp16_) {
    common_.dtype = DType::f8;
  } else if (dtype == "fp16" || dtype == "float16") {
    common_.dtype = DType::f16;
  } else {
    fail(ErrorKind::usage, "--dtype: expected {}, got {}",
         allow_fp16_ ? "fp32, bf16, fp16 or int8" : "fp32, bf16, int8 or fp8", quote(dtype));
  }
}

void Arguments::declare_common() {
  app_->add(
      "--device", "NAME", [this](const std::string& name) { take_devices(name); },
      allow_devices_ ? "auto (default), cpu, cuda:N; a list: cuda:0,cuda:1"
                     : "auto (default), cpu, cuda or cuda:N");
  text("--tuning", "FILE", common_.tuning, "GPU: fastest products, found once and kept");
  app_->add(
      "--dtype", "TYPE", [this](const std::string& name) { take_dtype(name); },
      allow_fp16_ ? "fp32, bf16, fp16 or int8" : "fp32 (default), bf16, int8; GPU: fp8");
  app_->add(
      "--threads", "N",
      [this](const std::string& given) {
        common_.threads = static_cast<int>(whole_number("--threads", given, 1, kMostThreads));
      },
      "default: the cores this process may use");
  app_->add_flag("--json", common_.json, "results as JSON");
  app_->add_flag("--quiet", common_.quiet, "no progress, no warnings");
}

Declaration Arguments::declaration() const {
  Declaration all{app_->app.get_description(), app_->example, {}};
  for (const CLI::Option* option : app_->app.get_options()) {
    DeclaredOption declared{{}, option->get_type_name(), option->get_description()};
    for (const std::string& name : option->get_lnames()) declared.names.push_back("--" + name);
    for (const std::string& name : option->get_snames()) declared.names.push_back("-" + name);
    if (option->get_items_expected_max() == 0) declared.value.clear();
    if (declared.names.empty()) declared.value = option->get_name(true);
    declared.advanced =
        std::find(app_->hidden.begin(), app_->hidden.end(), option) != app_->hidden.end();
    all.options.push_back(std::move(declared));
  }
  if (!app_->hidden.empty()) all.options.push_back({{"--help-all"}, "", "every option"});
  return all;
}

Declaration declaration_of(int (*command)(const std::vector<std::string>& arguments)) {
  Declaration declaration;
  wanted_declaration = &declaration;
  try {
    command({});
  } catch (...) {
    wanted_declaration = nullptr;
    throw;
  }
  wanted_declaration = nullptr;
  return declaration;
}

void Arguments::take_devices(const std::string& names) {
  common_.device = names;
  if (!allow_devices_) {
    cuda_index(names);  // says what is wrong with it
    return;
  }
  for (const std::string& name : CLI::detail::split(names, ',')) cuda_index(name);
}

void Arguments::read_environment(std::string prefix, std::vector<std::string> plain) {
  environment_prefix_ = std::move(prefix);
  plain_variables_ = std::move(plain);
}

std::vector<std::string> Arguments::environment_words(const std::vector<std::string>& given) const {
  std::vector<std::string> words;
  if (environment_prefix_.empty()) return words;
  // An option with several names that is given under one of them takes no other's variable.
  std::vector<const CLI::Option*> taken;
  const auto take = [&](const std::string& name) {
    const CLI::Option* option = app_->app.get_option_no_throw(name);
    const bool first = std::find(taken.begin(), taken.end(), option) == taken.end();
    taken.push_back(option);
    return first;
  };
  for (const std::string& word : given) {
    for (const std::string& name : app_->names) {
      if (folded(word.substr(0, word.find('='))) == folded(name)) take(name);
    }
  }
  for (const std::string& name : app_->names) {
    if (name == "--help" || name == "--version") continue;
    const bool plain =
        std::find(plain_variables_.begin(), plain_variables_.end(), name) != plain_variables_.end();
    std::string variable = folded(name.substr(2));
    for (char& c : variable) c = c == '-' ? '_' : static_cast<char>(std::toupper(c));
    std::string value = variable_value(environment_prefix_ + "_" + variable);
    if (value.empty() && plain) value = variable_value(variable);
    if (!value.empty() && take(name)) words.push_back(name + "=" + value);
  }
  return words;
}

std::string Arguments::spelled(const std::string& argument) const {
  if (!argument.starts_with("--") || argument.size() == 2) return argument;
  const size_t equals = argument.find('=');
  const std::string name = argument.substr(0, equals);
  for (const std::string& known : app_->names) {
    if (folded(known) != folded(name)) continue;
    return equals == std::string::npos ? known : known + argument.substr(equals);
  }
  for (const auto& [old, advice] : app_->replaced) {
    if (folded(old) == folded(name)) {
      fail(ErrorKind::usage, "{}: {}: {}", command_, quote(name), advice);
    }
  }
  const auto near = nearest(name, app_->names);
  fail(ErrorKind::usage, "{}: unknown option {}{}", command_, quote(name),
       near ? "; did you mean " + *near + "?" : "; see hone " + command_ + " --help");
}

bool Arguments::is_switch_value(const std::string& option, const std::string& word) const {
  static const std::vector<std::string> kValues = {"True", "False", "true", "false"};
  return std::find(kValues.begin(), kValues.end(), word) != kValues.end() &&
         std::find(app_->flags.begin(), app_->flags.end(), option) != app_->flags.end();
}

bool Arguments::parse(const std::vector<std::string>& arguments, std::string& answer) {
  app_->advanced = false;
  if (with_common_) declare_common();
  app_->app.set_version_flag("--version", version_line(), "the version");
  app_->note("--version");
  if (wanted_declaration) {
    *wanted_declaration = declaration();
    answer.clear();
    return false;
  }
  std::vector<std::string> words;
  bool options = true;
  bool all = false;
  std::string asked;  // set where help or the version is asked for, even where a value is missing
  for (const std::string& argument : arguments) {
    options = options && argument != "--";
    if (options && !app_->hidden.empty() && folded(argument) == "--help-all") {
      all = true;
      asked = "--help";
    } else if (options && (argument == "--help" || argument == "-h" || argument == "--version")) {
      if (asked.empty()) asked = argument;
    } else if (options && !words.empty() && is_switch_value(words.back(), argument)) {
      words.back() += argument == "True" || argument == "true" ? "=true" : "=false";
    } else {
      words.push_back(options ? spelled(argument) : argument);
    }
  }
  const std::vector<std::string> from_environment = environment_words(words);
  words.insert(words.begin(), from_environment.begin(), from_environment.end());
  if (!asked.empty()) words = {asked};
  app_->hide(all);
  app_->app.footer("Example: " + app_->example);
  std::reverse(words.begin(), words.end());  // CLI11 takes them in reverse
  try {
    app_->app.parse(std::move(words));
    return true;
  } catch (const CLI::CallForHelp&) {
    answer = app_->app.help();
  } catch (const CLI::CallForVersion& version) {
    answer = std::string(version.what()) + "\n";
  } catch (const CLI::ExtrasError&) {
    fail(ErrorKind::usage, "{}: unexpected argument {}", command_,
         quote(app_->app.remaining().front()));
  } catch (const CLI::ArgumentMismatch& error) {
    const std::string_view text = error.what();  // begins with the option
    fail(ErrorKind::usage, "{}: {}: a value is missing", command_, text.substr(0, text.find(':')));
  } catch (const CLI::ParseError& error) {
    fail(ErrorKind::usage, "{}: {}", command_, error.what());
  }
  return false;
}

void require_model(const std::string& model) {
  if (model.empty()) {
    fail(ErrorKind::usage, "--model: missing; a model's folder, or its name in the local cache");
  }
}

}  // namespace hone::cli
