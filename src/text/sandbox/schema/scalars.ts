import type { Json } from '../../canonical.ts';
import type { Hints } from '../hints.ts';
import { isNumberFit } from './check.ts';
import { textForPattern } from './pattern.ts';
import { lengthOf, numberOf } from './reading.ts';
import { Unmakeable } from './unmakeable.ts';
import type { Work } from './work.ts';

/** One value of each format; a second one where values must differ. */
const FORMATS: Readonly<Record<string, (variant: number) => string>> = {
  date: (variant) => `2024-05-${String(1 + (variant % 28)).padStart(2, '0')}`,
  'date-time': (variant) => `2024-05-17T09:30:${String(variant % 60).padStart(2, '0')}Z`,
  time: (variant) => `09:30:${String(variant % 60).padStart(2, '0')}Z`,
  duration: (variant) => `P${1 + variant}D`,
  email: (variant) => `sandbox${numbered(variant)}@example.com`,
  'idn-email': (variant) => `sandbox${numbered(variant)}@example.com`,
  uuid: (variant) => `3f2b8c1e-5d4a-4b7e-9c6d-${variant.toString(16).padStart(12, '0')}`,
  uri: (variant) => `https://example.com/${numbered(variant)}`,
  url: (variant) => `https://example.com/${numbered(variant)}`,
  iri: (variant) => `https://example.com/${numbered(variant)}`,
  'uri-reference': (variant) => `/sandbox${numbered(variant)}`,
  'iri-reference': (variant) => `/sandbox${numbered(variant)}`,
  'uri-template': (variant) => `https://example.com/{id}${numbered(variant)}`,
  hostname: (variant) => `sandbox${numbered(variant)}.example.com`,
  'idn-hostname': (variant) => `sandbox${numbered(variant)}.example.com`,
  ipv4: (variant) => `192.0.2.${1 + (variant % 254)}`,
  ipv6: (variant) => `2001:db8::${(1 + variant).toString(16)}`,
  'json-pointer': (variant) => `/sandbox${numbered(variant)}`,
  'relative-json-pointer': (variant) => `${variant}`,
  regex: (variant) => `^sandbox${numbered(variant)}$`,
};

/** A text longer than this is asked for by nobody who means well. */
const LONGEST = 100_000;

function numbered(variant: number): string {
  return variant === 0 ? '' : String(variant + 1);
}

/** @param name of the property that it is for; null where it is for none */
export interface ScalarPlace {
  readonly name: string | null;
  /** Values of different variants differ as far as the schema lets them. */
  readonly variant: number;
}

/** What values are made from. */
interface Means {
  readonly hints: Hints;
  readonly work: Work;
}

/** @throws Unmakeable */
export function makeText(
  schema: Json,
  { name, variant }: ScalarPlace,
  { hints, work }: Means,
): string {
  const least = Math.max(0, Math.ceil(numberOf(schema['minLength']) ?? 0));
  const most = Math.floor(numberOf(schema['maxLength']) ?? LONGEST);
  if (least > most || least > LONGEST) throw new Unmakeable(`no text is that long`);
  const fits = (text: string) => {
    const length = lengthOf(text, work);
    return length >= least && length <= most;
  };
  const { pattern, format } = schema;
  if (typeof pattern === 'string') return textForPattern(pattern, { least, most, variant }, work);
  const known = typeof format === 'string' && Object.hasOwn(FORMATS, format);
  if (known) {
    const text = FORMATS[format]!(variant);
    if (fits(text)) return text;
    throw new Unmakeable(`no ${format} of that length is known to the sandbox`);
  }
  const found = variant === 0 && name !== null ? hints.texts(name).find(fits) : undefined;
  if (found !== undefined) return found;
  const plain = `sandbox${name === null ? '' : ` ${name}`}${numbered(variant)}`;
  // What tells one variant from another comes first where the text has to be short.
  const text = lengthOf(plain, work) <= most ? plain : `${numbered(variant)}${plain}`;
  const padded = text.padEnd(least + text.length - lengthOf(text, work), '.');
  return lengthOf(padded, work) <= most ? padded : Array.from(padded).slice(0, most).join('');
}

/** @throws Unmakeable */
export function makeNumber(
  schema: Json,
  { name, variant }: ScalarPlace,
  { hints, work, whole }: Means & { readonly whole: boolean },
): number {
  const fits = (value: number) =>
    Number.isFinite(value) && isNumberFit(value, schema) && (!whole || Number.isInteger(value));
  const hint = variant === 0 && name !== null ? hints.numbers(name).find(fits) : undefined;
  if (hint !== undefined) return hint;
  const found: number[] = [];
  for (const candidate of candidates(schema, whole)) {
    work.spend(CANDIDATE);
    if (fits(candidate) && !found.includes(candidate)) found.push(candidate);
    if (found.length > variant) break;
  }
  const value = found[variant % Math.max(1, found.length)];
  if (value === undefined) throw new Unmakeable('no number is within the bounds');
  // Minus nothing is nothing to JSON.
  return value + 0;
}

/** Steps that a look at one number takes. */
const CANDIDATE = 5;

/** Numbers near the bounds, most of which fit, the plainest first. */
function* candidates(schema: Json, whole: boolean): Generator<number> {
  const from = bound(schema, 'minimum', 'exclusiveMinimum', Math.max);
  const to = bound(schema, 'maximum', 'exclusiveMaximum', Math.min);
  const multiple = numberOf(schema['multipleOf']);
  const step = multiple !== undefined && multiple > 0 ? multiple : whole ? 1 : undefined;
  const around = from ?? to ?? 1;
  const down = from === undefined && to !== undefined ? -1 : 1;
  if (step !== undefined) {
    const first = down > 0 ? Math.ceil(around / step) : Math.floor(around / step);
    for (let count = 0; count < 200; count += 1) {
      // Rounded, because 3 × 0.1 is not 0.3 in binary fractions.
      yield Number(((first + down * count) * step).toPrecision(15));
      yield (first + down * count) * step;
    }
    return;
  }
  const width = from !== undefined && to !== undefined ? to - from : 1;
  yield around;
  for (let part = 2; part < 100; part += 1) yield around + (down * width) / part;
  for (let count = 1; count < 100; count += 1) yield around + down * count;
  // Numbers so large that one more is no different.
  yield around + down * Math.abs(around) * 2 ** -50;
}

function bound(
  schema: Json,
  inclusive: string,
  exclusive: string,
  stricter: (...values: number[]) => number,
): number | undefined {
  const given = [numberOf(schema[inclusive]), numberOf(schema[exclusive])].filter(
    (value) => value !== undefined,
  );
  return given.length > 0 ? stricter(...given) : undefined;
}
