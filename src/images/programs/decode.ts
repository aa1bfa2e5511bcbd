import {
  existsSync,
  readdirSync,
  readFileSync,
  renameSync,
  statfsSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { getSystemErrorMap } from 'node:util';
import { makeTemporaryFolder } from '../../temporary.ts';
import { readAvifColours } from '../avif.ts';
import { fileFailure } from '../file-error.ts';
import { FORMATS } from '../formats.ts';
import { profileOfCode } from '../icc.ts';
import { forPixels, type ImageInput } from '../input.ts';
import { checkPixels } from '../limits.ts';
import { pngChunks } from '../png/chunks.ts';
import { JXL_WRITER, PNG_PACKER, type ProgramFormat, READERS } from '../program-formats.ts';
import { jxlWithMetadata, metadataOfJxl } from './jxl-boxes.ts';
import { pngWithSource, type SourceMetadata, splitPng } from './png-metadata.ts';
import { checkPrograms, missingPrograms, runProgram } from './run-program.ts';

/** Bytes of a pixel in a file that a program writes: four channels of sixteen bits. */
const PIXEL_BYTES = 8;

const unwritable = (reason: string) =>
  fileFailure('processing_failed', `temporary files (TMPDIR) cannot be written: ${reason}`);

/**
 * Lets programs work on a file in a folder of their own.
 *
 * @returns the largest file that they write, or null
 * @throws Failure processing_failed where the folder cannot be made or its disk is full
 */
async function inFolder(
  files: Readonly<Record<string, Uint8Array>>,
  work: (folder: string) => Promise<unknown>,
): Promise<Buffer | null> {
  let remove = () => {};
  try {
    const made = makeTemporaryFolder('program');
    const { path: folder } = made;
    remove = made.remove;
    for (const [name, bytes] of Object.entries(files)) writeFileSync(join(folder, name), bytes);
    await work(folder).finally(() => {
      // Programs report it as damage, or not at all. Some file systems count no blocks.
      const { blocks, bavail } = statfsSync(folder);
      if (blocks > 0 && bavail === 0) throw unwritable('no space left on device');
    });
    return keepLargest(folder) ? readFileSync(join(folder, RESULT)) : null;
  } catch (error) {
    const reason = getSystemErrorMap().get((error as NodeJS.ErrnoException).errno ?? 0)?.[1];
    throw reason === undefined ? error : unwritable(reason);
  } finally {
    remove();
  }
}

const RESULT = 'result';

/** Keeps the largest file that a program has written: of several pictures or previews, the main one. @returns whether there is one */
function keepLargest(folder: string): boolean {
  const names = readdirSync(folder).filter((name) => name.startsWith('out'));
  const sizes = names.map((name) => ({ name, size: statSync(join(folder, name)).size }));
  const [largest] = sizes.sort((one, other) => other.size - one.size);
  if (largest) renameSync(join(folder, largest.name), join(folder, RESULT));
  return existsSync(join(folder, RESULT));
}

async function readFacts(
  { file, sharp }: Pick<ImageInput, 'file' | 'sharp'>,
  format: ProgramFormat,
): Promise<SourceMetadata> {
  if (format !== 'heic') return format === 'jxl' ? metadataOfJxl(file) : {};
  const { width, height, exif, xmp, icc } = await sharp(file, {
    limitInputPixels: false,
  }).metadata();
  const coded = readAvifColours(file)?.coded;
  return { exif, xmp, icc: icc ?? (coded && profileOfCode(coded)) ?? undefined, width, height };
}

/**
 * Decodes the first picture of a file by an installed program.
 *
 * @returns an upright PNG with the metadata of the file; for a raw file its preview, a JPEG
 * @throws Failure with a file error code
 */
export async function decodeByProgram(
  input: Pick<ImageInput, 'file' | 'limits' | 'until' | 'admit' | 'sharp'>,
  format: ProgramFormat,
): Promise<Uint8Array> {
  const { file, limits, until, admit } = input;
  const { label, programs, cost, probe, sides, scale = 1, runs } = READERS[format];
  checkPrograms(READERS[format], limits);
  const facts = await readFacts(input, format);
  const bytes = await inFolder({ in: file }, async (folder) => {
    const small = { memory: 0, fileBytes: 0, until };
    const text = probe && (await runProgram(programs[1]!, probe, folder, small));
    const printed = (text && sides?.exec(text)?.slice(1)) || [facts.width, facts.height];
    const [width = 0, height = 0] = printed.map((side) => Math.round(Number(side ?? 0) * scale));
    const pixels = width * height;
    if (probe && !pixels) throw fileFailure('corrupt_image', `this ${label} image has no size`);
    checkPixels({ width, height, pages: 1 }, limits);
    const work = forPixels(pixels || file.byteLength, ...cost);
    admit(work);
    const fileBytes = (pixels || limits.pixels) * PIXEL_BYTES;
    for (const args of runs) {
      await runProgram(programs[0]!, args, folder, { memory: work.bytes, fileBytes, until });
      if (!keepLargest(folder)) break;
    }
  });
  if (bytes === null) throw fileFailure('corrupt_image', `this ${label} image has no picture`);
  return format === 'heic' || format === 'jxl' ? pngWithSource(bytes, facts) : bytes;
}

/** Bytes of memory for each pixel, measured with libjxl 0.7 on 12 megapixels of lossless encoding. */
export const jxlPixelBytes = (effort: number) => (effort === 9 ? 280 : 100);

/** Encodes a PNG as JPEG XL by `cjxl`, with its colour profile, EXIF and XMP. @throws Failure with a file error code */
export async function encodeJxl(
  { limits, until }: Pick<ImageInput, 'limits' | 'until'>,
  source: Uint8Array,
  options: { quality?: number | undefined; lossless: boolean; effort: number },
): Promise<Uint8Array> {
  checkPrograms(JXL_WRITER, limits);
  const { png, ...metadata } = splitPng(source);
  const { quality = FORMATS.jxl.quality, lossless, effort } = options;
  const target = lossless ? '-d 0' : `-q ${quality}`;
  const args = `--quiet --num_threads=1 ${target} -e ${effort} in.png out.jxl`;
  const memory = png.readUInt32BE(16) * png.readUInt32BE(20) * jxlPixelBytes(effort);
  const fileBytes = 2 * source.byteLength;
  const run = (folder: string) =>
    runProgram(JXL_WRITER.programs[0]!, args, folder, { memory, fileBytes, until });
  const jxl = await inFolder({ 'in.png': png }, run);
  if (jxl === null) throw fileFailure('processing_failed', 'cjxl wrote no file');
  return jxlWithMetadata(jxl, metadata);
}

/** Most pixels that are packed, and milliseconds after which the program is killed: 4 megapixels take up to that. */
const [MAX_PACKED, PACKING_TIME] = [4_194_304, 30_000];
/** Bytes of memory for each pixel, more than were measured with zopfli 1.0.3. */
const PACKING_BYTES = 60;

/** A PNG that `zopflipng` compressed, with the same rows and chunks; null if it is not installed or not done in time. */
export async function packedPng(
  { limits, until }: Pick<ImageInput, 'limits' | 'until'>,
  source: Uint8Array,
): Promise<Uint8Array | null> {
  const chunks = [...pngChunks(source)];
  const pixels = chunks[0]!.data.readUInt32BE(0) * chunks[0]!.data.readUInt32BE(4);
  if (!limits.programs || pixels > MAX_PACKED || missingPrograms(PNG_PACKER)) return null;
  const kept = new Set(chunks.map(({ name }) => name).filter((name) => /^[a-z]\w{3}$/i.test(name)));
  const args = `--iterations=5 --filters=p --keepchunks=${[...kept].join()} in.png out.png`;
  const bounds = {
    ...{ memory: pixels * PACKING_BYTES, fileBytes: source.length },
    until: Math.min(until, performance.now() + PACKING_TIME),
  };
  const run = (folder: string) => runProgram(PNG_PACKER.programs[0]!, args, folder, bounds);
  return inFolder({ 'in.png': source }, run).catch(() => null);
}
