import { formatNumber } from '../../components/format.ts';
import { labelOf } from './operations.ts';

type Data = Readonly<Record<string, unknown>>;

/** A colour of a palette. */
export interface Colour {
  readonly hex: string;
  /** Share of the pixels, from 0 to 1. */
  readonly proportion: number;
}

/** The colours of a palette; null for other reports. */
export function coloursOf({ colors }: Data): readonly Colour[] | null {
  return Array.isArray(colors) ? (colors as Colour[]) : null;
}

/** A colour as CSS writes it: `rgb(233 224 209)` for `#e9e0d1`. */
export function rgbOf(hex: string): string {
  const parts = hex.match(/[0-9a-f]{2}/gi) ?? [];
  return `rgb(${parts.map((part) => Number.parseInt(part, 16)).join(' ')})`;
}

export interface Fact {
  readonly label: string;
  readonly text: string;
  /** Whether it is a text that people copy rather than read: a hash, a title. */
  readonly isLong: boolean;
}

/** Characters from which on a text is copied rather than read. */
const LONG = 16;

/** Values of a report in lines; those of an object within it have its name before theirs. */
export function factsOf(data: Data, prefix = ''): readonly Fact[] {
  return Object.entries(data).flatMap(([name, value]): readonly Fact[] => {
    if (value === null || value === undefined) return [];
    const label = prefix === '' ? labelOf(name) : `${prefix}: ${labelOf(name)}`;
    if (typeof value === 'object' && !Array.isArray(value)) return factsOf(value as Data, label);
    return [
      { label, text: factText(value), isLong: typeof value === 'string' && value.length >= LONG },
    ];
  });
}

function factText(value: unknown): string {
  if (typeof value === 'string') return value;
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  if (typeof value === 'number') {
    return Number.isInteger(value) ? formatNumber(value) : String(value);
  }
  return JSON.stringify(value);
}

/** The most important values of a report in one line. */
export function summaryOf(data: Data): string {
  const { format, width, height, sha256, blurhash, size } = data;
  if (typeof sha256 === 'string') return sha256;
  if (typeof blurhash === 'string') return blurhash;
  if (typeof size === 'string') return size;
  if (width !== undefined) return `${format ?? ''} ${width} × ${height}`.trim();
  return '';
}
