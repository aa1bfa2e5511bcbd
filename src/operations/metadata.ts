import * as v from 'valibot';
import { basicExif, gpsPosition, readExif } from '../images/exif/exif.ts';
import { readHeader } from '../images/header.ts';
import { isMadeProfile } from '../images/icc.ts';
import { field } from '../schema/fields.ts';
import { defineOperation } from './operation.ts';

export const metadata = defineOperation({
  name: 'metadata',
  summary: 'Show format, size, colours and EXIF of images',
  gives: 'data',
  endpoint: 'batch-image-metadata',
  cost: 0.1,
  options: v.strictObject({
    exif: v.optional(
      field(v.picklist(['none', 'basic', 'full']), 'how much of EXIF to show'),
      'basic',
    ),
    gps: v.optional(field(v.boolean(), 'show where the picture was taken'), false),
  }),
  columns: () => [
    'format',
    'width',
    'height',
    'space',
    'depth',
    'hasAlpha',
    'orientation',
    'pages',
  ],
  details: ({ exif, gps }) => [...(exif === 'full' ? ['exif'] : []), ...(gps ? ['gps'] : [])],
  examples: ['metadata *.jpg', 'metadata --json --exif full --gps *.jpg'],
  async run(input, { exif, gps }) {
    const header = await readHeader(input);
    const { format, width, height, storedPages, metadata: stored } = header;
    const tags = header.exif && readExif(header.exif);
    const position = gps && tags ? gpsPosition(tags) : null;
    const data = {
      format,
      mediaType: stored.mediaType,
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
      ...(exif === 'basic' && tags && { exif: basicExif(tags) }),
      // The position has an option of its own, so that full EXIF does not disclose it.
      ...(exif === 'full' && tags && { exif: gps ? tags : { ...tags, gps: undefined } }),
      ...(position && { gps: position }),
    };
    return { data };
  },
});
