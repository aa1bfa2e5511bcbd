import { basename, extname, join } from 'node:path';
import sharp, { type Sharp } from 'sharp';

/**
 * The image work that the minimal sharp scripts do, as one JSON argument: nothing but the calls that
 * sharp's own documentation shows, reading and writing by path.
 */
export type Work =
  | { do: 'convert'; format: 'webp' | 'avif'; options: { quality: number; effort: number } }
  | { do: 'resize'; width: number; quality: number }
  | {
      do: 'crop';
      box: { left: number; top: number; width: number; height: number };
      quality: number;
    }
  | { do: 'rotate'; angle: number; quality: number }
  | { do: 'metadata' }
  | { do: 'shrink'; side: number }
  | {
      do: 'steps';
      box: { left: number; top: number; width: number; height: number };
      width: number;
      quality: number;
    }
  | { do: 'widths'; widths: number[]; format: 'jpeg' | 'webp'; quality: number };

/** Does the work on one file. @returns the content of a report */
export async function perform(work: Work, file: string, folder: string): Promise<unknown> {
  const name = basename(file, extname(file));
  switch (work.do) {
    case 'convert': {
      const output = join(folder, `${name}.${work.format}`);
      return sharp(file).toFormat(work.format, work.options).toFile(output);
    }
    case 'resize':
      return writeJpeg(sharp(file).resize({ width: work.width }), work.quality, folder, name);
    case 'crop':
      return writeJpeg(sharp(file).extract(work.box), work.quality, folder, name);
    case 'rotate':
      return writeJpeg(sharp(file).rotate(work.angle), work.quality, folder, name);
    case 'steps': {
      const picture = sharp(file).extract(work.box).resize({ width: work.width });
      return writeJpeg(picture.sharpen({ sigma: 1 }), work.quality, folder, name);
    }
    case 'widths':
      return writeWidths(work, file, (width) => join(folder, `${name}-${width}w.${work.format}`));
    case 'metadata': {
      const { exif, icc, xmp, iptc, ...metadata } = await sharp(file).metadata();
      return { inputFilename: basename(file), ...metadata };
    }
    case 'shrink': {
      const bounds = { width: work.side, height: work.side, fit: 'inside' } as const;
      const { data, info } = await sharp(file)
        .resize(bounds)
        .raw()
        .toBuffer({ resolveWithObject: true });
      return { inputFilename: basename(file), width: info.width, bytes: data.length };
    }
  }
}

/** Decodes once, at the greatest width, and makes the others from its pixels. */
async function writeWidths(
  { widths, format, quality }: Extract<Work, { do: 'widths' }>,
  file: string,
  output: (width: number) => string,
): Promise<void> {
  const { data, info } = await sharp(file)
    .resize({ width: Math.max(...widths) })
    .raw()
    .toBuffer({ resolveWithObject: true });
  for (const width of widths) {
    const raw = { width: info.width, height: info.height, channels: info.channels };
    await sharp(data, { raw })
      .resize({ width })
      .toFormat(format, { quality })
      .toFile(output(width));
  }
}

function writeJpeg(picture: Sharp, quality: number, folder: string, name: string) {
  return picture.jpeg({ quality }).toFile(join(folder, `${name}.jpg`));
}

/** The arguments that every script here takes: work as JSON, a NUL-separated list of files, an output folder. */
export function scriptArguments(): { work: Work; list: string; folder: string } {
  const [work, list, folder] = process.argv.slice(2);
  if (work === undefined || list === undefined || folder === undefined) {
    throw new Error('expected three arguments: WORK as JSON, LIST of files, FOLDER for outputs');
  }
  return { work: JSON.parse(work) as Work, list, folder };
}

/** Only reports are printed: the file operations of the other contenders are silent too. */
export function print(work: Work, results: readonly unknown[]): void {
  if (work.do === 'metadata' || work.do === 'shrink') {
    process.stdout.write(`${JSON.stringify(results)}\n`);
  }
}
