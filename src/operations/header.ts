import type { Metadata } from 'sharp';
import { Failure } from '../failure.ts';
import { fileFailure, type OperationInput } from './operation.ts';
import { type InputFormat, sniff } from './sniff.ts';

/** What an image's header says, with its sides as a viewer sees them. */
export interface Header {
  readonly format: InputFormat;
  /** Pixels of one frame once EXIF orientation is applied. */
  readonly width: number;
  readonly height: number;
  readonly pages: number;
  /** Several frames that play, rather than several pages of a document. */
  readonly animated: boolean;
  readonly hasAlpha: boolean;
  /** More than eight bits a channel. */
  readonly deep: boolean;
  readonly grey: boolean;
  readonly oriented: boolean;
  /** Everything else, as the decoder gives it. */
  readonly metadata: Metadata;
}

/**
 * Reads the header and holds it against the limits before a single pixel is decoded.
 *
 * @throws Failure with a file error code
 */
export async function readHeader({ bytes, limits, sharp }: OperationInput): Promise<Header> {
  if (bytes.byteLength === 0) throw fileFailure('empty_file', 'the file is empty');
  const sniffed = sniff(bytes);
  if (sniffed === null) throw fileFailure('unsupported_format', 'not an image of a known format');
  if ('unsupported' in sniffed) {
    throw fileFailure('unsupported_format', `${sniffed.unsupported} images are not supported`);
  }
  if (sniffed.format === 'svg' && !limits.svg) {
    throw fileFailure('unsupported_format', 'SVG is not read unless it is explicitly allowed');
  }
  let metadata: Metadata;
  try {
    metadata = await sharp(bytes, { limitInputPixels: false }).metadata();
  } catch (error) {
    throw decodingFailure(error, sniffed.format);
  }
  const { pages = 1 } = metadata;
  const { width, height } = metadata.autoOrient;
  if (pages > limits.frames) {
    throw fileFailure(
      'too_many_frames',
      `${pages} frames, more than the limit of ${limits.frames}`,
    );
  }
  if (width * height * pages > limits.pixels) {
    throw fileFailure(
      'image_too_large',
      `${width}x${height}${pages > 1 ? ` in ${pages} frames` : ''} is more than the limit of ${
        limits.pixels / 1e6
      } megapixels`,
    );
  }
  return {
    format: sniffed.format,
    width,
    height,
    pages,
    animated: pages > 1 && (sniffed.format === 'gif' || sniffed.format === 'webp'),
    hasAlpha: metadata.hasAlpha,
    deep: metadata.depth !== 'uchar',
    grey: metadata.space === 'b-w' || metadata.space === 'grey16',
    oriented: (metadata.orientation ?? 1) > 1,
    metadata,
  };
}

/** What the loaders of libvips say when bytes do not decode, as opposed to when we ask for nonsense. */
const DECODER_COMPLAINT =
  /corrupt|premature|truncat|unexpected end|bad seek|unsupported image format|libpng|VipsJpeg|vipspng|webp2vips|webp:|gifload|nsgif|tiff2vips|TIFF|heif|svgload|unable to (read|parse|decode)|read error|decode/i;

/** Gives a decoder's or encoder's complaint its file error code and a message of one line. */
export function decodingFailure(error: unknown, format: InputFormat): Failure {
  if (error instanceof Failure) return error;
  const text = error instanceof Error ? error.message : String(error);
  if (/compression format has not been built in|No decoding plugin|HEVC/i.test(text)) {
    const codec = format === 'heic' ? 'HEIC images (HEVC)' : 'images of this compression';
    return fileFailure('unsupported_format', `${codec} cannot be decoded`, error);
  }
  const [first = '', second = ''] = text.split('\n');
  const name = format.toUpperCase();
  // A decoder's warning, of which sharp says only in the next line what it was; and PNG's encoder,
  // which blames its target, a memory buffer, when it was the reading that failed.
  if (/^Warning treated as error|unable to write to target/.test(first)) {
    const reason = second === '' ? '' : `: ${second.trim()}`;
    return fileFailure('corrupt_image', `this ${name} image is damaged${reason}`, error);
  }
  const line = first.replace(/^Input buffer has corrupt header: ?/, '').trim();
  if (line === '') {
    return fileFailure('corrupt_image', `the header of this ${name} image is damaged`, error);
  }
  if (/not supported for multi-page/i.test(line)) {
    return fileFailure('animation_unsupported', `${line}; --animated first takes one frame`, error);
  }
  if (/exceeds pixel limit/i.test(line)) return fileFailure('image_too_large', line, error);
  if (/unsupported image format/i.test(line)) {
    return fileFailure('corrupt_image', `the header of this ${name} image is damaged`, error);
  }
  return DECODER_COMPLAINT.test(first)
    ? fileFailure('corrupt_image', `this ${name} image is damaged: ${line}`, error)
    : fileFailure('processing_failed', line, error);
}
