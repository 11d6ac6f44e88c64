// SPDX-License-Identifier: BSD-3-Clause

const kQuietMs = 400;
const kTimeoutMs = 60_000;

// Waits until the page has a title and no part of the page has been loading for 0.4 s. A page that was asked for begins to load a little later,
// so that one look is not enough.
export async function settle(page) {
  await page.waitForFunction((quietMs) => {
    const now = performance.now();
    const isLoading = !document.querySelector("main h1") || document.querySelector('main .loading, main[aria-busy="true"]');
    if (isLoading || !window.quietSinceMs) window.quietSinceMs = now;
    const isQuiet = now - window.quietSinceMs >= quietMs;
    if (isQuiet) delete window.quietSinceMs;
    return isQuiet;
  }, kQuietMs, { timeout: kTimeoutMs, polling: 50 });
}
