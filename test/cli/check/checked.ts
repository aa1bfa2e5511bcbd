import type { Checked } from '../../../src/cli/check/repairs.ts';
import { PRIVATE_EXIF, photo } from '../../fixtures/images.ts';
import type { Run } from '../../oriel.ts';

export const size = { width: 120, height: 80 };
export const picture = photo(size);
export const jpeg = await picture.clone().jpeg().toBuffer();
export const png = await picture.clone().png().toBuffer();
export const webp = await picture.clone().webp().toBuffer();
export const gif = await picture.clone().gif().toBuffer();
export const located = await picture.clone().withExif(PRIVATE_EXIF).jpeg().toBuffer();

export const resultsOf = ({ out }: Run) => (JSON.parse(out) as { results: Checked[] }).results;
export const rulesOf = (run: Run) =>
  Object.fromEntries(
    resultsOf(run)
      .filter(({ findings }) => findings.length > 0)
      .map(({ file, findings }) => [file, findings.map(({ rule }) => rule).join(' ')]),
  );
