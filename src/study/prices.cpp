#include <charconv>

#include "base/error.h"
#include "base/file.h"
#include "study/money.h"

namespace hone::study {
namespace {

constexpr uint64_t kMostBytes = 1 << 20;

/// Cuts CSV into rows of cells, quoted as RFC 4180 has it; empty lines are no rows.
std::vector<std::vector<std::string>> rows_of(const std::string& text, const std::string& path) {
  std::vector<std::vector<std::string>> rows;
  std::vector<std::string> row(1);
  bool quoted = false;
  const auto end_row = [&] {
    if (row.size() > 1 || !row[0].empty()) rows.push_back(row);
    row.assign(1, "");
  };
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '"') {
      // Two quotes within quotes are one; the second one opens them again.
      if (!quoted && i > 0 && text[i - 1] == '"') row.back() += '"';
      quoted = !quoted;
    } else if (quoted || (c != ',' && c != '\n' && c != '\r')) {
      row.back() += c;
    } else if (c == ',') {
      row.emplace_back();
    } else if (c == '\n') {
      end_row();
    }
  }
  if (quoted) fail(ErrorKind::bad_file, "{}: a quote is not closed", path);
  end_row();
  return rows;
}

}  // namespace

const Price* find_price(const std::vector<Price>& prices, const std::string& device) {
  for (const Price& price : prices) {
    if (price.device == device) return &price;
  }
  return nullptr;
}

std::vector<Price> prices_of(const Json& list, const std::string& file) {
  if (!list.is_array() || list.empty()) {
    fail(ErrorKind::bad_file, "{}: expected a list of prices", file);
  }
  std::vector<Price> prices;
  for (const Json& each : list) {
    const std::string place = fmt::format("{}: price {}", file, prices.size() + 1);
    if (!each.is_object()) fail(ErrorKind::bad_file, "{}: is no object", place);
    const JsonFields fields(each, place);
    Price price{fields.string("device"), fields.number("per_hour"), fields.string("currency"),
                fields.string("date"), fields.string("source")};
    if (price.device.empty()) fields.fail_field("device", "is empty");
    if (!(price.per_hour >= 0)) fields.fail_field("per_hour", "expected at least 0");
    if (!prices.empty() && price.currency != prices.front().currency) {
      fields.fail_field("currency", "expected that of the other prices");
    }
    if (find_price(prices, price.device)) fields.fail_field("device", "has a price already");
    prices.push_back(std::move(price));
  }
  return prices;
}

std::vector<Price> read_prices(const std::string& path) {
  if (!path.ends_with(".csv"))
    return prices_of(parse_json(read_file(path, kMostBytes), path), path);
  Json list = Json::array();
  const std::vector<std::vector<std::string>> rows = rows_of(read_file(path, kMostBytes), path);
  if (rows.empty()) fail(ErrorKind::bad_file, "{}: expected a header", path);
  for (size_t row = 1; row < rows.size(); ++row) {
    Json price = Json::object();
    for (size_t i = 0; i < rows[0].size() && i < rows[row].size(); ++i) {
      price[rows[0][i]] = rows[row][i];
    }
    if (price.contains("per_hour")) {
      const auto text = price["per_hour"].get<std::string>();
      double value = 0;
      const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
      if (error != std::errc() || end != text.data() + text.size()) {
        fail(ErrorKind::bad_file, "{}: line {}: per_hour: expected a number, got {}", path, row + 1,
             quote(text));
      }
      price["per_hour"] = value;
    }
    list.push_back(std::move(price));
  }
  return prices_of(list, path);
}

}  // namespace hone::study
