import type { Json } from '../../canonical/canonical.ts';
import { lengthOf, numberOf } from './json-values.ts';
import { quoted } from './keywords.ts';
import type { PromptValues } from './prompt-values.ts';
import type { StepBudget } from './step-budget.ts';
import { UnsupportedSchema } from './step-budget.ts';
import { isNumberValid } from './validator.ts';

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

/** Steps that one candidate for a number takes. */
const CANDIDATE_STEPS = 5;

function twoDigits(number: number): string {
  return String(number).padStart(2, '0');
}

function suffix(variant: number): string {
  return variant === 0 ? '' : String(variant + 1);
}

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
  const fits = (text: string) => {
    const length = lengthOf(text, budget);
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
  const text = lengthOf(plain, budget) <= most ? plain : `${suffix(variant)}${plain}`;
  const padded = text.padEnd(least + text.length - lengthOf(text, budget), '.');
  return lengthOf(padded, budget) <= most ? padded : Array.from(padded).slice(0, most).join('');
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
  const found: number[] = [];
  for (const candidate of candidates(schema, isInteger)) {
    budget.spend(CANDIDATE_STEPS);
    if (fits(candidate) && !found.includes(candidate)) found.push(candidate);
    if (found.length > variant) break;
  }
  const value = found[variant % Math.max(1, found.length)];
  if (value === undefined) throw new UnsupportedSchema('no number is within the bounds');
  // Turns -0 into 0, as JSON.stringify does.
  return value + 0;
}

/** Numbers near the bounds, most of which are valid, the roundest first. */
function* candidates(schema: Json, isInteger: boolean): Generator<number> {
  const least = boundOf(schema, 'minimum', 'exclusiveMinimum', Math.max);
  const most = boundOf(schema, 'maximum', 'exclusiveMaximum', Math.min);
  const multiple = numberOf(schema['multipleOf']) ?? 0;
  const step = multiple > 0 ? multiple : isInteger ? 1 : null;
  const start = least ?? most ?? 1;
  const sign = least === undefined && most !== undefined ? -1 : 1;
  if (step !== null) {
    const first = sign > 0 ? Math.ceil(start / step) : Math.floor(start / step);
    for (let count = 0; count < 200; count += 1) {
      const value = (first + sign * count) * step;
      // 3 × 0.1 is 0.30000000000000004, which some validators take for no multiple of 0.1.
      yield Number(value.toPrecision(15));
      yield value;
    }
    return;
  }
  const width = least !== undefined && most !== undefined ? most - least : 1;
  yield start;
  for (let part = 2; part < 100; part += 1) yield start + (sign * width) / part;
  for (let count = 1; count < 100; count += 1) yield start + sign * count;
}

/** The stricter of an inclusive and an exclusive bound; undefined if the schema has neither. */
function boundOf(
  schema: Json,
  inclusive: string,
  exclusive: string,
  stricter: (...values: number[]) => number,
): number | undefined {
  const bounds = [numberOf(schema[inclusive]), numberOf(schema[exclusive])].filter(
    (value) => value !== undefined,
  );
  return bounds.length > 0 ? stricter(...bounds) : undefined;
}
