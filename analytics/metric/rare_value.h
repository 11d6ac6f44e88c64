// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <memory>
#include <utility>

namespace rocescope {

// A std::optional that is rarely set: an unset one takes only the space of a pointer.
template <typename T>
class RareValue {
 public:
  RareValue() = default;
  RareValue(RareValue&&) noexcept = default;
  RareValue& operator=(RareValue&&) noexcept = default;
  RareValue(const RareValue& other) : value_(other ? std::make_unique<T>(*other) : nullptr) {}
  RareValue& operator=(const RareValue& other) { return *this = RareValue(other); }
  ~RareValue() = default;

  RareValue& operator=(T value) {
    value_ = std::make_unique<T>(std::move(value));
    return *this;
  }
  void reset() { value_.reset(); }
  explicit operator bool() const { return value_ != nullptr; }
  T& operator*() { return *value_; }
  const T& operator*() const { return *value_; }
  T* operator->() { return value_.get(); }
  const T* operator->() const { return value_.get(); }

 private:
  std::unique_ptr<T> value_;
};

}  // namespace rocescope
