import { valueOr } from '../../flow.ts';
import type { Header, Size } from '../decoding/header.ts';
import { turnOf } from '../decoding/picture.ts';
import { readExif } from '../exif/exif.ts';

/** A part of a picture by its middle, in shares of width and height: 0 to 1. */
export interface Region extends Size {
  readonly x: number;
  readonly y: number;
}

/** Most regions of one picture, and bytes of XMP that are searched. */
const MAX_REGIONS = 100;
const MAX_XMP_BYTES = 4 * 1024 * 1024;

/** The subject of a picture by its metadata, as seen: regions of XMP, else the subject area of EXIF. */
export function regionsOfMetadata(header: Header): Region[] {
  const { xmp } = header.metadata;
  const regions = xmp ? regionsOfXmp(xmp.toString('utf8', 0, MAX_XMP_BYTES), header) : [];
  return regions.length > 0 ? regions : regionsOfExif(header);
}

/** Reads a file beside a picture: XMP, or JSON such as `{"x": 0.3, "y": 0.6}`. */
export function regionsOfFile(text: string, header: Header): Region[] {
  if (!text.trimStart().startsWith('{')) return regionsOfXmp(text, header);
  // The text begins with a brace: what is read is an object.
  const { x, y } = valueOr(() => JSON.parse(text), {});
  return [{ x, y, width: 0, height: 0 }].filter(isRegion);
}

/** The part of an XMP packet that has regions; empty if there is none. */
export function regionsText(xmp: string): string {
  const start = xmp.indexOf('<mwg-rs:Regions');
  return start < 0 ? '' : xmp.slice(start, xmp.indexOf('</mwg-rs:Regions>', start));
}

function isRegion({ x, y, width, height }: Region): boolean {
  return [x, y, width, height].every(
    (share) => Number(share) === share && share >= 0 && share <= 1,
  );
}

/** The number of an attribute or element. */
function numberIn(text: string, name: string): number {
  const found = new RegExp(`${name}\\s*(?:=\\s*["']|>)\\s*([\\d.eE+-]{1,30})`).exec(text);
  return Number(found?.[1] ?? Number.NaN);
}

/** Regions by the schema mwg-rs (Metadata Working Group, Guidelines for Handling Image Metadata 2.0, 5.9). */
function regionsOfXmp(xmp: string, header: Header): Region[] {
  const [head = '', ...areas] = regionsText(xmp).split('<mwg-rs:Area', MAX_REGIONS + 1);
  const regions = areas.map((area) => {
    const [x, y, width, height] = ['x', 'y', 'w', 'h'].map((key) =>
      numberIn(area, `stArea:${key}`),
    );
    return { x: x!, y: y!, width: width || 0, height: height || 0 };
  });
  // Some writers measure in the picture as seen; the dimensions of a turned one show it.
  const { width, height, orientation = 1 } = header.metadata;
  const isUpright = orientation > 4 && width !== height && numberIn(head, 'stDim:w') === height;
  return regions.filter(isRegion).map(isUpright ? (region) => region : asSeen(header));
}

/** The subject area (Exif 2.32, 4.6.5): a point, a circle with its diameter, or a rectangle by its middle. */
function regionsOfExif(header: Header): Region[] {
  const { photo } = (header.exif && readExif(header.exif)) ?? {};
  const area = photo?.['SubjectArea'];
  if (!Array.isArray(area)) return [];
  const across = Number(photo?.['PixelXDimension']) || header.metadata.width;
  const down = Number(photo?.['PixelYDimension']) || header.metadata.height;
  const [x, y, width = 0, height = width] = area.map(Number);
  const region = { x: x! / across, y: y! / down, width: width / across, height: height / down };
  return [region].filter(isRegion).map(asSeen(header));
}

/** Turns a region of the stored picture as its orientation turns the picture. */
function asSeen({ metadata }: Header): (region: Region) => Region {
  const [mirror, degrees] = turnOf(metadata.orientation);
  return (stored) => {
    let { x, y, width, height } = stored;
    if (mirror) x = 1 - x;
    for (let turned = 0; turned < degrees; turned += 90) {
      [x, y, width, height] = [1 - y, x, height, width];
    }
    return { x, y, width, height };
  };
}
