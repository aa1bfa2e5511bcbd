import { formatBytes } from '../../components/format.ts';
import type { Picture } from './formats/conversation.ts';

/** Types that models read. */
const READ = new Set(['image/png', 'image/jpeg', 'image/webp', 'image/gif']);

/** Bytes up to which a picture is sent as it is. Larger ones would not fit into the storage of a tab. */
const UNCHANGED_BYTES = 400_000;

/** Longest side to which larger ones are scaled: providers scale to about this themselves. */
const SIDE = 1568;

/** A file as a picture for a message. @throws Error if the browser cannot read it as an image */
export async function pictureOf(file: File): Promise<Picture> {
  if (READ.has(file.type) && file.size <= UNCHANGED_BYTES) {
    return { name: file.name, url: await dataUrlOf(file), note: formatBytes(file.size) };
  }
  const { blob, width, height } = await scaled(file);
  const note = `scaled to ${width} × ${height}, ${formatBytes(blob.size)}`;
  return { name: file.name, url: await dataUrlOf(blob), note };
}

async function scaled(file: File) {
  let bitmap: ImageBitmap;
  try {
    bitmap = await createImageBitmap(file);
  } catch {
    throw new Error(`${file.name} is not an image that this browser can read.`);
  }
  const factor = Math.min(1, SIDE / Math.max(bitmap.width, bitmap.height));
  const canvas = document.createElement('canvas');
  canvas.width = Math.max(1, Math.round(bitmap.width * factor));
  canvas.height = Math.max(1, Math.round(bitmap.height * factor));
  canvas.getContext('2d')!.drawImage(bitmap, 0, 0, canvas.width, canvas.height);
  bitmap.close();
  const blob = await new Promise<Blob | null>((resolve) =>
    canvas.toBlob(resolve, 'image/webp', 0.85),
  );
  if (!blob) throw new Error(`${file.name} is too large for this browser.`);
  return { blob, width: canvas.width, height: canvas.height };
}

function dataUrlOf(blob: Blob): Promise<string> {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(reader.result as string);
    reader.onerror = () => reject(new Error('The file could not be read.'));
    reader.readAsDataURL(blob);
  });
}
