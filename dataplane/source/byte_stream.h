// SPDX-License-Identifier: BSD-3-Clause
// Sequential byte input from a file, a pipe or a decompressor. All capture readers use it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "base/result.h"

namespace rocescope {

// Used by one thread. Reads from front to end; no seeking.
class ByteStream {
 public:
  virtual ~ByteStream() = default;

  // Blocks until at least one byte is available, and returns up to out.size() > 0 bytes. Returns 0
  // at the end. Must not be called again after an error or the end.
  virtual Result<size_t> Read(std::span<uint8_t> out) = 0;

  // After Read has returned 0: describes a defect at the end of the input although all bytes before
  // it are good, such as a truncated compressed file. Empty if there is none.
  virtual std::string EndNote() const { return {}; }

  // After Read has returned 0: whether the input goes on, but its reading was ended
  // (EndInputsWhenReadable). EndNote then says so, or describes the part that was read.
  virtual bool IsInterrupted() const { return false; }
};

// Allows the first bytes to be inspected before they are read, because standard input cannot seek.
class PeekStream final : public ByteStream {
 public:
  static constexpr size_t kMaxPeek = 32;

  explicit PeekStream(std::unique_ptr<ByteStream> inner) : inner_(std::move(inner)) {}

  // Returns the first `count` bytes, or fewer if the stream is shorter. Must be called before Read.
  Result<std::span<const uint8_t>> Peek(size_t count);

  Result<size_t> Read(std::span<uint8_t> out) override;
  std::string EndNote() const override { return inner_->EndNote(); }
  bool IsInterrupted() const override { return inner_->IsInterrupted(); }

 private:
  std::unique_ptr<ByteStream> inner_;
  std::array<uint8_t, kMaxPeek> head_;
  size_t head_begin_ = 0;
  size_t head_end_ = 0;
  bool ended_ = false;
};

// From now on, streams of OpenFileStream end when `descriptor` becomes readable: files immediately,
// pipes when no data has come for 250 ms and after one second at the latest. The setting applies to
// the whole process, like the signals that it serves; -1 disables it.
void EndInputsWhenReadable(int descriptor);

// Opens `path`, or standard input for "-". Errors name the path: not found, permission denied, a
// directory, a terminal.
Result<std::unique_ptr<ByteStream>> OpenFileStream(const std::string& path);

}  // namespace rocescope
