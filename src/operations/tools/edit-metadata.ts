import * as v from 'valibot';
import { type Header, readHeader } from '../../images/decoding/header.ts';
import { iptcOf } from '../../images/exif/photoshop.ts';
import { fileFailure } from '../../images/file-error.ts';
import { OUTPUT_FORMATS } from '../../images/formats.ts';
import type { ImageInput } from '../../images/input.ts';
import { hasGainMap } from '../../images/jpeg/pictures.ts';
import { editAvif } from '../../images/metadata/avif.ts';
import { type MetadataEdit, STRIP_KINDS } from '../../images/metadata/edit.ts';
import { photoshopOf } from '../../images/metadata/iptc.ts';
import { editJpeg } from '../../images/metadata/jpeg.ts';
import { editPng, iptcOfPng } from '../../images/metadata/png.ts';
import { readTagChange, TAG_NAMES, type TagChange } from '../../images/metadata/tags.ts';
import { resolveTexts, type TextBlocks } from '../../images/metadata/texts.ts';
import { editTiff } from '../../images/metadata/tiff.ts';
import { editWebp } from '../../images/metadata/webp.ts';
import type { Warning } from '../../images/output.ts';
import { type Fault, optional, rule } from '../../schema/fields.ts';
import { defineOperation } from '../definition/operation.ts';

/** Kinds of metadata in a list that commas may separate. */
function kindsOf(texts: readonly string[] = []): string[] {
  return texts.flatMap((text) => text.split(',').map((kind) => kind.trim()));
}

export const editMetadata = defineOperation({
  name: 'edit-metadata',
  summary: 'Set and remove metadata without re-encoding pixels',
  gives: 'image',
  endpoint: 'batch-edit-metadata',
  cost: 0.3,
  keeps: OUTPUT_FORMATS,
  options: v.pipe(
    v.strictObject({
      set: optional(v.array(v.string()), `a tag, empty to remove it: ${TAG_NAMES.join(', ')}`, {
        expects: 'NAME=VALUE',
      }),
      strip: optional(v.array(v.string()), 'metadata to remove', {
        expects: STRIP_KINDS.join(', '),
      }),
    }),
    rule(({ set = [], strip = [] }) => {
      if (set.length + strip.length === 0) return ['set', 'one of set and strip is required'];
      const faults: Fault[] = [];
      const wrong = set.map(readTagChange).find((change) => typeof change === 'string');
      if (wrong !== undefined) faults.push(['set', wrong]);
      const unknown = kindsOf(strip).find((kind) => !STRIP_KINDS.includes(kind));
      if (unknown !== undefined) {
        faults.push(['strip', `expected one of ${STRIP_KINDS.join(', ')}, received "${unknown}"`]);
      }
      return faults;
    }),
  ),
  examples: [
    'edit-metadata --strip gps --out public *.jpg',
    'edit-metadata --set "Artist=A. Painter" --set Copyright="CC BY 4.0" --overwrite *.jpg',
    'edit-metadata --strip all --set DPI=300 --out print *.jpg',
  ],
  sample: { strip: ['gps'] },
  async run(input, { set = [], strip = [] }) {
    const header = await readHeader(input);
    const edit: MetadataEdit = {
      strip: new Set(kindsOf(strip)),
      set: set.map((text) => readTagChange(text) as TagChange),
    };
    const { format, bytes, warnings } = edited(
      input,
      header,
      resolveTexts(edit, textBlocks(input, header)),
    );
    // The picture is read again, by its own decoder: an orientation that was set exchanges its sides.
    const { width, height, pages } = await readHeader({ ...input, bytes });
    const lost: Warning[] = [];
    if (format === 'jpeg' && hasGainMap(input.file) && !hasGainMap(bytes)) {
      const message = 'the gain map, which holds the high dynamic range, was removed';
      lost.push({ code: 'trailer_lost', message });
    }
    return {
      image: { bytes, format, width, height, ...(pages > 1 && { pages }) },
      warnings: [...warnings, ...lost],
    };
  },
});

/** Blocks of an image that may hold texts such as keywords. */
export function textBlocks({ file }: ImageInput, { format, exif, metadata }: Header): TextBlocks {
  const resources = photoshopOf(format, file);
  const iptc = format === 'png' ? iptcOfPng(file) : resources && iptcOf(resources);
  return { exif, xmp: metadata.xmp ?? null, iptc };
}

function edited({ file }: ImageInput, { format, metadata }: Header, edit: MetadataEdit) {
  switch (format) {
    case 'jpeg':
      return { format, ...editJpeg(file, edit) };
    case 'png':
      return { format, ...editPng(file, edit) };
    case 'webp': {
      const { width, height, pageHeight = height } = metadata;
      return { format, ...editWebp(file, edit, { width, height: pageHeight }) };
    }
    case 'avif':
      return { format, ...editAvif(file, edit) };
    case 'tiff':
      return { format, ...editTiff(file, edit) };
    default: {
      const message = `metadata of ${format} cannot be changed without encoding pixels anew; that of jpeg, png, webp, avif and tiff can`;
      throw fileFailure('metadata_not_writable', message);
    }
  }
}
