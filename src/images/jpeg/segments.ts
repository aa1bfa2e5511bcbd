import { damagedImage, fileFailure } from '../file-error.ts';

/** Second bytes of markers (ITU-T T.81, table B.1). */
export const MARKER = {
  SOF0: 0xc0,
  SOF1: 0xc1,
  SOF2: 0xc2,
  DHT: 0xc4,
  JPG: 0xc8,
  DAC: 0xcc,
  RST0: 0xd0,
  RST7: 0xd7,
  SOI: 0xd8,
  EOI: 0xd9,
  SOS: 0xda,
  DQT: 0xdb,
  DNL: 0xdc,
  DRI: 0xdd,
  APP0: 0xe0,
  APP1: 0xe1,
  APP2: 0xe2,
  APP13: 0xed,
  APP14: 0xee,
  APP15: 0xef,
  COM: 0xfe,
} as const;

export interface Segment {
  readonly marker: number;
  /** Content after the length. */
  readonly data: Buffer;
}

/** Most bytes of a segment's content: its length has 16 bits and counts itself. */
export const MAX_SEGMENT_BYTES = 65_533;

/** Segments before the first scan; files of cameras have tens, and some hundred with a long profile or XMP. */
const MAX_SEGMENTS = 100_000;

/** A file up to its first scan, and the bytes after. */
export interface JpegFile {
  readonly segments: readonly Segment[];
  /** The first scan's marker and everything after it: scans, tables between them, other images. */
  readonly scans: Buffer;
}

/** @throws Failure corrupt_image */
export function splitJpeg(bytes: Uint8Array): JpegFile {
  const file = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const segments: Segment[] = [];
  for (let at = 2; ; ) {
    const { marker, data, start, end } = readSegment(file, at);
    if (marker === MARKER.SOS) return { segments, scans: file.subarray(start) };
    if (marker === MARKER.EOI || segments.length >= MAX_SEGMENTS) throw damaged('it has no scan');
    segments.push({ marker, data });
    at = end;
  }
}

export function joinJpeg(segments: readonly Segment[], scans: Uint8Array): Buffer {
  return Buffer.concat([Buffer.from([0xff, MARKER.SOI]), ...segments.map(segmentBytes), scans]);
}

export function segmentBytes({ marker, data }: Segment): Buffer {
  if (data.length > MAX_SEGMENT_BYTES) throw new Error(`a segment of ${data.length} bytes`);
  const head = Buffer.from([0xff, marker, 0, 0]);
  head.writeUInt16BE(data.length + 2, 2);
  return Buffer.concat([head, data]);
}

/**
 * The segment at a place. Fill bytes before it are skipped (B.1.1.2).
 *
 * @throws Failure corrupt_image
 */
export function readSegment(file: Buffer, at: number) {
  let start = at;
  if (file[start] !== 0xff) throw damaged(`a marker is missing at byte ${at}`);
  while (file[start + 1] === 0xff) start += 1;
  const marker = file[start + 1] ?? 0;
  if (marker === MARKER.EOI) return { marker, data: file.subarray(0, 0), start, end: start + 2 };
  if (marker < MARKER.SOF0 || (marker >= MARKER.RST0 && marker <= MARKER.SOI)) {
    throw damaged(`a marker is missing at byte ${at}`);
  }
  const length = start + 4 <= file.length ? file.readUInt16BE(start + 2) : 0;
  const end = start + 2 + length;
  if (length < 2 || end > file.length) throw damaged('a segment breaks off');
  return { marker, data: file.subarray(start + 4, end), start, end };
}

export const damaged = (detail: string) => damagedImage('JPEG', detail);

/** A failure of work without loss, upon which callers may encode anew. */
export const impossible = (detail: string) => fileFailure('lossless_impossible', detail);

/** Place after the end of the first picture, in bytes that begin with its first scan; all of them if it has none. */
export function pictureEnd(scans: Buffer): number {
  for (let at = scans.indexOf(0xff); at >= 0; at = scans.indexOf(0xff, at + 1)) {
    const marker = scans[at + 1] ?? 0;
    if (marker === MARKER.EOI) return at + 2;
    // Content of segments between scans may have any bytes.
    const isSegment = marker >= MARKER.SOF0 && !(marker >= MARKER.RST0 && marker <= MARKER.SOI);
    if (isSegment && marker !== 0xff && at + 4 <= scans.length)
      at += 1 + scans.readUInt16BE(at + 2);
  }
  return scans.length;
}
