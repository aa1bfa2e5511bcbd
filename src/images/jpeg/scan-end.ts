import { MARKER } from './segments.ts';

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
