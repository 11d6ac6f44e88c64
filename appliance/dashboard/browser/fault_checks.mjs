// SPDX-License-Identifier: BSD-3-Clause
// Checks of the overview, the findings and the search on the fake appliance.

const kFinding = "#/findings/gray_loss~leaf0:Ethernet101-spine1:Ethernet0~leaf0:Ethernet101";
const kMaxShift = 0.02; // below 0.1 counts as good

const mainText = (page) => page.locator("main").innerText();

// Lists of checks, which can run at the same time.
export function faultChecks({ note, check, open, audit, checkWidth, shoot }, fakes) {
  const initial = { ...fakes.changing.state };

  async function openPage(hash, options = {}, fake = fakes.steady) {
    const page = await open(options);
    await page.goto(fake.url + hash);
    await page.waitForSelector("main h1");
    await page.waitForFunction(() => !document.querySelector("main .loading"), null, { timeout: 20_000 });
    return page;
  }

  // Runs `look` with another state of the appliance.
  async function withState(changes, hash, look) {
    const fake = Object.keys(changes).length > 0 ? fakes.changing : fakes.steady;
    Object.assign(fake.state, changes);
    const page = await openPage(hash, {}, fake);
    await look(page);
    if (fake === fakes.changing) Object.assign(fake.state, initial);
    await page.context().close();
  }

  async function lookAtSizes() {
    for (const [label, viewport, colorScheme] of [
      ["desk", { width: 1280, height: 800 }, "light"], ["dark", { width: 1280, height: 800 }, "dark"], ["phone", { width: 390, height: 844 }, "light"],
    ]) {
      for (const [name, hash] of [["overview", "#/"], ["findings", "#/findings"], ["finding", kFinding]]) {
        const where = `${label}: ${name}`;
        const page = await openPage(hash, { viewport, colorScheme });
        await page.waitForTimeout(500);
        const { below, shift } = await page.evaluate(() => ({
          below: document.documentElement.scrollHeight - window.innerHeight,
          shift: window.shift,
        }));
        await checkWidth(page, where);
        check(shift <= kMaxShift, `${where}: the layout shifts by ${shift.toFixed(3)}`);
        if (label === "desk" && name !== "findings") check(below <= 0, `${where}: must be scrolled by ${below} px`);
        await audit(page, where);
        await shoot(page, `${label}-${name}`, label === "phone");
        await page.context().close();
      }
    }
  }

  async function lookAtOverview() {
    await withState({}, "", async (page) => {
      check(page.url().endsWith("/") || page.url().endsWith("#/overview"), "overview: is not the first view");
      const text = await mainText(page);
      for (const expected of [
        "1 critical fault and 1 warning; 2 of 4 jobs affected.", "Silent packet loss, leaf0:Ethernet101-spine1:Ethernet0", "started 13 min ago",
        "drain the link", "pretrain-70b", "8 of 8 switches", "30 of 32 NICs", "resolved",
      ]) check(text.includes(expected), `overview: lacks "${expected}"`);
      const first = await page.locator(".active-findings li").first().innerText();
      check(first.includes("critical"), "overview: the first finding is not the worst");
      await page.locator(".active-findings a[data-item]").first().click();
      await page.waitForSelector(".finding-page");
      check(/#\/findings\/gray_loss~/.test(page.url()), "overview: the finding has no permalink");
      const permalink = page.url();
      await page.goto("about:blank");
      await page.goto(permalink);
      await page.waitForSelector(".finding-page");
      const finding = await mainText(page);
      for (const expected of ["Silent packet loss", "13 min ago", "pretrain-70b, finetune", "Recommended action", "10 412 900 frames"]) {
        check(finding.includes(expected), `finding: lacks "${expected}"`);
      }
      check((await page.locator('.finding-links a[href*="dependents=1"]').count()) === 1, "finding: has no link to the dependents");
    });
    await withState({ healthy: true }, "", async (page) => {
      const text = await mainText(page);
      check(text.includes("No faults found; 2 fault types are not detectable"), "overview: does not say how much no faults means");
      await audit(page, "healthy overview");
      await shoot(page, "healthy-overview", false);
    });
  }

  async function lookAtAge() {
    await withState({ dataAgeS: 45 }, "", async (page) => {
      const text = await page.locator("body").innerText();
      // At least 45 s; a slow browser takes longer.
      check(/No telemetry for ((4[5-9]|[5-9]\d|1[01]\d) s|[2-4] min( \d+ s)?): the current state of the fabric is unknown/.test(text), "old data: the overview does not say so");
      check(/Telemetry stopped ((4[5-9]|[5-9]\d|1[01]\d) s|[2-4] min( \d+ s)?) ago/.test(text), "old data: the header does not show the age of the data");
      check((await page.locator("main.old-data").count()) === 1, "old data: the view is not greyed");
      await audit(page, "old data");
      await shoot(page, "old-data", false);
    });
    await withState({ silent: false }, "", async (page) => {
      check((await page.locator("main.old-data").count()) === 0, "new data: the view is greyed");
      fakes.changing.state.silent = true; // the appliance stops responding
      await page.waitForSelector("main.old-data", { timeout: 20_000 }).catch(() => note("lost: the view is not greyed"));
      await page.setViewportSize({ width: 390, height: 844 });
      await checkWidth(page, "lost, phone");
    });
  }

  async function lookAtTimeline() {
    await withState({}, "#/findings?range=6h", async (page) => {
      check((await mainText(page)).includes("Link flaps, gpu-9:mlx5_0-leaf2:Ethernet2"), "timeline: lacks a fault of the last 6 h");
      await page.getByLabel("Time range").selectOption("15m");
      await page.waitForFunction(() => location.hash.includes("range=15m"));
      check(!(await mainText(page)).includes("Link flaps"), "timeline: shows a fault outside of the last 15 min");
      await page.getByLabel("Time range").selectOption("custom");
      await page.getByLabel("from (UTC)").fill("2020-01-01T00:00:01");
      await page.getByLabel("to (UTC)").fill("2019-01-01T00:00:01");
      await page.getByRole("button", { name: "Apply" }).click();
      check((await mainText(page)).includes("must be before its end"), "timeline: accepts a range that ends before it starts");
      await page.getByLabel("to (UTC)").fill("2020-01-02T00:00:01");
      await page.getByRole("button", { name: "Apply" }).click();
      await page.waitForFunction(() => location.hash.includes("start=2020"));
      await page.getByText("nothing changed in this time range").waitFor().catch(() => note("timeline: an empty range does not say so"));
    });
    await withState({ history: false }, "", async (page) => {
      const text = await mainText(page);
      check(text.includes("No history is configured"), "timeline: does not say that there is no history");
      check((await page.locator(".timeline li").count()) === 3, "timeline: lacks the current findings without a history");
    });
  }

  async function lookAtStaleLinks() {
    const kOld = "#/findings/flap~gpu-9:mlx5_0-leaf2:Ethernet2";
    await withState({}, kOld, async (page) => {
      check((await mainText(page)).includes("no longer current"), "past finding: is not shown from the history");
      check((await mainText(page)).includes("replace its cable"), "past finding: lacks its recommended action");
    });
    await withState({ history: false }, kOld, async (page) => {
      check(/No current finding has this ID[\s\S]*no history is configured/.test(await mainText(page)), "stale link: gives no reason");
      check((await page.getByRole("link", { name: /Current findings/ }).count()) === 1, "stale link: has no link to the current findings");
      await audit(page, "stale link");
    });
    for (const hash of ["#/findings/nonsense", "#/findings/gray_loss~~~", "#/findings/%E0%A4"]) {
      await withState({}, hash, async (page) => {
        check((await page.getByRole("link", { name: /Current findings/ }).count()) === 1, `${hash}: has no link to the current findings`);
      });
    }
  }

  async function lookAtFilter() {
    await withState({}, "#/findings", async (page) => {
      const rows = page.getByRole("region", { name: "Findings, the worst first" }).locator("tbody tr");
      check((await rows.count()) === 4, "findings: the list is incomplete");
      await page.getByRole("combobox", { name: "severity" }).selectOption("critical");
      check((await rows.count()) === 2, "filter: severity does not filter");
      await page.locator(".filter input").fill("gpu-9");
      await page.waitForFunction(() => location.hash.includes("text=gpu-9"));
      check((await rows.count()) === 1, "filter: text does not filter");
      await page.locator(".filter input").fill("nothing like this");
      check((await mainText(page)).includes("No finding matches the filter."), "filter: an empty result does not say so");
      await page.getByRole("button", { name: "Clear" }).click();
      check((await rows.count()) === 4, "filter: cannot be cleared");
    });
  }

  async function lookAtSearch() {
    await withState({}, "#/jobs/slurm-4711", async (page) => {
      const result = page.locator("#search-results li");
      const find = async (query, kind, hash) => {
        await page.keyboard.press("/");
        await page.getByRole("combobox", { name: "Search all names" }).fill(query);
        const first = await result.first().innerText();
        check(first.startsWith(kind), `search: the first result of "${query}" is "${first}", not a ${kind}`);
        if (query === "gpu-1") await audit(page, "search");
        if (query === "gpu-1") await shoot(page, "search", false);
        await page.keyboard.press("Enter");
        await page.waitForFunction((wanted) => location.hash.startsWith(wanted), hash).catch(() => note(`search: "${query}" does not open ${hash}`));
        check((await page.locator("dialog[open]").count()) === 0, "search: stays open");
      };
      await find("6656", "QP", "#/jobs/slurm-4711");
      await find("gpu-1", "host", "#/fabric?at=gpu-1");
      await find("10.1.0.9", "address", "#/fabric?at=gpu-9%3Amlx5_1");
      await find("gpu-3:gpu:1", "GPU", "#/fabric?at=gpu-3%3Agpu%3A1");
      await find("leaf1:Ethernet101", "port", "#/fabric?at=leaf1%3AEthernet101");
      await find("silent", "finding", "#/findings/gray_loss");
      await find("finetune", "job", "#/jobs/slurm-4712");
      await find("sources", "view", "#/sources");
      await page.keyboard.press("/");
      await page.keyboard.type("no such name");
      check((await page.locator("dialog[open]").innerText()).includes("No name contains"), "search: an empty result does not say so");
      await page.keyboard.press("Escape");
      check((await page.locator("dialog[open]").count()) === 0, "search: Escape does not close it");
      await page.keyboard.press("/");
      await page.keyboard.type("leaf");
      await page.keyboard.press("ArrowDown");
      check((await page.locator('#search-results [aria-selected="true"]').innerText()).includes("leaf1"), "search: the arrow keys do not move");
    });
  }

  const changing = [lookAtOverview, lookAtAge, lookAtTimeline, lookAtStaleLinks];
  return [
    changing.map((look) => async function changed() {
      await look().finally(() => Object.assign(fakes.changing.state, initial));
    }),
    [lookAtSizes],
    [lookAtFilter, lookAtSearch],
  ];
}
