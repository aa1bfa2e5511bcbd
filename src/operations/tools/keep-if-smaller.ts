import * as v from 'valibot';
import type { Header } from '../../images/decoding/header.ts';
import { OUTPUT_FORMATS } from '../../images/formats.ts';
import type { ImageInput } from '../../images/input.ts';
import type { Attempt, OutputImage } from '../../images/output.ts';
import { withDefault } from '../../schema/fields.ts';

export const keepIfSmallerField = (preset: boolean) =>
  withDefault(v.boolean(), preset, "keep the input's bytes if the output is not smaller", {
    off: 'write the output even if it is larger than the input',
  });

/** The input as an output; null where its format is none that is written. */
export function originalOf(
  { file }: ImageInput,
  { format: own, width, height, pages, storedPages }: Header,
): { readonly image: OutputImage; readonly attempt: Attempt } | null {
  const format = OUTPUT_FORMATS.find((known) => known === own);
  if (!format) return null;
  const frames = Math.max(pages, storedPages);
  // A copy, because the buffer of the file is used again.
  const bytes = new Uint8Array(file);
  return {
    image: { bytes, format, width, height, ...(frames > 1 && { pages: frames }), kept: true },
    attempt: { format, original: true, size: bytes.byteLength },
  };
}
