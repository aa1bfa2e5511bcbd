import * as v from 'valibot';
import { valueOr } from '../../flow.ts';
import { parseCredits } from '../../store/credits.ts';

const MILLISECONDS = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;
const BYTES = {
  ...{ B: 1, KB: 1e3, MB: 1e6, GB: 1e9, TB: 1e12 },
  ...{ KiB: 2 ** 10, MiB: 2 ** 20, GiB: 2 ** 30, TiB: 2 ** 40 },
} as const;

const DURATION = /^(\d{1,12}(?:\.\d{1,6})?)(ms|s|m|h|d)$/;
const SIZE = /^(\d{1,15}(?:\.\d{1,6})?)(B|[KMGT]i?B)$/;

/** The longest timeout of timers, 2^31-1 ms, is just under 25 days. */
const LONGEST_TIMER = '24d';

function read(
  text: string,
  pattern: RegExp,
  factors: Readonly<Record<string, number>>,
): number | null {
  const [, count, unit] = pattern.exec(text) ?? [];
  if (count === undefined || unit === undefined) return null;
  // Rounded before the check, because 1.1 × 1000 is not 1100 in binary fractions.
  const value = Number((Number(count) * factors[unit]!).toPrecision(15));
  return Number.isSafeInteger(value) ? value : null;
}

/** Parses `250ms`, `30s`, `1.5h`, `7d` to milliseconds; null for anything else, such as bare numbers. */
export const parseDuration = (text: string): number | null => read(text, DURATION, MILLISECONDS);

/** Parses `512KB`, `64MB`, `2GB` to bytes, with powers of 1000, and `64MiB` with powers of 1024; null for anything else. */
export const parseSize = (text: string): number | null => read(text, SIZE, BYTES);

function quantity(
  parse: (text: string) => number | null,
  pattern: RegExp,
  noun: string,
  [minimum, maximum]: readonly [string, string],
) {
  const within = (text: string) => {
    const value = parse(text);
    return value !== null && value >= parse(minimum)! && value <= parse(maximum)!;
  };
  return v.pipe(
    v.string(),
    v.regex(pattern),
    v.check(within),
    v.metadata({ expects: `${noun} from ${minimum} to ${maximum}` }),
    v.transform((text) => parse(text)!),
  );
}

/** A duration with its unit; loaded as milliseconds. */
export const duration = (minimum: string, maximum: string = LONGEST_TIMER) =>
  quantity(parseDuration, DURATION, 'a duration with its unit (ms, s, m, h, d)', [
    minimum,
    maximum,
  ]);

/** A size with its unit; loaded as bytes. */
export const size = (minimum: string, maximum: string) =>
  quantity(parseSize, SIZE, 'a size with its unit (B, KB, MB, GB, TB)', [minimum, maximum]);

const isCredits = (value: number): boolean =>
  valueOr(() => parseCredits(String(value)), null) !== null;

/** Credits with decimals; loaded as whole micro-credits. */
export const credits = () =>
  v.pipe(
    v.number(),
    v.minValue(0),
    v.check(isCredits),
    v.metadata({ expects: 'credits from 0 to 1000000000 with at most six decimals' }),
    v.transform((value) => parseCredits(String(value))),
  );
