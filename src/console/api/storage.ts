/** Values that this tab keeps for a reload. A browser may deny storage, and its space may be full. */

/** @returns null for none, and where the browser denies storage */
export function readKept<Value>(key: string): Value | null {
  try {
    return JSON.parse(sessionStorage.getItem(key) ?? 'null') as Value | null;
  } catch {
    return null;
  }
}

/** Keeps the first of some values that there is space for. @returns whether one is kept */
export function keepFirst(key: string, values: readonly unknown[]): boolean {
  return values.some((value) => {
    try {
      sessionStorage.setItem(key, JSON.stringify(value));
      return true;
    } catch {
      return false;
    }
  });
}
