import { isObject } from '../../../schema/untrusted.ts';
import type { Json } from '../../canonical/canonical.ts';
import type { StepBudget } from './step-budget.ts';

/** An own property: clients send names such as `__proto__`. */
export function own(value: Json, key: string): unknown {
  return Object.hasOwn(value, key) ? value[key] : undefined;
}

export function numberOf(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isFinite(value) ? value : undefined;
}

/** The length of a text as JSON Schema counts it: in code points. */
export function lengthOf(text: string, budget: StepBudget): number {
  budget.spend(text.length / 4);
  let length = 0;
  for (const _ of text) length += 1;
  return length;
}

/** Serializes a JSON value with sorted keys, so that equal values have equal texts. */
export function canonicalText(value: unknown, budget: StepBudget): string {
  if (Array.isArray(value)) {
    budget.spend(1 + value.length);
    return `[${value.map((item) => canonicalText(item, budget)).join()}]`;
  }
  if (isObject(value)) {
    const keys = Object.keys(value).sort();
    budget.spend(1 + 4 * keys.length);
    const properties = keys.map(
      (key) => `${JSON.stringify(key)}:${canonicalText(value[key], budget)}`,
    );
    return `{${properties.join()}}`;
  }
  budget.spend(1 + (typeof value === 'string' ? value.length / 16 : 0));
  // JSON.stringify returns undefined for undefined.
  return JSON.stringify(value) ?? 'undefined';
}

/** Whether two JSON values are equal, regardless of the order of properties. */
export function isEqual(a: unknown, b: unknown, budget: StepBudget): boolean {
  if (typeof a === 'string' && typeof b === 'string') {
    budget.spend(1 + Math.min(a.length, b.length) / 64);
    return a === b;
  }
  budget.spend(1);
  if (a === b) return true;
  if (Array.isArray(a) && Array.isArray(b)) {
    return a.length === b.length && a.every((item, index) => isEqual(item, b[index], budget));
  }
  if (!isObject(a) || !isObject(b)) return false;
  const keys = keysOf(a, budget);
  return (
    keys.length === keysOf(b, budget).length &&
    keys.every((key) => Object.hasOwn(b, key) && isEqual(a[key], b[key], budget))
  );
}

export function keysOf(value: Json, budget: StepBudget): string[] {
  const keys = Object.keys(value);
  budget.spend(1 + keys.length);
  return keys;
}
