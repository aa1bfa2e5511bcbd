import * as v from 'valibot';
import { readHeader } from '../../images/decoding/header.ts';
import {
  type BasicExif,
  basicExif,
  type ExifTags,
  gpsPosition,
  readExif,
} from '../../images/exif/exif.ts';
import { isMadeProfile } from '../../images/icc.ts';
import type { ImageInput } from '../../images/input.ts';
import { readGainMap } from '../../images/jpeg/gain-map.ts';
import type { Texts } from '../../images/metadata/text-places.ts';
import { readTexts } from '../../images/metadata/texts.ts';
import { withDefault } from '../../schema/fields.ts';
import { defineOperation, type Operation } from '../definition/operation.ts';
import { editMetadata, textBlocks } from './edit-metadata.ts';

export const metadata = defineOperation({
  name: 'metadata',
  summary: 'Show format, size, colours and EXIF of images',
  gives: 'data',
  endpoint: 'batch-image-metadata',
  edit: editMetadata as unknown as Operation,
  cost: 0.1,
  options: v.strictObject({
    exif: withDefault(
      v.picklist(['none', 'basic', 'full']),
      'basic',
      'how much of EXIF to show; none leaves out keywords too',
    ),
    gps: withDefault(v.boolean(), false, 'show where the picture was taken'),
  }),
  columns: ({ exif }) => [
    'format',
    'pixels',
    'fileSize',
    ...(exif === 'none' ? [] : ['date', 'camera', 'exposure', 'lens']),
    'space',
    'depth',
    'hasAlpha',
    'orientation',
    'pages',
  ],
  row: rowOf,
  details: ({ exif, gps }) => [
    ...(exif === 'none' ? [] : ['texts']),
    ...(exif === 'full' ? ['exif'] : []),
    ...(gps ? ['gps'] : []),
  ],
  examples: [
    'metadata *.jpg',
    'metadata --json --exif full --gps *.jpg',
    'metadata --strip gps --out public *.jpg',
  ],
  async run(input, { exif, gps }) {
    const header = await readHeader(input, { decode: false });
    const { format, mediaType, width, height, storedPages, metadata: stored } = header;
    const tags = header.exif && readExif(header.exif);
    const position = gps && tags ? gpsPosition(tags) : null;
    const data = {
      format,
      mediaType,
      width,
      height,
      storedWidth: stored.width,
      storedHeight: stored.height,
      orientation: stored.orientation ?? 1,
      space: stored.space,
      channels: stored.channels,
      depth: stored.depth,
      hasAlpha: stored.hasAlpha,
      density: stored.density,
      chromaSubsampling: stored.chromaSubsampling,
      isProgressive: stored.isProgressive,
      pages: storedPages,
      loop: stored.loop,
      // A GIF of 30 MB can hold 1.3 million frames.
      delay: stored.delay?.slice(0, input.limits.frames),
      hasProfile: stored.icc !== undefined && !isMadeProfile(stored.icc),
      gainMap: await sizeOfMap(input),
      ...(exif === 'basic' && tags && { exif: basicExif(tags) }),
      // The position has an option of its own, so that full EXIF does not disclose it.
      ...(exif === 'full' && tags && { exif: gps ? tags : { ...tags, gps: undefined } }),
      ...(exif !== 'none' && { texts: shown(readTexts(textBlocks(input, header))) }),
      ...(position && { gps: position }),
    };
    return { data };
  },
});

/** Most texts of a list, and most characters of a text, that are shown. */
const [MOST_TEXTS, MOST_CHARACTERS] = [500, 4096];

/** Texts by names in small letters, keywords as a list; undefined where there are none. */
function shown(texts: Texts): Record<string, string | string[]> | undefined {
  const entries = Object.entries(texts).map(([name, values]) => {
    const parts = values.slice(0, MOST_TEXTS).map((text) => text.slice(0, MOST_CHARACTERS));
    return [name.toLowerCase(), name === 'Keywords' ? parts : parts.join('; ')] as const;
  });
  return entries.length > 0 ? Object.fromEntries(entries) : undefined;
}

async function sizeOfMap({ sharp, file }: ImageInput) {
  const picture = readGainMap(file)?.picture;
  // Damage of the map does not matter to the picture.
  const map =
    picture &&
    (await sharp(picture)
      .metadata()
      .catch(() => undefined));
  return map && { width: map.width, height: map.height, channels: map.channels };
}

/** Columns of the table that are put together from several properties. */
function rowOf(data: object) {
  const { width, height, exif } = data as {
    readonly width: number;
    readonly height: number;
    readonly exif?: BasicExif | ExifTags;
  };
  const tags = exif && ('photo' in exif ? basicExif(exif) : exif);
  return { pixels: `${width}x${height}`, ...(tags && shortTexts(tags as BasicExif)) };
}

/** Date, camera, exposure and lens as short texts; undefined where nothing is known. */
function shortTexts({ make = '', model = '', ...exif }: BasicExif) {
  // Most models begin with the name of the maker: `Canon`, `Canon EOS 5D`.
  const [maker = ''] = make.split(' ');
  const camera = model.toLowerCase().startsWith(maker.toLowerCase()) ? model : `${make} ${model}`;
  const exposure = [
    exif.exposureTime !== undefined && `${fraction(exif.exposureTime)} s`,
    exif.fNumber !== undefined && `f/${exif.fNumber}`,
    exif.iso !== undefined && `ISO ${exif.iso}`,
    exif.focalLength !== undefined && `${exif.focalLength} mm`,
  ];
  return {
    // Without the offset from UTC: the time on the clock of the photographer.
    date: exif.dateTime?.slice(0, 16).replace('T', ' '),
    camera: camera.trim() || undefined,
    exposure: exposure.filter(Boolean).join(' ') || undefined,
    lens: exif.lens,
  };
}

/** Seconds as photographers write them: `1/250`, `2`. */
function fraction(seconds: number): string {
  return seconds > 0 && seconds < 0.3
    ? `1/${Math.round(1 / seconds)}`
    : String(Number(seconds.toFixed(1)));
}
