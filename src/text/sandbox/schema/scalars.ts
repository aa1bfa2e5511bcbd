import type { Json } from '../../canonical/canonical.ts';
import { numberOf, quoted } from './keywords.ts';
import type { PromptValues } from './prompt-values.ts';
import { type StepBudget, UnsupportedSchema } from './step-budget.ts';

/** A text of each format that differs from variant to variant. Texts of other formats are plain. */
const FORMATS: Readonly<Record<string, (variant: number) => string>> = {
  date: (variant) => `2024-05-${twoDigits(1 + (variant % 28))}`,
  'date-time': (variant) => `2024-05-17T09:30:${twoDigits(variant % 60)}Z`,
  time: (variant) => `09:30:${twoDigits(variant % 60)}Z`,
  duration: (variant) => `P${1 + variant}D`,
  email: (variant) => `sandbox${suffix(variant)}@example.com`,
  hostname: (variant) => `sandbox${suffix(variant)}.example.com`,
  ipv4: (variant) => `192.0.2.${1 + (variant % 254)}`,
  ipv6: (variant) => `2001:db8::${(1 + variant).toString(16)}`,
  uri: (variant) => `https://example.com/${suffix(variant)}`,
  url: (variant) => `https://example.com/${suffix(variant)}`,
  uuid: (variant) => `3f2b8c1e-5d4a-4b7e-9c6d-${variant.toString(16).padStart(12, '0')}`,
};

/** Characters of the longest text that the sandbox generates. */
const MAX_LENGTH = 100_000;

/** Numbers that are tried, and the steps that one takes. */
const MAX_CANDIDATES = 200;
const CANDIDATE_STEPS = 0.5;

const twoDigits = (number: number): string => String(number).padStart(2, '0');

const suffix = (variant: number): string => (variant === 0 ? '' : String(variant + 1));

/** Position and sources of a scalar. */
interface ScalarContext {
  /** Name of the property that holds the value; null outside of objects. */
  readonly name: string | null;
  /** Number of the value among values that should differ, such as unique items. */
  readonly variant: number;
  readonly promptValues: PromptValues;
  readonly budget: StepBudget;
}

/** @throws UnsupportedSchema */
export function generateText(
  schema: Json,
  { name, variant, promptValues, budget }: ScalarContext,
): string {
  const least = Math.max(0, Math.ceil(numberOf(schema['minLength']) ?? 0));
  const most = Math.floor(numberOf(schema['maxLength']) ?? MAX_LENGTH);
  if (least > most || least > MAX_LENGTH) throw new UnsupportedSchema('no text is that long');
  budget.spend(least / 4);
  const fits = (text: string) => {
    budget.spend(text.length / 4);
    const length = lengthOf(text);
    return length >= least && length <= most;
  };
  const { pattern, format } = schema;
  if (typeof format === 'string' && Object.hasOwn(FORMATS, format)) {
    // Zod and others write a `pattern` of their own beside each format, which these texts match.
    const text = FORMATS[format]!(variant);
    if (fits(text)) return text;
    throw new UnsupportedSchema(`no ${format} of that length is known to the sandbox`);
  }
  if (typeof pattern === 'string') {
    throw new UnsupportedSchema(
      `the sandbox generates no text for the pattern ${quoted(pattern)}: add an enum or a default`,
    );
  }
  const fromPrompt =
    variant === 0 && name !== null ? promptValues.texts(name).find(fits) : undefined;
  if (fromPrompt !== undefined) return fromPrompt;
  const plain = `sandbox${name === null ? '' : ` ${name}`}${suffix(variant)}`;
  // A short text begins with the number of the variant, so that truncation keeps it.
  budget.spend(plain.length / 4);
  const characters = Array.from(lengthOf(plain) <= most ? plain : suffix(variant) + plain);
  while (characters.length < least) characters.push('.');
  return characters.slice(0, most).join('');
}

/** @throws UnsupportedSchema */
export function generateNumber(
  schema: Json,
  { name, variant, promptValues, budget }: ScalarContext,
  isInteger: boolean,
): number {
  const fits = (value: number) =>
    Number.isFinite(value) &&
    isNumberValid(value, schema) &&
    (!isInteger || Number.isInteger(value));
  const fromPrompt =
    variant === 0 && name !== null ? promptValues.numbers(name).find(fits) : undefined;
  if (fromPrompt !== undefined) return fromPrompt;
  budget.spend(CANDIDATE_STEPS * MAX_CANDIDATES);
  const found = [...new Set(candidates(schema, isInteger).filter(fits))];
  const value = found[variant % Math.max(1, found.length)];
  if (value === undefined) throw new UnsupportedSchema('no number is within the bounds');
  // Turns -0 into 0, as JSON.stringify does.
  return value + 0;
}

/** Numbers near the bounds, most of which are valid, the roundest first. */
function candidates(schema: Json, isInteger: boolean): number[] {
  const bounds = (...names: string[]) =>
    names.map((name) => numberOf(schema[name])).filter((bound) => bound !== undefined);
  const lower = bounds('minimum', 'exclusiveMinimum');
  const upper = bounds('maximum', 'exclusiveMaximum');
  const least = lower.length > 0 ? Math.max(...lower) : undefined;
  const most = upper.length > 0 ? Math.min(...upper) : undefined;
  const start = least ?? most ?? 1;
  const sign = least === undefined && most !== undefined ? -1 : 1;
  const multiple = numberOf(schema['multipleOf']) ?? 0;
  const width = least !== undefined && most !== undefined ? most - least : MAX_CANDIDATES;
  const counts = Array.from({ length: MAX_CANDIDATES }, (_, count) => sign * count);
  if (multiple <= 0 && !isInteger) {
    const further = counts.map((count) => start + (count * width) / MAX_CANDIDATES);
    return [start, start + (sign * width) / 2, ...further];
  }
  const step = multiple > 0 ? multiple : 1;
  const first = sign > 0 ? Math.ceil(start / step) : Math.floor(start / step);
  return counts.flatMap((count) => {
    const value = (first + count) * step;
    // 3 × 0.1 is 0.30000000000000004, which some validators take for no multiple of 0.1.
    return [Number(value.toPrecision(15)), value];
  });
}

/** Whether a number satisfies the bounds and the `multipleOf` of a schema. */
export function isNumberValid(value: number, schema: Json): boolean {
  const { minimum, maximum, exclusiveMinimum, exclusiveMaximum } = schema;
  // In draft 4 the exclusive bounds are booleans.
  const above = exclusiveMinimum === true ? minimum : exclusiveMinimum;
  const below = exclusiveMaximum === true ? maximum : exclusiveMaximum;
  const step = numberOf(schema['multipleOf']);
  return (
    value >= (numberOf(minimum) ?? -Infinity) &&
    value <= (numberOf(maximum) ?? Infinity) &&
    value > (numberOf(above) ?? -Infinity) &&
    value < (numberOf(below) ?? Infinity) &&
    (step === undefined || step <= 0 || Number.isInteger(value / step))
  );
}

/** The length of a text as JSON Schema counts it: in code points. */
export function lengthOf(text: string): number {
  let length = 0;
  for (const _ of text) length += 1;
  return length;
}
