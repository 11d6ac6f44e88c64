// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/daemon/service/list_order.h"

#include <fmt/format.h>
#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <utility>

namespace rocescope {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::Message;

constexpr std::string_view kBlanks = " \t\r\n";

tl::unexpected<ServiceError> InvalidOrder(const std::string& why) {
  return RefuseFields({"order_by"}, why);
}

std::string_view Trimmed(std::string_view text) {
  const size_t first = text.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlanks) + 1 - first);
}

}  // namespace

ServiceResult<ListOrder> ListOrder::Parse(std::string_view text, const Descriptor& type) {
  ListOrder order;
  if (text.size() > kLongestOrder) {
    return InvalidOrder(fmt::format("longer than {} bytes", kLongestOrder));
  }
  if (Trimmed(text).empty()) return order;
  for (std::optional<std::string_view> rest = text; rest;) {
    const size_t comma = rest->find(',');
    std::string_view name = Trimmed(rest->substr(0, comma));
    if (name.empty()) return InvalidOrder("expected a field before and after each comma");
    rest = comma == std::string_view::npos ? std::nullopt : std::optional(rest->substr(comma + 1));
    const size_t blank = name.find_first_of(kBlanks);
    const std::string_view direction =
        blank == std::string_view::npos ? std::string_view() : Trimmed(name.substr(blank));
    name = name.substr(0, blank);
    if (!direction.empty() && direction != "asc" && direction != "desc") {
      return InvalidOrder(
          fmt::format("expected \"asc\" or \"desc\" after {}, found \"{}\"", name, direction));
    }
    auto path = ResolvePath(name, type, "order_by");
    if (!path) return tl::unexpected(path.error());
    const bool is_single =
        std::ranges::none_of(*path, [](const auto* field) { return field->is_repeated(); });
    if (!is_single || !IsValue(*path->back())) {
      return InvalidOrder(fmt::format("cannot sort by {}: it is not a single value", name));
    }
    if (std::ranges::any_of(order.keys_, [&](const Key& key) { return key.path == *path; })) {
      return InvalidOrder(fmt::format("the field {} occurs twice", name));
    }
    if (order.keys_.size() == kMostSortKeys) {
      return InvalidOrder(fmt::format("expected at most {} fields", kMostSortKeys));
    }
    order.keys_.push_back({.path = *std::move(path), .is_descending = direction == "desc"});
  }
  return order;
}

ListOrder::Row ListOrder::RowOf(uint64_t index, const Message& message) const {
  Row row = {.index = index};
  for (const Key& key : keys_) {
    SortValue sort_value;  // empty: the field is not set
    AnyValue(message, key.path, [&](const FieldValue& value) {
      // NaN would make the order undefined.
      const auto* const number = std::get_if<long double>(&value);
      if (number == nullptr || !std::isnan(*number)) sort_value = value;
      return true;
    });
    row.values.push_back(std::move(sort_value));
  }
  return row;
}

void ListOrder::Sort(std::vector<Row>& rows) const {
  if (keys_.empty()) return;
  std::ranges::stable_sort(rows, [this](const Row& a, const Row& b) {
    for (size_t i = 0; i < keys_.size(); ++i) {
      if (a.values[i] == b.values[i]) continue;
      return keys_[i].is_descending ? b.values[i] < a.values[i] : a.values[i] < b.values[i];
    }
    return false;
  });
}

}  // namespace rocescope
