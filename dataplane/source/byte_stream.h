// SPDX-License-Identifier: BSD-3-Clause
// Bytes in order, from a file, a pipe or a decompressor: what every capture reader reads from.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "base/result.h"

namespace rocescope {

// One thread reads, from front to end; nothing can be read twice.
class ByteStream {
 public:
  virtual ~ByteStream() = default;

  // Waits for at least one octet and delivers what is there, at most out.size() > 0 octets; 0 at
  // the end. After an error or the end, do not call again.
  virtual Result<size_t> Read(std::span<uint8_t> out) = 0;

  // Once Read has returned 0: what was wrong with the end although all octets before it are good,
  // such as a compressed file that was cut; empty if nothing was.
  virtual std::string EndNote() const { return {}; }
};

// Lets the first octets be looked at before somebody reads them: standard input cannot seek back.
class PeekStream final : public ByteStream {
 public:
  static constexpr size_t kMaxPeek = 32;

  explicit PeekStream(std::unique_ptr<ByteStream> inner) : inner_(std::move(inner)) {}

  // The first `count` octets, fewer only if the stream ends before. Before any Read.
  Result<std::span<const uint8_t>> Peek(size_t count);

  Result<size_t> Read(std::span<uint8_t> out) override;
  std::string EndNote() const override { return inner_->EndNote(); }

 private:
  std::unique_ptr<ByteStream> inner_;
  std::array<uint8_t, kMaxPeek> head_;
  size_t head_begin_ = 0;
  size_t head_end_ = 0;
  bool ended_ = false;
};

// From now on, the streams of OpenFileStream end as soon as `descriptor` is readable: files at
// once, pipes when nothing has come for 250 ms, after a second at the latest. Of the whole process,
// as the signals are that it serves; -1 turns it off.
void EndInputsWhenReadable(int descriptor);

// `path`, or standard input for "-". Errors name the path: missing, no permission, a directory, a
// terminal.
Result<std::unique_ptr<ByteStream>> OpenFileStream(const std::string& path);

}  // namespace rocescope
