import { FORMATS, OUTPUT_FORMATS } from '../formats.ts';
import {
  isProgramFormat,
  JXL_WRITER,
  PNG_PACKER,
  type Programs,
  READERS,
} from '../program-formats.ts';
import { findProgram, missingPrograms } from './run-program.ts';

/**
 * All formats, as this machine supports them: what reads and writes each, a library or the path of a program, and which
 * programs are not installed.
 */
export function supportedFormats() {
  const pathOf = (one: Programs) =>
    missingPrograms(one) === null ? findProgram(one.programs[0]!)! : null;
  return [
    ...OUTPUT_FORMATS.filter((format) => !isProgramFormat(format)).map((format) => {
      const { extensions } = FORMATS[format];
      const packer = format === 'png' ? pathOf(PNG_PACKER) : null;
      const write = packer === null ? 'libvips' : `libvips, ${packer}`;
      return { format, extensions, read: 'libvips', write, missing: null };
    }),
    ...['svg', 'bmp', 'ico'].map((format) => {
      const svg = { read: 'libvips, with --allow-svg', write: 'svgo, from SVG' };
      const support = format === 'svg' ? svg : { read: 'oriel', write: null };
      return { format, extensions: [format], ...support, missing: null };
    }),
    ...Object.entries(READERS).map(([format, reader]) => {
      const write = format === 'jxl' ? pathOf(JXL_WRITER) : null;
      const { extensions } = reader;
      return { format, extensions, read: pathOf(reader), write, missing: missingPrograms(reader) };
    }),
  ];
}
