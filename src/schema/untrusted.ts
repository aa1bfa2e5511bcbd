/** An object as JSON.parse returns it. */
type Json = Readonly<Record<string, unknown>>;

const EMPTY: Json = {};

/** Whether untrusted JSON is an object, which is neither null nor a list. */
export function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export const objectOf = (value: unknown): Json => (isObject(value) ? value : EMPTY);

export const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

/** The objects in a list; none if the value is no list. */
export function objectsOf(value: unknown): readonly Json[] {
  return Array.isArray(value) ? value.filter(isObject) : [];
}

export const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');

/** The texts in a list that are not empty. */
export function textsOf(values: readonly unknown[]): readonly string[] {
  return values.filter((value) => typeof value === 'string' && value !== '') as string[];
}

/** A text that is not empty; null for any other value. */
export function nonEmptyTextOf(value: unknown): string | null {
  return typeof value === 'string' && value !== '' ? value : null;
}

/** A non-negative integer; null for any other value. */
export function countOf(value: unknown): number | null {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : null;
}
