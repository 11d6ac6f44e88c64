// SPDX-License-Identifier: BSD-3-Clause
// Sort orders of lists (Google AIP-132), evaluated on protobuf messages.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "appliance/daemon/service/field_path.h"
#include "appliance/daemon/service/service_error.h"

namespace rocescope {

inline constexpr size_t kLongestOrder = 1024;  // bytes
inline constexpr size_t kMostSortKeys = 8;     // different fields

// Sort keys for messages of one type. Immutable.
class ListOrder {
 public:
  // An empty text keeps the given order.
  static ServiceResult<ListOrder> Parse(std::string_view text,
                                        const google::protobuf::Descriptor& type);

  using SortValue = std::optional<FieldValue>;  // nullopt: the field is unset
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
