import { estimateDecoding } from '../../images/decoding/estimate.ts';
import type { Header } from '../../images/decoding/header.ts';
import { ignoredSettings } from '../../images/encoding/encoders.ts';
import { drawnSize, minifySvg, SVG_COST } from '../../images/encoding/minify-svg.ts';
import { type EncodingOptions, isSearched } from '../../images/encoding/options.ts';
import { forPixels, type ImageInput } from '../../images/input.ts';
import type { Attempt, OutputImage, Search, Warning } from '../../images/output.ts';

/** Minifies an SVG image, which stays SVG. */
export async function optimizeSvg(input: ImageInput, header: Header, options: EncodingOptions) {
  const { width, height } = header;
  const drawing = estimateDecoding({ ...header, ...drawnSize(header) }, 1);
  const work = forPixels(input.size, ...SVG_COST);
  const milliseconds = 100 + work.milliseconds + 4 * drawing.milliseconds;
  input.admit({ milliseconds, bytes: work.bytes + drawing.bytes });
  const { bytes, warnings } = await minifySvg(input, header, options.metadata);
  const isKept = Buffer.from(bytes).equals(input.file);
  const size = bytes.byteLength;
  const image: OutputImage = { bytes, format: 'svg', width, height, ...(isKept && { kept: true }) };
  const chosen: Attempt = { format: 'svg', ...(isKept && { original: true }), size };
  const { targetSize = size } = options;
  const reached = size <= targetSize;
  const message = `the smallest output has ${size} bytes, more than the target of ${targetSize}`;
  const missed: Warning[] = reached ? [] : [{ code: 'target_not_reached', message }];
  const data: Search = { chosen, tried: [chosen], ...(isSearched(options) && { reached }) };
  return { image, data, warnings: [...warnings, ...ignoredSettings('svg', options), ...missed] };
}
