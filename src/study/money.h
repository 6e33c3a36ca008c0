#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "report/records.h"
#include "report/report.h"

/// What runs cost: seconds and nodes that were really used, by a user's prices.
namespace hone::study {

struct Price {
  std::string device;
  double per_hour = 0;
  std::string currency, date, source;
};

/// Reads a list of {"device", "per_hour", "currency", "date", "source"}, or a CSV file with these
/// columns. Prices in several currencies are an error: their sums could not be compared.
std::vector<Price> read_prices(const std::string& path);
std::vector<Price> prices_of(const Json& list, const std::string& file);

/// Gives the price of a device; null where it has none.
const Price* find_price(const std::vector<Price>& prices, const std::string& device);

/// A way to do the work.
struct Choice {
  std::string name;
  std::map<std::string, int64_t> nodes = {};  ///< by device
  double seconds = 0;
  std::optional<double> published_total = {};
};

/// Gives the choices of {"choice", "nodes": {DEVICE: N}, "seconds", "published_total"}.
std::vector<Choice> choices_of(const Json& list, const std::string& file);
/// Gives the choices that measured runs are: cases with a time, their nodes (1 where the case does
/// not say) and the machine's device, which must have a price.
std::vector<Choice> choices_of(const std::vector<report::StudyRuns>& studies,
                               const std::vector<Price>& prices);

/// Gives hours times nodes times price. A device without a price is a usage error.
double total_of(const Choice& choice, const std::vector<Price>& prices);
/// Says what is wrong with a published total: that it bills fewer nodes than were used; empty where
/// nothing is.
std::string fault_of(const Choice& choice, double total);

/// Names the best choices, as indices; -1: none. A deadline asks for the cheapest that keeps it.
struct BestChoices {
  int64_t cheapest = -1, fastest = -1, by_deadline = -1;
};
BestChoices best_of(const std::vector<Choice>& choices, const std::vector<Price>& prices,
                    double deadline);

/// Gives the price table, the table of totals, and which choice is best. `deadline` in seconds; 0:
/// none.
report::Section money_section(const std::vector<Choice>& choices, const std::vector<Price>& prices,
                              double deadline);

}  // namespace hone::study
