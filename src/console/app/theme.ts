export const THEMES = ['system', 'light', 'dark'] as const;
export type Theme = (typeof THEMES)[number];

const STORED = 'oriel-theme';

/** The theme that the reader chose in this browser. */
export function chosenTheme(): Theme {
  try {
    const stored = localStorage.getItem(STORED) as Theme | null;
    return stored !== null && THEMES.includes(stored) ? stored : 'system';
  } catch {
    // A browser may deny all storage.
    return 'system';
  }
}

/** Applies a theme, which style.css chooses its colours by. */
export function applyTheme(theme: Theme): void {
  const { dataset } = document.documentElement;
  if (theme === 'system') delete dataset['theme'];
  else dataset['theme'] = theme;
}

export function storeTheme(theme: Theme): void {
  applyTheme(theme);
  try {
    localStorage.setItem(STORED, theme);
  } catch {
    // The choice then lasts until the page is left.
  }
}
