import * as v from 'valibot';

const FACTORS = { B: 1, KB: 1000, KiB: 1024, MB: 1000 ** 2, MiB: 1024 ** 2 } as const;

const SIZE = /^(\d{1,9}(?:\.\d{1,3})?) ?(B|KB|KiB|MB|MiB)$/;

/** Parses `200KB` (1000 bytes each) or `200KiB` (1024) to whole bytes, rounded down; null for anything else. */
export function parseByteSize(text: string): number | null {
  const [, count, unit] = SIZE.exec(text.trim()) ?? [];
  if (count === undefined) return null;
  // Rounded first, because 1.1 × 1000 is not 1100 in binary fractions.
  const exact = Number((Number(count) * FACTORS[unit as keyof typeof FACTORS]).toPrecision(12));
  return exact >= 1 ? Math.floor(exact) : null;
}

/** A limit as text: `30 MiB` where it has whole ones, else `30 MB`. */
export function sizeText(bytes: number): string {
  const [factor, unit] = bytes % FACTORS.MiB === 0 ? [FACTORS.MiB, 'MiB'] : [FACTORS.MB, 'MB'];
  return `${Number((bytes / factor).toFixed(3))} ${unit}`;
}

/** A size with its unit, as it is written in options; parsed to bytes. */
export const byteSize = () =>
  v.pipe(
    v.string(),
    v.check((text) => parseByteSize(text) !== null),
    v.metadata({
      expects:
        'a size with its unit, B, KB (1000 bytes), KiB (1024 bytes), MB or MiB, such as 200KB',
    }),
    v.transform((text) => parseByteSize(text)!),
  );
