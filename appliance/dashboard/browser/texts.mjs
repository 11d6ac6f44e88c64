// SPDX-License-Identifier: BSD-3-Clause
// Checks the text of a view.

const kRawValue =
  /\b(STATE|KIND|TIER|CAUSE|SOURCE|LAYER|REASON|IDENTITY|OBSTACLE)_[A-Z]\w*|\b(undefined|NaN|Invalid Date)\b/;

// The first value that is shown as the API or the program spells it. Undefined if there is none.
export async function findRawValue(page) {
  return kRawValue.exec(await page.locator("body").innerText())?.[0];
}
