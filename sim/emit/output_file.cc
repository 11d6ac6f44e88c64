// SPDX-License-Identifier: BSD-3-Clause
#include "sim/emit/output_file.h"

#include <utility>

namespace rocescope::sim {

Result<TextFile> TextFile::Open(const std::string& path) {
  Result<CheckedFile> file = CheckedFile::Open(path);
  if (!file) return tl::unexpected(file.error());
  return TextFile(std::move(*file));
}

void TextFile::Relieve() {
  constexpr size_t kMuch = size_t{256} << 10;
  if (text_.size() >= kMuch) Flush();
}

void TextFile::Flush() {
  file_.Write(std::string_view(text_));
  text_.clear();
}

Status TextFile::Close() {
  Flush();
  return file_.Close();
}

Status WriteFile(const std::string& path, std::string_view text) {
  Result<CheckedFile> file = CheckedFile::Open(path);
  if (!file) return tl::unexpected(file.error());
  file->Write(text);
  return file->Close();
}

}  // namespace rocescope::sim
