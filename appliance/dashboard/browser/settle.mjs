// SPDX-License-Identifier: BSD-3-Clause

const kQuietMs = 400;
const kTimeoutMs = 60_000;

// Waits until the page has a title or a notice and has loaded nothing for 0.4 s. Loading starts shortly after navigation, so that a
// single check could pass too early.
export async function settle(page) {
  await page.waitForFunction((quietMs) => {
    const now = performance.now();
    const isLoading = !document.querySelector("main h1, main .notice") || document.querySelector('main .loading, main[aria-busy="true"]');
    if (isLoading || !window.quietSinceMs) window.quietSinceMs = now;
    const isQuiet = now - window.quietSinceMs >= quietMs;
    if (isQuiet) delete window.quietSinceMs;
    return isQuiet;
  }, kQuietMs, { timeout: kTimeoutMs, polling: 50 });
}
