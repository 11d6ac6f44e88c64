// SPDX-License-Identifier: BSD-3-Clause
// The light or dark theme: the system setting unless the user selects one.
import { useEffect, useState } from "preact/hooks";

export type Theme = "light" | "dark";

const kKey = "rocescope-theme";

function stored(): Theme | undefined {
  try {
    const value = localStorage.getItem(kKey);
    return value === "light" || value === "dark" ? value : undefined;
  } catch {
    return undefined; // storage may be unavailable for local files
  }
}

export function useTheme(): [Theme, () => void] {
  const query = window.matchMedia("(prefers-color-scheme: dark)");
  const [chosen, setChosen] = useState(stored);
  const [system, setSystem] = useState<Theme>(query.matches ? "dark" : "light");
  useEffect(() => {
    const changed = () => setSystem(query.matches ? "dark" : "light");
    query.addEventListener("change", changed);
    return () => query.removeEventListener("change", changed);
  }, []);
  const theme = chosen ?? system;
  document.documentElement.dataset["theme"] = theme;
  const toggle = () => {
    const next = theme === "dark" ? "light" : "dark";
    setChosen(next);
    try {
      localStorage.setItem(kKey, next);
    } catch {
      // The selection then lasts until the page is closed.
    }
  };
  return [theme, toggle];
}
