// SPDX-License-Identifier: BSD-3-Clause
// Filters and sort orders of lists, evaluated on protobuf messages. The syntax of filters is the
// subset of Google AIP-160 that service.proto describes, that of orders is AIP-132.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "appliance/daemon/service/service_error.h"

namespace google::protobuf {
class Descriptor;
class FieldDescriptor;
class Message;
}  // namespace google::protobuf

namespace rocescope {

inline constexpr size_t kLongestFilter = 4096;  // bytes
inline constexpr int kDeepestFilter = 32;       // nested parentheses and NOTs
inline constexpr size_t kMostConditions = 64;   // conditions of a filter
inline constexpr size_t kMostSortKeys = 8;

// Fields from a message to a value: `finding.place` has two.
using FieldPath = std::vector<const google::protobuf::FieldDescriptor*>;

// A condition on the fields of messages of one type. Immutable.
class ListFilter {
 public:
  struct Node;

  ListFilter();
  ~ListFilter();
  ListFilter(ListFilter&&) noexcept;
  ListFilter& operator=(ListFilter&&) noexcept;

  // The error describes the position and the accepted values. An empty text matches all messages.
  static ServiceResult<ListFilter> Parse(std::string_view text,
                                         const google::protobuf::Descriptor& type);

  bool Matches(const google::protobuf::Message& message) const;
  bool IsEmpty() const { return root_ == nullptr; }

 private:
  std::unique_ptr<const Node> root_;
};

// Sort keys for messages of one type. Immutable.
class ListOrder {
 public:
  // An empty text keeps the given order.
  static ServiceResult<ListOrder> Parse(std::string_view text,
                                        const google::protobuf::Descriptor& type);

  // Numbers, booleans (0 and 1), enumerators, and nanoseconds of timestamps and durations are
  // numbers. long double holds every 64-bit integer. nullopt: the field is unset.
  using SortValue = std::optional<std::variant<long double, std::string>>;
  struct Row {
    uint64_t index = 0;             // index of the message in the list
    std::vector<SortValue> values;  // one for each key
  };
  Row RowOf(uint64_t index, const google::protobuf::Message& message) const;
  // Sorts stably; unset values come first in ascending order.
  void Sort(std::vector<Row>& rows) const;
  bool IsEmpty() const { return keys_.empty(); }

 private:
  struct Key {
    FieldPath path;
    bool is_descending = false;
  };
  std::vector<Key> keys_;
};

}  // namespace rocescope
