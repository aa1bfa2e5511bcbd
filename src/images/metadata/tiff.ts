import { IPTC, photoshopOfTiff, RESOURCES } from '../exif/copy.ts';
import { ExifEditor, TYPE } from '../exif/edit.ts';
import { iptcOf } from '../exif/photoshop.ts';
import { IMAGE_AND_PHOTO_TAGS, isFileTag } from '../exif/tags.ts';
import type { Warning } from '../output.ts';
import { type EditResult, isStripped, type MetadataEdit } from './edit.ts';
import { editResources } from './iptc.ts';
import { editXmp } from './xmp.ts';

const BYTE = 1;
const XMP = 700;
const PROFILE = 34_675;

/**
 * Changes metadata of a TIFF. The pictures stay at their places, and new values are appended. Metadata is removed
 * from all pages, and set on the first.
 *
 * @throws Failure
 */
export function editTiff(bytes: Uint8Array, edit: MetadataEdit): EditResult {
  const editor = ExifEditor.open(bytes, { isFile: true });
  const warnings: Warning[] = [];
  editPage(editor, edit, photoshopOfTiff(bytes), warnings);
  const others = { ...edit, set: [] };
  while (edit.strip.size > 0 && editor.nextPage())
    editPage(editor, others, editor.bytesOf(RESOURCES), warnings);
  return { bytes: editor.bytes()!, warnings };
}

function editPage(
  editor: ExifEditor,
  edit: MetadataEdit,
  photoshop: Buffer | null,
  warnings: Warning[],
): void {
  const { strip, set } = edit;
  if (isStripped(edit, 'exif')) editor.removeDirectory('photo');
  if (isStripped(edit, 'gps') || isStripped(edit, 'exif')) editor.removeDirectory('gps');
  for (const tag of editor.tags('image')) {
    const isDescription = strip.has('all') || tag in IMAGE_AND_PHOTO_TAGS;
    if (isStripped(edit, 'exif') && isDescription && !isFileTag(tag)) editor.remove('image', tag);
  }
  if (isStripped(edit, 'icc')) editor.remove('image', PROFILE);
  for (const change of set) change.apply(editor);
  const put = (tag: number, value: Buffer | null) => {
    if (value === null) editor.remove('image', tag);
    else editor.set('image', tag, { code: BYTE, count: value.length, bytes: value });
  };
  const former = editor.bytesOf(XMP);
  const xmp = editXmp(former, edit, warnings);
  if (xmp !== former) put(XMP, xmp);
  const resources = editResources(photoshop, edit, warnings);
  if (resources === photoshop) return;
  if (resources === null || editor.has('image', RESOURCES)) put(RESOURCES, resources);
  const records = resources && iptcOf(resources);
  if (records === null) return void editor.remove('image', IPTC);
  // libtiff wants numbers of four bytes.
  const bytes = Buffer.concat([records], Math.ceil(records.length / 4) * 4);
  editor.set('image', IPTC, { code: TYPE.LONG, count: bytes.length / 4, bytes });
}
