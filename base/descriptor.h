// SPDX-License-Identifier: BSD-3-Clause
// Owns a file descriptor, and closes it on destruction.
#pragma once

#include <unistd.h>

#include <utility>

namespace rocescope {

class Descriptor {
 public:
  // The result of open and similar calls; negative: none.
  explicit Descriptor(long number) : number_(static_cast<int>(number)) {}
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&&) = delete;
  ~Descriptor() {
    if (number_ >= 0) close(number_);
  }
  int number() const { return number_; }

 private:
  int number_;
};

}  // namespace rocescope
