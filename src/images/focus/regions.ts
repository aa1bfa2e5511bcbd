import type { Header, Size } from '../decoding/header.ts';
import { turnOf } from '../decoding/picture.ts';
import { readExif } from '../exif/exif.ts';

/** A part of a picture, in shares of its width and height: 0 to 1. */
export interface Region extends Size {
  /** Place of the middle. */
  readonly x: number;
  readonly y: number;
}

/** Most regions of one picture, and bytes of XMP that are searched. */
const MAX_REGIONS = 100;
const MAX_XMP_BYTES = 4 * 1024 * 1024;

const isShare = (value: unknown): value is number =>
  typeof value === 'number' && value >= 0 && value <= 1;

function isRegion({ x, y, width, height }: Region): boolean {
  return [x, y, width, height].every(isShare);
}

/** The subject of a picture by its metadata, as seen: regions of XMP, else the subject area of EXIF. */
export function regionsOfMetadata(header: Header): readonly Region[] {
  const { xmp } = header.metadata;
  const regions = xmp ? regionsOfXmp(xmp.toString('utf8', 0, MAX_XMP_BYTES), header) : [];
  return regions.length > 0 ? regions : regionsOfExif(header);
}

/** Reads a file beside a picture: XMP, or JSON such as `{"x": 0.3, "y": 0.6}`. */
export function regionsOfFile(text: string, header: Header): readonly Region[] {
  if (!text.trimStart().startsWith('{')) return regionsOfXmp(text, header);
  try {
    const { x, y } = JSON.parse(text) as Partial<Region>;
    return isShare(x) && isShare(y) ? [{ x, y, width: 0, height: 0 }] : [];
  } catch {
    return [];
  }
}

/** The part of an XMP packet that has regions; empty if there is none. */
export function regionsText(xmp: string): string {
  const start = xmp.indexOf('<mwg-rs:Regions');
  const end = start < 0 ? -1 : xmp.indexOf('</mwg-rs:Regions>', start);
  return end < 0 ? '' : xmp.slice(start, end);
}

/** The number of an attribute or element. */
function numberIn(text: string, name: string): number {
  const [, value] = new RegExp(`${name}\\s*(?:=\\s*["']|>)\\s*([\\d.eE+-]{1,30})`).exec(text) ?? [];
  return Number(value ?? Number.NaN);
}

/** Regions by the schema mwg-rs (Metadata Working Group, Guidelines for Handling Image Metadata 2.0, 5.9). */
function regionsOfXmp(xmp: string, header: Header): readonly Region[] {
  const [head = '', ...areas] = regionsText(xmp).split('<mwg-rs:Area', MAX_REGIONS + 1);
  const { width, height, orientation = 1 } = header.metadata;
  const swapped =
    orientation > 4 &&
    width !== height &&
    numberIn(head, 'stDim:w') > numberIn(head, 'stDim:h') !== width > height;
  const regions = areas.map((area) => ({
    x: numberIn(area, 'stArea:x'),
    y: numberIn(area, 'stArea:y'),
    width: numberIn(area, 'stArea:w') || 0,
    height: numberIn(area, 'stArea:h') || 0,
  }));
  const valid = regions.filter(isRegion);
  // Some writers measure in the picture as seen; the dimensions show it.
  return swapped && head.includes('stDim:w') ? valid : valid.map((region) => seen(region, header));
}

/** The subject area (Exif 2.32, 4.6.5): a point, a circle with its diameter, or a rectangle by its middle. */
function regionsOfExif(header: Header): readonly Region[] {
  const tags = header.exif && readExif(header.exif);
  const { photo, image } = tags ?? {};
  const area = photo?.['SubjectArea'] ?? photo?.['SubjectLocation'] ?? image?.['SubjectLocation'];
  if (!Array.isArray(area)) return [];
  const side = (name: string, stored: number) => {
    const value = photo?.[name];
    return typeof value === 'number' && value > 0 ? value : stored;
  };
  const across = side('PixelXDimension', header.metadata.width);
  const down = side('PixelYDimension', header.metadata.height);
  const [x, y, width = 0, height = width] = area.map(Number);
  const region = { x: x! / across, y: y! / down, width: width / across, height: height / down };
  return isRegion(region) ? [seen(region, header)] : [];
}

/** A region of the stored picture after its orientation is applied. */
function seen({ x, y, width, height }: Region, { metadata }: Header): Region {
  const [mirror, degrees] = turnOf(metadata.orientation);
  const across = mirror ? 1 - x : x;
  if (degrees === 90) return { x: 1 - y, y: across, width: height, height: width };
  if (degrees === 270) return { x: y, y: 1 - across, width: height, height: width };
  return degrees === 180
    ? { x: 1 - across, y: 1 - y, width, height }
    : { x: across, y, width, height };
}
