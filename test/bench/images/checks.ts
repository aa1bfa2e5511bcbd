import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { basename, extname, join } from 'node:path';
import type { Check, Observation, Run } from '../race.ts';
import type { Inputs, Size } from './corpus.ts';
import { meanDifference, type Sample, sample } from './palette-quality.ts';
import { type Pixels, pixels, psnr, sizePerDecibel } from './pictures.ts';

/** Decoded files at most; larger sets are sampled. */
const decodedAtMost = 200;

/**
 * Checks that there is one decodable file of the expected size for each input, that the first one has the content
 * of the limit's, and that contenders with the limit's encoder have the same total size.
 */
export function checkPictures(inputs: Inputs, sizeOf: (input: Size) => Size): Check {
  let reference: Pixels | undefined;
  return async (run, contender, limit) => {
    const outputs = outputsByName(run, inputs);
    const step = Math.ceil(inputs.files.length / decodedAtMost);
    for (let index = 0; index < inputs.files.length; index += step) {
      const expected = sizeOf(inputs.sizes[index]!);
      const picture = await pixels(outputs[index]!);
      if (picture.width !== expected.width || picture.height !== expected.height) {
        const size = `${picture.width}x${picture.height}`;
        throw unlike(`expected ${expected.width}x${expected.height}, wrote ${size}`);
      }
      if (index > 0) continue;
      reference ??= picture;
      const likeness = psnr(picture, reference);
      if (likeness < 25) throw unlike(`${likeness.toFixed(1)} dB from what the limit shows`);
    }
    const bytes = outputs.reduce((sum, file) => sum + statSync(file).size, 0);
    const ratio = bytes / (limit?.['bytes'] ?? bytes);
    if (contender.sameEncoder && Math.abs(ratio - 1) > 0.02) {
      throw unlike(`${ratio.toFixed(3)} of the limit's bytes: other encoder settings`);
    }
    return { bytes };
  };
}

/** As {@link checkPictures}, and how near the pictures are to their inputs, at what size. */
export function checkQuality(inputs: Inputs): Check {
  const checkFiles = checkPictures(inputs, (size) => size);
  let slope: number | undefined;
  return async (run, contender, limit): Promise<Observation> => {
    const { bytes } = await checkFiles(run, contender, limit);
    let quality = 0;
    for (const [index, output] of outputsByName(run, inputs).entries()) {
      const near = psnr(await pixels(inputs.files[index]!), await pixels(output));
      quality += near / inputs.files.length;
    }
    slope ??= await sizePerDecibel(inputs.files);
    const lacking = (limit?.['psnr'] ?? quality) - quality;
    return { bytes: bytes!, psnr: quality, equalBytes: bytes! * Math.exp(slope * lacking) };
  };
}

/** The output of each input, in their order. */
function outputsByName(run: Run, inputs: Inputs): string[] {
  const written = new Map(
    readdirSync(run.folder).map((name) => [basename(name, extname(name)), join(run.folder, name)]),
  );
  if (written.size !== inputs.files.length) {
    throw unlike(`expected ${inputs.files.length} files, wrote ${written.size}`);
  }
  return inputs.files.map((file) => {
    const output = written.get(basename(file, extname(file)));
    if (output === undefined) throw unlike(`wrote nothing for ${basename(file)}`);
    return output;
  });
}

/** Checks that a printed report has each file with its width and height. */
export function checkMetadata(inputs: Inputs): Check {
  return async (run) => {
    const printed = readFileSync(run.stdout, 'utf8');
    for (const [index, file] of inputs.files.entries()) {
      const at = printed.indexOf(basename(file));
      if (at === -1) throw unlike(`said nothing of ${basename(file)}`);
      const about = printed.slice(at, at + 6000);
      const { width, height } = inputs.sizes[index]!;
      for (const side of [width, height]) {
        if (!new RegExp(`(?<!\\d)${side}(?!\\d)`).test(about)) {
          throw unlike(`did not report ${width}x${height} of ${basename(file)}`);
        }
      }
    }
    return {};
  };
}

/** Checks that the digest of each file was printed, in any form. */
export function checkDigests(inputs: Inputs): Check {
  const expected = inputs.files.map((file) =>
    createHash('sha256').update(readFileSync(file)).digest('hex'),
  );
  expected.sort();
  return async (run) => {
    const parts = readdirSync(run.folder).map((name) => join(run.folder, name));
    const text = [run.stdout, ...parts].map((file) => readFileSync(file, 'utf8')).join('\n');
    const printed = text.match(/\b[0-9a-f]{64}\b/g) ?? [];
    printed.sort();
    if (printed.join() !== expected.join()) throw unlike('printed other digests');
    return {};
  };
}

/**
 * Quality of the printed palettes: the mean difference of each pixel from the palette, over all photographs. The
 * limit prints no colours and has no quality.
 */
export function checkPalettes(inputs: Inputs, count: number): Check {
  const samples: Sample[] = [];
  return async (run, contender) => {
    const printed: unknown = JSON.parse(readFileSync(run.stdout, 'utf8'));
    if (contender.role === 'limit' || contender.name === 'piscina') return {};
    const { results } = printed as {
      results: { inputFilename: string; data: { colors: { hex: string }[] } }[];
    };
    let difference = 0;
    let colours = 0;
    for (const [index, file] of inputs.files.entries()) {
      const result = results.find((other) => basename(other.inputFilename) === basename(file));
      if (result === undefined) throw unlike(`gave no palette for ${basename(file)}`);
      const palette = result.data.colors.map(({ hex }) => hex);
      if (palette.length > count) throw unlike(`gave ${palette.length} colours, not ${count}`);
      samples[index] ??= await sample(file);
      difference += meanDifference(samples[index]!, palette) / inputs.files.length;
      colours += palette.length / inputs.files.length;
    }
    return { difference, colours };
  };
}

/** Checks that a version was printed. */
export const checkVersion: Check = async (run, contender) => {
  const printed = readFileSync(run.stdout, 'utf8');
  if (contender.role !== 'limit' && !/\d+\.\d+/.test(printed)) throw unlike('printed no version');
  return {};
};

const unlike = (message: string): Error => new Error(`unlike work: ${message}`);
