import * as v from 'valibot';
import type { Facts, Header } from '../../images/decoding/header.ts';
import { OUTPUT_FORMATS } from '../../images/formats.ts';
import { optional } from '../../schema/fields.ts';

const COMPARISON = /^(<=|>=|<|>|=)?\s*(\d{1,12}(?:\.\d{1,6})?)$/;

const comparison = (description: string) =>
  optional(v.union([v.number(), v.pipe(v.string(), v.regex(COMPARISON))]), description, {
    expects: "a number, or a comparison such as '>2000'",
  });

const INPUT_FORMATS = [...OUTPUT_FORMATS, 'svg', 'bmp', 'ico', 'heic', 'raw', 'pdf'] as const;

const SHAPES = ['landscape', 'portrait', 'square'] as const;

/** Conditions on an image, all of which must hold. */
export const conditionsSchema = v.strictObject({
  format: optional(
    v.union([v.picklist(INPUT_FORMATS), v.array(v.picklist(INPUT_FORMATS))]),
    "the input's format, or a list of formats",
    { expects: `one or a list of ${INPUT_FORMATS.join(', ')}` },
  ),
  width: comparison('pixels'),
  height: comparison('pixels'),
  megapixels: comparison('width times height'),
  frames: comparison('frames that are processed'),
  shape: optional(v.picklist(SHAPES), 'whether it is wider than high'),
  alpha: optional(v.boolean(), 'whether it has transparency'),
  grey: optional(v.boolean(), 'whether it is grey'),
  deep: optional(v.boolean(), 'whether it has more than eight bits per channel'),
});

export type Conditions = v.InferOutput<typeof conditionsSchema>;

function compares(value: number, condition: number | string): boolean {
  const [, sign = '=', text] = COMPARISON.exec(String(condition)) ?? [];
  const limit = Number(text);
  if (value === limit) return sign.endsWith('=');
  return sign.startsWith(value < limit ? '<' : '>');
}

function shapeOf({ width, height }: Facts): (typeof SHAPES)[number] {
  if (width === height) return 'square';
  return width > height ? 'landscape' : 'portrait';
}

/** Whether all conditions hold for an image. */
export function applies(when: Conditions | undefined, header: Header, facts: Facts): boolean {
  if (when === undefined) return true;
  const { width, height, frames, hasAlpha } = facts;
  const numbers = { width, height, frames, megapixels: (width * height) / 1e6 };
  const named = { shape: shapeOf(facts), alpha: hasAlpha, grey: facts.grey, deep: facts.deep };
  return Object.entries(when).every(([name, wanted]) => {
    if (wanted === undefined) return true;
    if (name === 'format') return [wanted].flat().some((format) => format === header.format);
    return name in numbers
      ? compares(numbers[name as keyof typeof numbers], wanted as number | string)
      : named[name as keyof typeof named] === wanted;
  });
}
