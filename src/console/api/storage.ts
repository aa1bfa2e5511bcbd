/**
 * Values that this tab keeps for a reload, or this browser in `localStorage`. A browser may deny storage, and its space
 * may be full.
 */
type Kind = 'sessionStorage' | 'localStorage';

/** Key of a text that another view has for the draft of Chat. */
export const CHAT_PROMPT = 'oriel.chat.prompt';

/** @returns null for none, and where the browser denies storage */
export function readKept<Value>(key: string, kind: Kind = 'sessionStorage'): Value | null {
  try {
    return JSON.parse(window[kind].getItem(key) ?? 'null') as Value | null;
  } catch {
    return null;
  }
}

/** Keeps the first of some values that there is space for. @returns whether one is kept */
export function keepFirst(
  key: string,
  values: readonly unknown[],
  kind: Kind = 'sessionStorage',
): boolean {
  return values.some((value) => {
    try {
      window[kind].setItem(key, JSON.stringify(value));
      return true;
    } catch {
      return false;
    }
  });
}
