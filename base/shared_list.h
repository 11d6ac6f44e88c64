// SPDX-License-Identifier: BSD-3-Clause
// A constant list whose copies share the elements. For values that are copied often and have long
// lists.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <memory>
#include <utility>
#include <vector>

namespace rocescope {

template <typename T>
class SharedList {
 public:
  using value_type = T;
  using const_iterator = typename std::vector<T>::const_iterator;

  SharedList() = default;
  SharedList(std::initializer_list<T> elements) : SharedList(std::vector<T>(elements)) {}
  SharedList(std::vector<T> elements)  // NOLINT(google-explicit-constructor): the same value
      : elements_(elements.empty() ? nullptr
                                   : std::make_shared<const std::vector<T>>(std::move(elements))) {}

  const_iterator begin() const { return Elements().begin(); }
  const_iterator end() const { return Elements().end(); }
  size_t size() const { return Elements().size(); }
  bool empty() const { return elements_ == nullptr; }
  const T& operator[](size_t index) const { return Elements()[index]; }

  friend bool operator==(const SharedList& a, const SharedList& b) {
    return a.elements_ == b.elements_ || a.Elements() == b.Elements();
  }

 private:
  const std::vector<T>& Elements() const {
    static const std::vector<T> kNone;  // NOLINT(readability-identifier-naming): a constant
    return elements_ ? *elements_ : kNone;
  }

  std::shared_ptr<const std::vector<T>> elements_;  // null: empty
};

}  // namespace rocescope
