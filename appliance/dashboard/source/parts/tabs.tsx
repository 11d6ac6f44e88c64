// SPDX-License-Identifier: BSD-3-Clause
// Tabs as links, so that each has a URL and the browser's history contains them.

export interface Tab {
  name: string; // in the URL; empty: the first tab
  title: string;
}

interface Props {
  label: string;
  tabs: readonly Tab[];
  current: string;
  hrefOf: (tab: string) => string;
}

export function Tabs({ label, tabs, current, hrefOf }: Props) {
  return (
    <nav class="tabs" aria-label={label}>
      {tabs.map(({ name, title }) => (
        <a key={name} href={hrefOf(name)} aria-current={name === current ? "page" : undefined}>{title}</a>
      ))}
    </nav>
  );
}
